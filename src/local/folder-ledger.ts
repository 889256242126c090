import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { RetryableError } from "@deltacap/delta";
import { isNotFound, translated } from "@deltacap/delta/folder";
import {
  type AsideEntry,
  type CommittedEntry,
  type Ledger,
  type LedgerEntry,
  newestVersion,
  type Watermark,
} from "../manifest/ledger.ts";
import type { SourceId } from "../manifest/source-id.ts";
import { forEachLine, lineAt } from "./file-lines.ts";
import { type IdWords, idWords, LedgerIndex } from "./ledger-index.ts";
import { captureIn, type LedgerLine, lineText, parseLine, skimLine, statusOf } from "./ledger-line.ts";

/** What an older version committed: its id is made from the capture's path. */
export interface EarlierEntry {
  readonly id: SourceId;
  readonly entry: CommittedEntry;
}

/**
 * The ledger as an append-only file of JSON lines in the table's folder. It is an index of the log: deleting it is safe, the
 * next run makes it anew.
 *
 * Appends are single writes that begin and end with a newline, so that a line torn by a crash is a bad line of its own and
 * never swallows the next one; entries are on the disk before a watermark that covers them is written. Several processes
 * may append at once.
 *
 * The file is read once in chunks, and then only what was appended since. Memory holds where each source's line lies, 33 to 54
 * bytes a source; the lines of those that somebody asks for are read again.
 */
export class FolderLedger implements Ledger {
  readonly remake: string;
  readonly #path: string;
  readonly #index = new LedgerIndex();
  #watermark: Watermark | null = null;
  /** The file's first bytes; null before there is a file. */
  #head: string | null = null;
  /** Bytes of the file that the index covers. */
  #read = 0;
  /** Offset of the newest line of an older version without a capture; -1: there is none. */
  #lastUnnamed = -1;
  /** Lines of that kind before this offset have no row in the table. */
  #named = 0;
  /** The call before: one at a time looks into the file. */
  #before: Promise<unknown> = Promise.resolve();

  constructor(tableFolder: string) {
    this.#path = join(tableFolder, "_deltacap", "ledger.log");
    this.remake = `Delete ${this.#path}, which is safe: the next run makes it anew from the log`;
  }

