import { randomUUID } from "node:crypto";
import { type FileHandle, link, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { compareUtf8 } from "@deltacap/parquet";
import { NothingWrittenError, RetryableError } from "../../errors.ts";
import type { ObjectInfo, ObjectStore, ObjectWriter } from "../object-store.ts";
import { isExisting, isNotFound, isRefusal, isUnsupported, translated } from "./system-errors.ts";

/** Unfinished objects lie here until they are linked to their path: engines skip folders that begin with `_`. */
const UNFINISHED = "_deltacap/tmp";

/**
 * A table's folder on a local disk. An object is written beside, synced to the disk, and then linked to its path, which
 * fails where the path is taken: put-if-absent that a crash at any moment leaves whole or undone.
 */
export class FolderObjectStore implements ObjectStore {
  readonly #root: string;
  readonly #unfinishedName: () => string;

  /**
   * `root` is made when something is written. `unfinishedName` gives the name of a file that is being written, another one each
   * time: by default a UUID.
   */
  constructor(root: string, unfinishedName: () => string = randomUUID) {
    this.#root = root;
    this.#unfinishedName = unfinishedName;
  }

  create(path: string): ObjectWriter {
    return this.#writer(path);
  }

  #writer(path: string): FileWriter {
    return new FileWriter(join(this.#root, path), join(this.#root, UNFINISHED, this.#unfinishedName()));
  }

  async putIfAbsent(path: string, body: Uint8Array): Promise<"created" | "exists"> {
    const writer = this.create(path);
    try {
      await writer.write(body);
      return await writer.commit();
    } catch (error) {
      await writer.abort();
      throw error;
    }
  }

  async put(path: string, body: Uint8Array): Promise<void> {
    const writer = this.#writer(path);
    try {
      await writer.write(body);
      await writer.replace();
    } catch (error) {
      await writer.abort();
      throw error;
    }
  }

  async head(path: string): Promise<ObjectInfo | null> {
    try {
      const found = await stat(join(this.#root, path));
      return found.isFile() ? { path, size: found.size, modifiedMs: Math.floor(found.mtimeMs) } : null;
    } catch (error) {
      if (isNotFound(error)) return null;
      throw translated(error, `cannot look at ${path}`);
    }
  }

  async read(path: string, range?: { start: number; length: number }): Promise<Uint8Array | null> {
    let file: FileHandle | null = null;
    try {
      if (range === undefined) return await readFile(join(this.#root, path));
      file = await open(join(this.#root, path));
      const { size } = await file.stat();
      const buffer = new Uint8Array(Math.max(0, Math.min(range.length, size - range.start)));
      let at = 0;
      while (at < buffer.length) {
        const { bytesRead } = await file.read(buffer, at, buffer.length - at, range.start + at);
        if (bytesRead === 0) break;
        at += bytesRead;
      }
      return buffer.subarray(0, at);
    } catch (error) {
      if (isNotFound(error)) return null;
      throw translated(error, `cannot read ${path}`);
    } finally {
      await file?.close();
    }
  }

  /** Reads the folders below the prefix before it gives the first object. */
  async *list(prefix: string, startAfter = ""): AsyncIterable<ObjectInfo> {
    const folder = prefix.includes("/") ? prefix.slice(0, prefix.lastIndexOf("/")) : "";
    const paths: string[] = [];
    await this.#collect(folder, paths);
    const wanted = paths.filter((path) => path.startsWith(prefix) && compareUtf8(path, startAfter) > 0);
    for (const path of wanted.sort(compareUtf8)) {
      const info = await this.head(path);
      // One that vanished since it was listed is not there.
      if (info !== null) yield info;
    }
  }

  async remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      try {
        await rm(join(this.#root, path), { force: true });
      } catch (error) {
        throw translated(error, `cannot remove ${path}`);
      }
    }
  }

  /**
   * Removes what killed processes left unfinished. `before` (milliseconds since 1970) must lie further back than any writer
   * may take: a file that was touched later may still be in use.
   */
  async removeUnfinished(before: number): Promise<void> {
    const folder = join(this.#root, UNFINISHED);
    try {
      for (const name of await readdir(folder)) {
        const path = join(folder, name);
        if ((await stat(path)).mtimeMs < before) await rm(path, { force: true });
      }
    } catch (error) {
      if (!isNotFound(error)) throw translated(error, `cannot clear ${folder}`);
    }
  }

  /** Files that are being written, or were when their process was killed. `list` leaves them out. */
  async *unfinished(): AsyncIterable<ObjectInfo> {
    const paths: string[] = [];
    await this.#collect(UNFINISHED, paths);
    for (const path of paths) {
      const info = await this.head(path);
      if (info !== null) yield info;
    }
  }

  async #collect(folder: string, into: string[]): Promise<void> {
    let entries: import("node:fs").Dirent[];
    try {
      entries = await readdir(join(this.#root, folder), { withFileTypes: true });
    } catch (error) {
      if (isNotFound(error)) return;
      throw translated(error, `cannot list ${folder}`);
    }
    for (const entry of entries) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (path === UNFINISHED) continue;
      if (entry.isDirectory()) await this.#collect(path, into);
      else if (entry.isFile()) into.push(path);
    }
  }
}

class FileWriter implements ObjectWriter {
  readonly #target: string;
  readonly #unfinished: string;
  #file: FileHandle | null = null;

  constructor(target: string, unfinished: string) {
    this.#target = target;
    this.#unfinished = unfinished;
  }

  async write(chunk: Uint8Array): Promise<void> {
    try {
      this.#file ??= await this.#open();
      for (let at = 0; at < chunk.length; ) {
        at += (await this.#file.write(chunk, at, chunk.length - at)).bytesWritten;
      }
    } catch (error) {
      throw notWritten(error, this.#target);
    }
  }

  async commit(): Promise<"created" | "exists"> {
    const outcome = await this.#finish(async (target) => {
      try {
        // The commit point: a second name for the whole file, refused where that name is taken.
        await link(this.#unfinished, target);
        return "created";
      } catch (error) {
        if (isExisting(error)) return "exists";
        if (isUnsupported(error)) {
          throw new NothingWrittenError(
            `cannot put ${this.#target}: the file system makes no hard links, without which a file cannot appear whole. Put the table on another one`,
            { cause: error },
          );
        }
        throw isRefusal(error) ? notWritten(error, target) : error;
      }
    });
    await this.abort();
    return outcome;
  }

  /** Puts the object whatever is there. */
  async replace(): Promise<void> {
    await this.#finish(async (target) => await rename(this.#unfinished, target));
  }

  async abort(): Promise<void> {
    try {
      await this.#file?.close();
      await rm(this.#unfinished, { force: true });
    } catch {
      // What cannot be removed now is a stray file that nobody reads: see `removeUnfinished`.
    }
  }

  async #open(): Promise<FileHandle> {
    await makeFolder(dirname(this.#unfinished));
    return await open(this.#unfinished, "wx");
  }

  async #finish<T>(put: (target: string) => Promise<T>): Promise<T> {
    const target = this.#target;
    let firstMade: string | undefined;
    try {
      this.#file ??= await this.#open();
      await this.#file.sync();
      await this.#file.close();
      this.#file = null;
      firstMade = await makeFolder(dirname(target));
    } catch (error) {
      throw notWritten(error, target);
    }
    try {
      const outcome = await put(target);
      await syncFolders(dirname(target), firstMade);
      return outcome;
    } catch (error) {
      throw translated(error, `cannot put ${target}`);
    }
  }
}

/**
 * Makes the folder and those above it; returns the first that was made, if one was. Not by `recursive: true`: with that Node says
 * of a read-only file system that there is no such folder, and never comes back where no folder can be made, such as below /proc.
 */
async function makeFolder(path: string): Promise<string | undefined> {
  const above = dirname(path);
  try {
    await mkdir(path);
    return path;
  } catch (error) {
    if (isExisting(error) && (await stat(path)).isDirectory()) return undefined;
    if (!isNotFound(error) || above === path) throw error;
  }
  const first = await makeFolder(above);
  await mkdir(path).catch((error: unknown) => {
    // Somebody else may have made it meanwhile.
    if (!isExisting(error)) throw error;
  });
  return first ?? path;
}

/** The system's refusal before the object's name was made. */
function notWritten(error: unknown, target: string): unknown {
  const refused = translated(error, `cannot write ${target}`);
  return refused instanceof RetryableError
    ? new NothingWrittenError(refused.message, { cause: error })
    : refused;
}

/** Makes the new name survive a power cut: that of the file, and those of the folders made for it. */
async function syncFolders(folder: string, firstMade: string | undefined): Promise<void> {
  await syncFolder(folder);
  for (let made = folder; firstMade !== undefined && made.length >= firstMade.length; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}

/** Where the file system lets a folder be synced: Windows and some network file systems refuse. */
async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | null = null;
  try {
    folder = await open(path, "r");
    await folder.sync();
  } catch {
    // The file itself was synced.
  } finally {
    await folder?.close();
  }
}
