import type { PacketRecord } from "@deltacap/capture";
import type { ParquetWriterFactory } from "@deltacap/parquet";
import { type NewObject, ParquetFile, type WrittenFile } from "@deltacap/parquet";
import { type CaptureColumns, PacketBatch } from "./packet-batch.ts";
import { fileColumns } from "./packet-table.ts";
import { packetFolder } from "./partition-folder.ts";

/** Bounds on memory and file sizes of one converter batch. */
export interface PacketFileLimits {
  /** Rows held in memory, over all dates: also the rows of a row group. */
  readonly rows: number;
  /** Bytes of frames, and of texts not seen before, held in memory, over all dates. */
  readonly frameBytes: number;
  /**
   * Bytes of memory that rows and what is kept for further rows may take, over all dates: more than `rows` rows and `frameBytes`
   * need, so that memory is mostly used again. What came last may be beside it, which is a packet of any length.
   */
  readonly heldBytes: number;
  /** A file that has reached this size gets no further row group. */
  readonly fileBytes: number;
  /** Dates that may have rows in memory or a file open at once. */
  readonly openDates: number;
  /** Dates that the rows of one capture may lie on. Where there are more, the rows of some get no date: see `begin`. */
  readonly datesPerCapture: number;
}

/** Where a batch's files go, and what limits them. */
export interface PacketFilesOptions {
  /** Unpredictable and unique: part of each file's name. */
  readonly batchId: string;
  readonly limits: PacketFileLimits;
  readonly parquet: ParquetWriterFactory;
  readonly create: (path: string) => NewObject;
  readonly hashSeed: number;
}

/** Rows of one date that are not in a file yet, and the files they will go to. */
interface OpenDate {
  /** Days since 1970, {@link NO_DAY} for rows without a date. */
  readonly day: number;
  /** `2026-01-31`, null for rows without a date. */
  readonly date: string | null;
  batch: PacketBatch;
  /** Rows of the batch that belong to captures already kept; the rest is the current capture's. */
  keptRows: number;
  /** Holds rows of kept captures only. */
  shared: ParquetFile | null;
  /** Holds rows of the current capture only. */
  own: ParquetFile | null;
  /** Grows with each use: the date used longest ago is closed first. */
  lastUse: number;
}

/** Key of rows without a date among the day numbers. */
const NO_DAY = Number.NaN;
const SECONDS_OF_DAY = 86_400;

/** The capture's rows lie on more dates than `datesPerCapture`. It can be read again with the dates that are kept. */
export class TooManyDatesError extends Error {
  override readonly name = "TooManyDatesError";
}

/** Days since 1970 of a record's time; NaN where it has none. */
export function dayOf(record: Pick<PacketRecord, "hasTime" | "seconds">): number {
  return record.hasTime ? Math.floor(record.seconds / SECONDS_OF_DAY) : NO_DAY;
}

/**
 * The Parquet files of one converter batch: one a date, split by size, shared by the batch's captures. Captures are
 * written one after another (`begin`, `append` ..., then `keep` or `takeBack`); one that fails leaves no row behind.
 *
 * That works because rows in memory can be forgotten, and rows that must leave memory before their capture is known to
 * be good go to files of its own, which are dropped with it.
 *
 * Memory is bounded by the limits, whatever the captures hold: `heldBytes` for all dates together, and the rows of the appends
 * since `full` was last asked for, of which a single one may be a packet of 128 MiB. Its memory is given back once it is written.
 */
export class PacketFiles {
  readonly #options: PacketFilesOptions;
  readonly #open = new Map<number, OpenDate>();
  readonly #written: WrittenFile[] = [];
  #capture: CaptureColumns | null = null;
  /** Files of the current capture alone that are complete. */
  #ownWritten: WrittenFile[] = [];
  readonly #captureDays = new Set<number>();
  /** Days on which the current capture's rows may have a date; null for all. */
  #keptDays: ReadonlySet<number> | null = null;
  #undated = 0;
  /** Second that the last day begins with, NaN for {@link NO_DAY}: comparing takes 25 ns a row less than dividing (Node 24). */
  #lastMidnight: number = NO_DAY;
  #lastDate: OpenDate | null = null;
  #uses = 0;
  #rows = 0;
  #files = 0;