  async lookup(ids: readonly SourceId[]): Promise<Map<SourceId, LedgerEntry>> {
    const found = new Map<SourceId, LedgerEntry>();
    await this.#refresh(async (file) => {
      for (const id of ids) {
        const entry = await this.#entryOf(id, file);
        if (entry !== null) found.set(id, entry);
      }
    });
    return found;
  }

  async putCommitted(entries: ReadonlyMap<SourceId, LedgerEntry & { status: "committed" }>): Promise<void> {
    const known = await this.lookup([...entries.keys()]);
    // An entry replayed from the log says less than the one its committer wrote: it never replaces that of the same version.
    const fresh = [...entries].filter(([id, entry]) => {
      const before = known.get(id);
      return before?.status !== "committed" || newestVersion(before) < newestVersion(entry);
    });
    await this.#append(fresh.map(([id, entry]) => ({ id, entry })));
  }

  async putSetAside(entries: ReadonlyMap<SourceId, AsideEntry>): Promise<void> {
    const known = await this.lookup([...entries.keys()]);
    const changed = [...entries].filter(
      ([id, entry]) => JSON.stringify(known.get(id)) !== JSON.stringify(entry),
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

  /** Sources that older versions committed, and that are not known by their content. */
  async earlierSources(): Promise<number> {
    await this.#refresh();
    return this.#index.earlier;
  }

  /** Whether some of those may have rows in the table and lack their capture, as where they were replayed from the log. */
  async hasUnnamed(): Promise<boolean> {
    await this.#refresh();
    return this.#lastUnnamed >= this.#named;
  }

  /** Byte offset of the file's end, as far as it was read. */
  async end(): Promise<number> {
    await this.#refresh();
    return this.#read;
  }

  /** Calls `onEntry` for the entries of older versions whose capture passes. Reads the file once; memory holds a piece of it. */
  async forEachEarlier(
    passes: (capture: string) => boolean,
    onEntry: (earlier: EarlierEntry, capture: string) => void,
  ): Promise<void> {
    await this.#refresh(async (file) => {
      await forEachLine(file, 0, this.#read, (bytes, start, end, offset) => {
        const capture = captureIn(bytes, start, end);
        if (capture === null || !passes(capture)) return;
        const line = parseLine(bytes.toString("utf8", start, end));
        if (line === null || !("id" in line) || line.entry.status !== "committed") return;
        const { id, entry } = line;
        const words = idWords(id);
        const found = words === null ? null : this.#index.find(words);
        if (found?.offset !== offset || found.status !== "earlier") return;
        if (entry.capture === capture) onEntry({ id, entry }, capture);
      });
    });
  }

  /** Notes that entries of older versions are known by their contents now, under these ids. */
  async adopt(found: ReadonlyMap<SourceId, EarlierEntry>): Promise<void> {
    await this.#append(
      [...found].flatMap(([id, earlier]) => {
        const entry = { ...earlier.entry, byContent: true } as const;
        return [
          { id, entry: { ...entry, rowsId: earlier.id } },
          { id: earlier.id, entry },
        ];
      }),
    );
  }

  /** Makes sources unknown, so that their captures are ingested again. Only for sources of which the table has no row. */
  async release(ids: readonly SourceId[]): Promise<void> {
    await this.#append(ids.map((released) => ({ released })));
  }

  /** Adds captures to entries of older versions that lack them. */
  async nameEarlier(captures: ReadonlyMap<SourceId, string>): Promise<void> {
    const known = await this.lookup([...captures.keys()]);
    const named: LedgerLine[] = [];
    for (const [id, entry] of known) {
      const capture = captures.get(id);
      if (entry.status !== "committed" || entry.byContent === true) continue;
      if (entry.capture === undefined && capture !== undefined)
        named.push({ id, entry: { ...entry, capture } });
    }
    await this.#append(named);
  }

  /** Notes that {@link nameEarlier} was called for all sources that have rows, as of this byte offset. */
  async noteNamed(end: number): Promise<void> {
    await this.#append([{ named: end }]);
  }

  /** Takes what is new in the file into the index; then calls `then` with the file, where there is one. */
  async #refresh(then: (file: FileHandle) => Promise<void> = async () => {}): Promise<void> {
    const refreshed = this.#before.then(() => this.#takeNew(then));
    this.#before = refreshed.catch(() => {});
    await refreshed;
  }

  async #takeNew(then: (file: FileHandle) => Promise<void>): Promise<void> {
    let file: FileHandle | null = null;
    try {
      file = await open(this.#path, "r");
      const size = await this.#requireSame(file);
      const take = this.#taker(size);
      // A last line without its end is being written by somebody else, or was torn by a crash.
      this.#read = await forEachLine(file, this.#read, size, take);
      await then(file);
    } catch (error) {
      if (!isNotFound(error)) throw translated(error, `cannot read ${this.#path}`);
      if (this.#head !== null) throw this.#replaced();
    } finally {
      await file?.close();
    }
  }

  /** What takes a line. After enough lines it makes room for as many as a file of `size` bytes will have. */
  #taker(size: number): Parameters<typeof forEachLine>[3] {
    const from = this.#read;
    let lines = 0;
    return (bytes, start, end, offset) => {
      if (end === start) return;
      if (++lines === SAMPLED_LINES) {
        this.#index.reserve(this.#index.size + (lines * (size - from)) / (offset - from));
      }
      const skimmed = skimLine(bytes, start, end);
      if (skimmed === null) this.#take(bytes.toString("utf8", start, end), offset);
      else this.#put(skimmed.id, offset, skimmed);
    };
  }

  #take(text: string, offset: number): void {
    const line = parseLine(text);
    if (line === null) return;
    if ("watermark" in line) {
      const { watermark: version, commit } = line;
      if (version <= (this.#watermark?.version ?? -1)) return;
      this.#watermark = commit === undefined ? { version } : { version, commit };
      return;
    }
    if ("named" in line) {
      this.#named = Math.max(this.#named, line.named);
      return;
    }
    if ("released" in line) {
      const released = idWords(line.released);
      if (released !== null) this.#index.put(released, offset, "released");
      return;
    }
    const id = idWords(line.id);
    if (id !== null) this.#put(id, offset, statusOf(line.entry));
  }

  #put(id: IdWords, offset: number, { status, unnamed }: ReturnType<typeof statusOf>): void {
    this.#index.put(id, offset, status);
    if (unnamed) this.#lastUnnamed = offset;
  }

  /** The source's entry, read from its line; null where the ledger has none, or the line makes no sense. */
  async #entryOf(id: SourceId, file: FileHandle): Promise<LedgerEntry | null> {
    const words = idWords(id);
    const found = words === null ? null : this.#index.find(words);
    if (found === null) return null;
    const line = parseLine(await lineAt(file, found.offset));
    if (line === null || !("id" in line) || line.id !== id) return null;
    const { entry } = line;
    if (entry.status !== "committed" || entry.rowsId === undefined || entry.rowsId === id) return entry;
    // The log, and so what became of it since, names the source by its older id.
    const origin = await this.#entryOf(entry.rowsId, file);
    return origin?.status === "committed" ? { ...origin, rowsId: entry.rowsId } : null;
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

  async #append(lines: readonly LedgerLine[]): Promise<void> {
    if (lines.length === 0) return;
    const text = lines.map(lineText).join("\n");
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

/** Lines after which the number of the others is estimated. */
const SAMPLED_LINES = 10_000;
