import { type ChunkBytes, type ColumnPage, columnPages, type ValueConverter } from "./column-pages.ts";
import { DamagedParquetError, ParquetDamage } from "./damaged-parquet.ts";
import {
  type ColumnChunk,
  chunkRange,
  footerLength,
  type ParquetFooter,
  parseFooter,
  requireWithin,
  TRAILER_BYTES,
} from "./footer.ts";
import type { PageDecompressors } from "./page-decompressors.ts";
import { type ColumnEntries, RecordAssembler } from "./records.ts";
import { columnsOf, type ParquetField } from "./schema.ts";

/** A file's bytes. What `read` throws reaches the caller unchanged. */
export interface ParquetSource {
  /** For messages. */
  readonly name: string;
  readonly size: number;
  /** Returns the bytes from `start` on, fewer than `length` only where the file ends before. */
  read(start: number, length: number): Promise<Uint8Array>;
}

/** How pages are decompressed, and what a file may cost. */
export interface ParquetReaderOptions {
  /** Take the place of the reader's own. */
  readonly decompressors?: PageDecompressors;
  /**
   * Entries that a column chunk may have for each byte of the file. A few bytes can stand for millions of nulls; where each row
   * is known to hold something of its own, a limit keeps such a file from filling the memory.
   */
  readonly maxValuesPerByte?: number;
}

/** A footer of 70 columns and some row groups fits. A larger one costs a second read. */
const FOOTER_BYTES = 128 * 1024;
/** Chunks that lie closer together are read in one request. */
const MAX_GAP_BYTES = 64 * 1024;
/** The shortest file: the magic number twice and the footer's length. */
const MIN_BYTES = 12;

/**
 * Opens a Parquet file for reading. This is the one way by which Parquet is read: footers, data files, checkpoints and sidecars.
 * The file's bytes are not trusted: counts, lengths and offsets are compared with the file and with one another before anything
 * is allocated or repeated by them.
 *
 * Throws `DamagedParquetError` for whatever the bytes cause.
 */
export async function openParquet(
  source: ParquetSource,
  { decompressors = {}, maxValuesPerByte = Number.POSITIVE_INFINITY }: ParquetReaderOptions = {},
): Promise<ParquetReader> {
  const { size, name } = source;
  const location = { offset: 0, part: "footer" };
  if (size < MIN_BYTES) {
    throw new DamagedParquetError(name, location, `${size} bytes are too few for a Parquet file`);
  }
  const end = await readExactly(source, size - Math.min(size, FOOTER_BYTES), size);
  const trailer = end.subarray(end.length - TRAILER_BYTES);
  const length = within(name, location, () => footerLength(trailer, size));
  const offset = size - TRAILER_BYTES - length;
  const missing = end.length - TRAILER_BYTES - length;
  const bytes =
    missing >= 0
      ? end.subarray(missing, missing + length)
      : await readExactly(source, offset, offset + length);
  location.offset = offset;
  const footer = within(name, location, () => {
    const parsed = parseFooter(bytes, offset);
    requireWithin(parsed, { footerOffset: offset, maxValues: maxValuesPerByte * size });
    return parsed;
  });
  return new ParquetReader(source, footer, decompressors);
}

/** See {@link openParquet}. */
export class ParquetReader {
  readonly footer: ParquetFooter;
  readonly #source: ParquetSource;
  readonly #decompressors: PageDecompressors;

  constructor(source: ParquetSource, footer: ParquetFooter, decompressors: PageDecompressors) {
    this.#source = source;
    this.footer = footer;
    this.#decompressors = decompressors;
  }