  constructor(options: PacketFilesOptions) {
    this.#options = options;
  }

  /**
   * All rows that follow, up to `keep` or `takeBack`, are this capture's. With `keptDays` (days since 1970) rows of other days go to
   * the null date; their `ts` stays.
   */
  begin(capture: CaptureColumns, keptDays: ReadonlySet<number> | null = null): void {
    this.#capture = capture;
    this.#captureDays.clear();
    this.#keptDays = keptDays;
    this.#undated = 0;
    this.#lastDate = null;
  }

  /** Rows of the current capture that have a time and no date. */
  get undated(): number {
    return this.#undated;
  }

  /**
   * Takes one row. Synchronous: the caller looks at `full` between chunks and then awaits `makeRoom`.
   * Throws `TooManyDatesError` when no kept days were given and the rows lie on too many dates.
   */
  append(record: PacketRecord): void {
    const sinceMidnight = record.seconds - this.#lastMidnight;
    const isSameDay = record.hasTime && sinceMidnight >= 0 && sinceMidnight < SECONDS_OF_DAY;
    const date = isSameDay && this.#lastDate !== null ? this.#lastDate : this.#useDateOf(record);
    date.batch.append(record, this.#capture!);
    this.#rows++;
  }

  /** True when rows must leave memory before more come. */
  get full(): boolean {
    const limits = this.#options.limits;
    return (
      this.#rows >= limits.rows ||
      this.#open.size > limits.openDates ||
      this.#tooManyBytes() ||
      this.memory > limits.heldBytes
    );
  }

  /** Bytes of memory of all dates' rows and of what is kept for further ones; files have a few chunks each beside it. */
  get memory(): number {
    let bytes = 0;
    for (const { batch } of this.#open.values()) bytes += batch.memory;
    return bytes;
  }

  /** Writes rows out until the batch is within its limits. */
  async makeRoom(): Promise<void> {
    const limits = this.#options.limits;
    while (this.#open.size > limits.openDates) await this.#close(this.#leastRecentlyUsed());
    while (this.#rows >= limits.rows || this.#tooManyBytes()) await this.#writeRows(this.#heaviest(weight));
    while (this.memory > limits.heldBytes) {
      this.#giveBack();
      if (this.#rows === 0 || this.memory <= limits.heldBytes) return;
      await this.#writeRows(this.#heaviest(({ batch }) => batch.memory));
    }
  }

  /** Gives the memory of batches without rows back. */
  #giveBack(): void {
    for (const open of this.#open.values()) {
      if (open.batch.rows > 0) continue;
      open.batch.end();
      open.batch = new PacketBatch(this.#options.hashSeed);
    }
  }

  /** The capture is good: its rows belong to the batch. */
  async keep(): Promise<void> {
    for (const open of this.#open.values()) {
      open.keptRows = open.batch.rows;
      if (open.own === null) continue;
      if (open.shared === null) open.shared = open.own;
      else this.#written.push(await open.own.finish());
      open.own = null;
    }
    this.#written.push(...this.#ownWritten);
    this.#ownWritten = [];
  }

  /**
   * The capture failed: its rows are taken back. Files of its own that were complete stay behind as objects that no
   * version refers to; vacuum removes them.
   */
  async takeBack(): Promise<void> {
    for (const open of this.#open.values()) {
      this.#rows -= open.batch.rows - open.keptRows;
      open.batch.truncate(open.keptRows);
      await open.own?.abort();
      open.own = null;
    }
    this.#ownWritten = [];
  }

  /** Writes all that is left and puts the files. The order of the result is that of the files' completion. */
  async finish(): Promise<WrittenFile[]> {
    for (const open of [...this.#open.values()]) await this.#close(open);
    return this.#written;
  }

  /** Drops everything that is not yet put. Never throws. */
  async abort(): Promise<void> {
    for (const open of this.#open.values()) {
      await open.own?.abort();
      await open.shared?.abort();
    }
    this.#open.clear();
  }

  #useDateOf(record: PacketRecord): OpenDate {
    const day = this.#keptDayOf(record);
    const last = this.#lastDate;
    const date = last !== null && Object.is(day, last.day) ? last : this.#dateOf(day);
    this.#lastDate = date;
    this.#lastMidnight = day * SECONDS_OF_DAY;
    return date;
  }

  #keptDayOf(record: PacketRecord): number {
    const day = dayOf(record);
    if (this.#keptDays === null || Number.isNaN(day) || this.#keptDays.has(day)) return day;
    this.#undated++;
    return NO_DAY;
  }

  #dateOf(day: number): OpenDate {
    let open = this.#open.get(day);
    if (!this.#captureDays.has(day)) this.#countDay(day);
    if (open === undefined) {
      const batch = new PacketBatch(this.#options.hashSeed);
      open = { day, date: dateText(day), batch, keptRows: 0, shared: null, own: null, lastUse: 0 };
      this.#open.set(day, open);
    }
    open.lastUse = ++this.#uses;
    return open;
  }

  #countDay(day: number): void {
    const limit = this.#options.limits.datesPerCapture;
    if (this.#keptDays === null && this.#captureDays.size === limit) {
      throw new TooManyDatesError(
        `rows on more than ${limit} dates, the last one on ${dateText(day)}: its clock was wrong at times`,
      );
    }
    this.#captureDays.add(day);
  }

  #tooManyBytes(): boolean {
    let bytes = 0;
    for (const open of this.#open.values()) bytes += open.batch.bytes;
    return bytes >= this.#options.limits.frameBytes;
  }

  /** The date to write out: one with rows of kept captures if there is any, and of these the one that frees most. */
  #heaviest(weightOf: (open: OpenDate) => number): OpenDate {
    const open = [...this.#open.values()];
    const withKept = open.filter((date) => date.keptRows > 0);
    return (withKept.length > 0 ? withKept : open).reduce((a, b) => (weightOf(b) > weightOf(a) ? b : a));
  }

  #leastRecentlyUsed(): OpenDate {
    return [...this.#open.values()].reduce((a, b) => (b.lastUse < a.lastUse ? b : a));
  }

  /**
   * Writes a date's rows as a row group: those of kept captures to the shared file, and only when there are none of these
   * the current capture's to a file of its own. So a capture that fits into memory never gets one.
   */
  async #writeRows(open: OpenDate): Promise<void> {
    const { batch, keptRows } = open;
    if (keptRows > 0) {
      open.shared ??= this.#newFile(open.date);
      await open.shared.write(batch.take(0, keptRows));
      batch.removeFirst(keptRows);
      this.#rows -= keptRows;
      open.keptRows = 0;
    } else {
      open.own ??= this.#newFile(open.date);
      await open.own.write(batch.take(0, batch.rows));
      this.#rows -= batch.rows;
      batch.clear();
    }
    if (open.shared !== null && open.shared.size >= this.#options.limits.fileBytes) {
      this.#written.push(await open.shared.finish());
      open.shared = null;
    }
    if (open.own !== null && open.own.size >= this.#options.limits.fileBytes) {
      this.#ownWritten.push(await open.own.finish());
      open.own = null;
    }
  }

  async #close(open: OpenDate): Promise<void> {
    while (open.batch.rows > 0) await this.#writeRows(open);
    if (open.shared !== null) this.#written.push(await open.shared.finish());
    if (open.own !== null) this.#ownWritten.push(await open.own.finish());
    open.batch.end();
    this.#open.delete(open.day);
    this.#lastDate = null;
  }

  #newFile(date: string | null): ParquetFile {
    const { batchId, create, parquet } = this.#options;
    const number = String(this.#files++).padStart(5, "0");
    const path = `${packetFolder(date)}/${batchId}-${number}.parquet`;
    return new ParquetFile(path, date, parquet, create, fileColumns);
  }
}

/** What writing a date's rows out would free, in bytes, roughly: frames, texts and some 330 bytes of columns a row. */
function weight(open: OpenDate): number {
  return open.batch.bytes + open.batch.rows * 330;
}

/** Day number since 1970 to `YYYY-MM-DD`; the reader lets no time outside the years 1900 to 2299 through. */
function dateText(day: number): string | null {
  return Number.isNaN(day) ? null : new Date(day * 86_400_000).toISOString().slice(0, 10);
}
