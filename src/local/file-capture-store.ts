import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { basename, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { CaptureSource, CaptureStore } from "../capture/capture-store.ts";
import { SupersededError } from "../errors.ts";
import type { KeyPattern } from "../manifest/key-pattern.ts";
import { fileChunks } from "./file-chunks.ts";
import { isNotFound, translated } from "./system-errors.ts";

/** Captures as files. */
export class FileCaptureStore implements CaptureStore {
  /** The content is hashed while it is read: rows must be those of the very content that the source's id is made of. */
  async *open(source: CaptureSource): AsyncIterable<Uint8Array> {
    const hash = createHash("sha256");
    let bytes = 0;
    try {
      for await (const chunk of fileChunks(fileURLToPath(source.key))) {
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
  for await (const chunk of fileChunks(path)) {
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

/**
 * Files below `path` (a file or a folder) in the order of their names, without hidden ones. Symbolic links to files are
 * followed, to folders are not: a walk must end. Throws `RetryableError` where the system refuses.
 */
export async function* findFiles(path: string, leaveOut: string): AsyncIterable<FoundFile> {
  const root = resolve(path);
  const found = await describe(root);
  if (found.isFile()) yield { path: root, key: basename(root), size: found.size };
  else if (found.isDirectory()) yield* walk(root, root, resolve(leaveOut));
}

async function* walk(folder: string, root: string, leaveOut: string): AsyncIterable<FoundFile> {
  if (folder === leaveOut) return;
  let entries: import("node:fs").Dirent[];
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    throw translated(error, `cannot list ${folder}`);
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (entry.name.startsWith(".")) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(path, root, leaveOut);
    else {
      const found = await describeIfThere(path);
      if (found?.isFile()) yield { path, key: relative(root, path).split(sep).join("/"), size: found.size };
    }
  }
}

/** Null for a file that vanished since it was listed, and for a link to nowhere. */
async function describeIfThere(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (isNotFound(error)) return null;
    throw translated(error, `cannot read ${path}`);
  }
}

async function describe(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    throw translated(error, `cannot read ${path}`);
  }
}

/**
 * The file as a source: named by its URL, and by its content's SHA-256, so that a changed file is another source. Reads the
 * file once; memory holds one chunk.
 */
export async function fileSource(file: FoundFile, pattern: KeyPattern): Promise<CaptureSource> {
  const url = pathToFileURL(file.path).href;
  try {
    const { size, sha256 } = await contentOf(file.path);
    return {
      capture: url,
      bucket: "",
      key: url,
      eTag: sha256,
      size,
      vehicleId: pattern.vehicleId(file.key),
    };
  } catch (error) {
    throw translated(error, `cannot read ${file.path}`);
  }
}

function changed(error: unknown, source: CaptureSource): unknown {
  if (isNotFound(error)) return new SupersededError(`${source.capture} is gone`);
  return translated(error, `cannot read ${source.capture}`);
}
