import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { RetryableError } from "../errors.ts";
import type { Ledger, LedgerEntry, Watermark } from "../manifest/ledger.ts";
import type { SourceId } from "../manifest/source-id.ts";
import { isNotFound, translated } from "./system-errors.ts";

/** One line of the file: an entry of a source, or the watermark. */
type Line =
  | { readonly id: SourceId; readonly entry: LedgerEntry }
  | { readonly watermark: number; readonly commit?: string };

/**
 * The ledger as an append-only file of JSON lines in the table's folder. It is an index of the log: deleting it is safe, the
 * next run makes it anew.
 *
 * Appends are single writes that begin and end with a newline, so that a line torn by a crash is a bad line of its own and
 * never swallows the next one; entries are on the disk before a watermark that covers them is written. Several processes
 * may append at once. The file is read once, and then only what was appended since.
 */
export class FolderLedger implements Ledger {
  readonly remake: string;
  readonly #path: string;
  readonly #entries = new Map<SourceId, LedgerEntry>();
  #watermark: Watermark | null = null;
  /** The file's first bytes; null before there is a file. */
  #head: string | null = null;
  /** Bytes of the file that are in memory. */
  #read = 0;

  constructor(tableFolder: string) {
    this.#path = join(tableFolder, "_deltacap", "ledger.log");
    this.remake = `Delete ${this.#path}, which is safe: the next run makes it anew from the log`;
  }

  async lookup(ids: readonly SourceId[]): Promise<Map<SourceId, LedgerEntry>> {
    await this.#refresh();
    const found = new Map<SourceId, LedgerEntry>();
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (entry !== undefined) found.set(id, entry);
    }
    return found;
  }

  async putCommitted(entries: ReadonlyMap<SourceId, LedgerEntry & { status: "committed" }>): Promise<void> {
    await this.#refresh();
    // An entry replayed from the log says less than the one its committer wrote: it never replaces that.
    const fresh = [...entries].filter(([id]) => this.#entries.get(id)?.status !== "committed");
    await this.#append(fresh.map(([id, entry]) => ({ id, entry })));
  }

  async putSetAside(
    entries: ReadonlyMap<SourceId, LedgerEntry & { status: "rejected" | "empty" }>,
  ): Promise<void> {
    await this.#refresh();
    const changed = [...entries].filter(
      ([id, entry]) => JSON.stringify(this.#entries.get(id)) !== JSON.stringify(entry),
    );
    await this.#append(changed.map(([id, entry]) => ({ id, entry })));
  }

  async watermark(): Promise<Watermark | null> {
    await this.#refresh();
    return this.#watermark;
  }

  async advanceWatermark({ version, commit }: Watermark): Promise<void> {
    await this.#refresh();
    if (version > (this.#watermark?.version ?? -1)) {
      await this.#append([commit === undefined ? { watermark: version } : { watermark: version, commit }]);
    }
  }

  /** Takes what is new in the file into memory. */
  async #refresh(): Promise<void> {
    let file: FileHandle | null = null;
    try {
      file = await open(this.#path, "r");
      const size = await this.#requireSame(file);
      // Calls on one instance may overlap: lines that are taken twice say the same.
      const from = this.#read;
      const bytes = Buffer.alloc(size - from);
      const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
      // A last line without its end is being written by somebody else, or was torn by a crash.
      const end = bytes.subarray(0, bytesRead).lastIndexOf("\n") + 1;
      for (const line of bytes.toString("utf8", 0, end).split("\n")) this.#take(line);
      this.#read = Math.max(this.#read, from + end);
    } catch (error) {
      if (!isNotFound(error)) throw translated(error, `cannot read ${this.#path}`);
      if (this.#head !== null) throw this.#replaced();
    } finally {
      await file?.close();
    }
  }

  /**
   * Gives the file's size. A file that was removed, cut or replaced while it is in use would get a watermark from this run,
   * and lack the entries of runs before: the next run must make it anew from the log.
   */
  async #requireSame(file: FileHandle): Promise<number> {
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(Math.min(size, HEAD_LENGTH)), 0, null, 0);
    const head = buffer.toString("latin1");
    if (head.length === HEAD_LENGTH) this.#head ??= head;
    if (size < this.#read || (this.#head !== null && head !== this.#head)) throw this.#replaced();
    return size;
  }

  #replaced(): RetryableError {
    return new RetryableError(
      `${this.#path} was removed, cut or replaced while it was in use. Run it again: the ledger is made anew from the log`,
    );
  }

  #take(text: string): void {
    const line = parseLine(text);
    if (line === null) return;
    if ("watermark" in line) {
      const { watermark: version, commit } = line;
      if (version <= (this.#watermark?.version ?? -1)) return;
      this.#watermark = commit === undefined ? { version } : { version, commit };
    } else if (line.entry.status === "committed" || this.#entries.get(line.id)?.status !== "committed") {
      this.#entries.set(line.id, line.entry);
    }
  }

  async #append(lines: readonly Line[]): Promise<void> {
    if (lines.length === 0) return;
    const text = lines.map((line) => JSON.stringify(line)).join("\n");
    try {
      await mkdir(dirname(this.#path), { recursive: true });
      const file = await open(this.#path, "a+");
      try {
        // Judged on the open file: what is written goes to the very file that was read, or is not written.
        const isNew = (await this.#requireSame(file)) === 0;
        const bytes = Buffer.from(isNew ? `${newHead()}\n${text}\n` : `\n${text}\n`);
        const { bytesWritten } = await file.write(bytes);
        if (bytesWritten < bytes.length) {
          throw new RetryableError(
            `${this.#path} took ${bytesWritten} of ${bytes.length} bytes: the disk may be full. Make room, then run it again`,
          );
        }
        await file.sync();
        await this.#requireSame(file);
      } finally {
        await file.close();
      }
    } catch (error) {
      throw translated(error, `cannot write ${this.#path}`);
    }
  }
}

/** First line of the file. Random, so that a file that was made anew is known as another one. */
function newHead(): string {
  return `\n{"ledger":"${randomUUID()}"}\n`;
}

const HEAD_LENGTH = newHead().length;

/** Null for an empty line, and for one that a crash tore. */
function parseLine(text: string): Line | null {
  if (text === "") return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  if ("watermark" in value && Number.isSafeInteger(value.watermark)) {
    const watermark = value.watermark as number;
    return "commit" in value && typeof value.commit === "string"
      ? { watermark, commit: value.commit }
      : { watermark };
  }
  if ("id" in value && typeof value.id === "string" && "entry" in value && isEntry(value.entry)) {
    return { id: value.id, entry: value.entry };
  }
  return null;
}

function isEntry(value: unknown): value is LedgerEntry {
  if (typeof value !== "object" || value === null) return false;
  const { status, version, capture, batchId, packets, damage, reason, offset } = value as Fields;
  if (status === "empty") return typeof capture === "string";
  if (status === "rejected") return typeof capture === "string" && isDamage({ reason, offset });
  return (
    status === "committed" &&
    Number.isSafeInteger(version) &&
    [capture, batchId].every((text) => text === undefined || typeof text === "string") &&
    (packets === undefined || Number.isSafeInteger(packets)) &&
    (damage === undefined || isDamage(damage))
  );
}

function isDamage(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { reason, offset } = value as Fields;
  return typeof reason === "string" && Number.isSafeInteger(offset);
}

type Fields = Readonly<Record<string, unknown>>;
