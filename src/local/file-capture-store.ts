import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { basename, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { RetryableError } from "@deltacap/delta";
import { isNotFound, translated } from "@deltacap/delta/folder";
import { GoneError, SupersededError } from "../errors.ts";
import type { KeyPattern } from "../ingest/key-pattern.ts";
import type { CaptureSource, CaptureStore } from "../manifest/capture-store.ts";
import { regularFileChunks } from "./file-chunks.ts";

/** Captures as files. */
export class FileCaptureStore implements CaptureStore {
  /** The content is hashed while it is read: rows must be those of the very content that the source's id is made of. */
  async *open(source: CaptureSource): AsyncIterable<Uint8Array> {
    const hash = createHash("sha256");
    let bytes = 0;
    try {
      for await (const chunk of regularFileChunks(fileURLToPath(source.key))) {
        bytes += chunk.length;
        if (bytes > source.size) break;
        hash.update(chunk);
        yield chunk;
      }
    } catch (error) {
      throw changed(error, source);
    }
    if (bytes !== source.size || hash.digest("hex") !== source.eTag) {
      throw new SupersededError(
        `${source.capture} has changed since it was found with ${source.size} bytes: run it again`,
      );
    }
  }

  /** Reads the file: only its content tells whether it is the same. */
  async exists(source: Pick<CaptureSource, "key" | "eTag">): Promise<boolean> {
    try {
      return (await contentOf(fileURLToPath(source.key))).sha256 === source.eTag;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw translated(error, `cannot read ${source.key}`);
    }
  }
}

async function contentOf(path: string): Promise<{ readonly size: number; readonly sha256: string }> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of regularFileChunks(path)) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { size, sha256: hash.digest("hex") };
}

/** A file that was found below one of the given paths. */
export interface FoundFile {
  readonly path: string;
  /** Relative to the given path, with `/`: what the key pattern is matched against. */
  readonly key: string;
  readonly size: number;
}

/** Which files below a path are wanted. */
export interface FileFilter {
  /** True for a file, or a folder with all that is in it, that is not wanted; asked by key. */
  excludes(key: string): boolean;
  /** True for a file that is wanted unless it is excluded; asked by key. */
  includes(key: string): boolean;
}

const everything: FileFilter = { excludes: () => false, includes: () => true };

/** What cannot be read as a capture, and why: it costs only itself. */
export interface PassedOver {
  readonly path: string;
  readonly reason: string;
}

/**
 * Files below `path` (a file or a folder) in the order of their names, without hidden ones and the folder `leaveOut`. Symbolic links
 * to files are followed, to folders are not: a walk must end. What is there and is none of these goes to `onPassedOver`. What
 * `filter` leaves out goes nowhere, and an excluded folder is not listed. Throws `RetryableError` where `path` itself is not there.
 */
export async function* findFiles(
  path: string,
  leaveOut: string,
  onPassedOver: (passedOver: PassedOver) => void,
  filter: FileFilter = everything,
): AsyncIterable<FoundFile> {
  const root = resolve(path);
  try {
    const found = await stat(root);
    const excluded = await statIfThere(leaveOut);
    const key = basename(root);
    if (found.isDirectory()) {
      if (!isSame(found, excluded)) yield* walk(root, root, excluded, onPassedOver, filter);
    } else if (filter.excludes(key) || !filter.includes(key)) return;
    else if (found.isFile()) yield { path: root, key, size: found.size };
    else onPassedOver({ path: root, reason: kindOf(found) });
  } catch (error) {
    if (isNotFound(error)) throw translated(error, `cannot read ${root}`);
    onPassedOver({ path: root, reason: refusal(error) });
  }
}

async function* walk(
  folder: string,
  root: string,
  leaveOut: Stats | null,
  onPassedOver: (passedOver: PassedOver) => void,
  filter: FileFilter,
): AsyncIterable<FoundFile> {
  let names: Buffer[];
  try {
    // As bytes: a name that is no UTF-8 would come back as another one, under which there is nothing.
    names = await readdir(folder, { encoding: "buffer" });
  } catch (error) {
    onPassedOver({ path: folder, reason: refusal(error) });
    return;
  }
  for (const { name, isUtf8 } of names.map(decoded).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (name.startsWith(".")) continue;
    const path = join(folder, name);
    const key = relative(root, path).split(sep).join("/");
    if (filter.excludes(key)) continue;
    if (!isUtf8) {
      onPassedOver({ path, reason: "its name is no UTF-8, and the table's column capture is: rename it" });
      continue;
    }
    const found = await describe(path, leaveOut);
    if (found === "folder") yield* walk(path, root, leaveOut, onPassedOver, filter);
    else if (!filter.includes(key)) continue;
    else if (typeof found === "string") onPassedOver({ path, reason: found });
    else if (found !== null) yield { path, key, size: found.size };
  }
}

function decoded(bytes: Buffer): { readonly name: string; readonly isUtf8: boolean } {
  const name = bytes.toString();
  return { name, isUtf8: Buffer.from(name).equals(bytes) };
}

/** A file's size, "folder", or why it is passed over; null for `leaveOut`, and for what vanished since it was listed. */
async function describe(
  path: string,
  leaveOut: Stats | null,
): Promise<{ readonly size: number } | "folder" | string | null> {
  try {
    const itself = await lstat(path);
    if (itself.isDirectory()) return isSame(itself, leaveOut) ? null : "folder";
    if (!itself.isSymbolicLink()) return itself.isFile() ? itself : kindOf(itself);
    const target = await statIfThere(path);
    if (target === null) return "a link to nowhere";
    if (target.isDirectory()) return "links to folders are not followed: name the folder itself";
    return target.isFile() ? target : kindOf(target);
  } catch (error) {
    return isNotFound(error) ? null : refusal(error);
  }
}

/** By device and number, since a link or another spelling leads to the same folder by another path. */
function isSame(found: Stats, other: Stats | null): boolean {
  return other !== null && found.dev === other.dev && found.ino === other.ino;
}

async function statIfThere(path: string): Promise<Stats | null> {
  try {
    return await stat(path);
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

/** What is neither a file nor a folder. */
function kindOf(found: Stats): string {
  const kind = found.isFIFO() ? "a pipe" : found.isSocket() ? "a socket" : "a device";
  return `${kind}, and a file is needed: it is read twice`;
}

/** What the system refused, without a path. */
function refusal(error: unknown): string {
  const refused = translated(error, "cannot be read");
  if (refused instanceof RetryableError) return refused.message;
  throw error;
}

/**
 * The file as a source: named by its URL, and by its content's SHA-256, so that a changed file is another source. Reads the
 * file once; memory holds one chunk.
 */
export async function fileSource(
  file: FoundFile,
  vehicles: Pick<KeyPattern, "vehicleId">,
): Promise<CaptureSource> {
  const url = pathToFileURL(file.path).href;
  try {
    const { size, sha256 } = await contentOf(file.path);
    return {
      capture: url,
      bucket: "",
      key: url,
      eTag: sha256,
      size,
      vehicleId: vehicles.vehicleId(file.key),
    };
  } catch (error) {
    throw translated(error, `cannot read ${file.path}`);
  }
}

function changed(error: unknown, source: CaptureSource): unknown {
  if (isNotFound(error)) return new GoneError(`${source.capture} is gone`);
  return translated(error, `cannot read ${source.capture}`);
}