  /** Reads the chunks' bytes: those that lie close together in one request. */
  async fetch(chunks: readonly ColumnChunk[]): Promise<ChunkBytes[]> {
    const runs = runsOf(chunks);
    const read = await Promise.all(runs.map(({ start, end }) => readExactly(this.#source, start, end)));
    return runs.flatMap(({ start, chunks: ofRun }, run) =>
      ofRun.map((chunk) => {
        const range = chunkRange(chunk);
        return {
          chunk,
          bytes: read[run]!.subarray(range.start - start, range.end - start),
          offset: range.start,
        };
      }),
    );
  }

  /** Calls `onPage` for each data page of the chunk. What it throws is damage too: the value is not what it must be. */
  readPages(
    rowGroup: number,
    bytes: ChunkBytes,
    convert: ValueConverter | null,
    onPage: (page: ColumnPage) => void,
  ): void {
    const part = `column ${bytes.chunk.field.path.join(".")} of row group ${rowGroup}`;
    const location = { offset: bytes.offset, part };
    within(this.#source.name, location, () => {
      const pages = columnPages(bytes, convert, this.#decompressors, (offset) => {
        location.offset = offset;
      });
      for (const page of pages) onPage(page);
    });
  }

  /**
   * Reads the rows of a row group as objects: structs without their nulls, maps as objects, lists as arrays. Only the columns that
   * `isWanted` accepts are read; `convert` says what becomes of their values.
   */
  async readRecords(
    rowGroup: number,
    isWanted: (column: ParquetField) => boolean,
    convert: (column: ParquetField) => ValueConverter | null,
  ): Promise<Record<string, unknown>[]> {
    const group = this.footer.rowGroups[rowGroup];
    if (group === undefined) throw new Error(`${this.#source.name} has no row group ${rowGroup}`);
    const fields = this.footer.fields.filter((field) => columnsOf(field).some(isWanted));
    const fetched = await this.fetch(group.columns.filter(({ field }) => isWanted(field)));
    const columns = fetched.map((bytes): ColumnEntries => {
      const pages: ColumnPage[] = [];
      const { field } = bytes.chunk;
      this.readPages(rowGroup, bytes, convert(field), (page) => void pages.push(page));
      return { field, pages };
    });
    const location = { offset: fetched[0]?.offset ?? 0, part: `row group ${rowGroup}` };
    return within(this.#source.name, location, () => {
      const assembler = new RecordAssembler(fields, columns);
      const rows = Array.from({ length: group.rows }, () => assembler.next());
      assembler.finish();
      return rows;
    });
  }
}

/** Chunks in the order of the file, those together that lie close to one another. */
function runsOf(
  chunks: readonly ColumnChunk[],
): { readonly start: number; end: number; readonly chunks: ColumnChunk[] }[] {
  const runs: { start: number; end: number; chunks: ColumnChunk[] }[] = [];
  const ordered = [...chunks].sort((a, b) => chunkRange(a).start - chunkRange(b).start);
  for (const chunk of ordered) {
    const { start, end } = chunkRange(chunk);
    const run = runs.at(-1);
    if (run !== undefined && start - run.end <= MAX_GAP_BYTES) {
      run.chunks.push(chunk);
      run.end = Math.max(run.end, end);
    } else runs.push({ start, end, chunks: [chunk] });
  }
  return runs;
}

async function readExactly(source: ParquetSource, start: number, end: number): Promise<Uint8Array> {
  if (end === start) return new Uint8Array(0);
  // One byte more at the end: it tells whether the file is as long as the log says.
  const bytes = await source.read(start, end - start + (end === source.size ? 1 : 0));
  if (bytes.length === end - start) return bytes;
  if (bytes.length > end - start) {
    throw new DamagedParquetError(
      source.name,
      { offset: end, part: null },
      `the file goes on there: it is longer than the log says (${source.size} bytes)`,
    );
  }
  throw new DamagedParquetError(
    source.name,
    { offset: start + bytes.length, part: null },
    `the file ends there: it is shorter than the log says (${source.size} bytes)`,
  );
}

/** Runs what reads hostile bytes: whatever it throws is damage at the location, or at the byte that it names itself. */
function within<T>(
  name: string,
  location: { readonly offset: number; readonly part: string },
  work: () => T,
): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof DamagedParquetError) throw error;
    const offset = (error instanceof ParquetDamage ? error.offset : null) ?? location.offset;
    throw new DamagedParquetError(name, { offset, part: location.part }, error);
  }
}
