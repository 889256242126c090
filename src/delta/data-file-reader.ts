import {
  type ColumnMetaData,
  type Compressors,
  type DecodedArray,
  type FileMetaData,
  parquetMetadataAsync,
  parquetRead,
} from "hyparquet";
import { compressors } from "hyparquet-compressors";
import type { Column } from "../columns/row-group.ts";
import { RowGroupBuilder, type SparseRowGroup } from "../columns/row-group-builder.ts";
import type { ColumnDefinition } from "../columns/table-schema.ts";
import { RejectedError, RetryableError, TableRefusedError } from "../errors.ts";
import type { ObjectStore } from "../manifest/object-store.ts";
import type { Add } from "./actions.ts";
import { ColumnDecoder, physicalTypeOf } from "./column-decoder.ts";
import { readDeletionVector } from "./deletion-vector.ts";
import { objectPath } from "./object-path.ts";
import { chunkMetadata, isAllNull, type RowGroupSummary, rowGroupSummary } from "./row-group-summary.ts";
import type { RowSet, RowSpan } from "./row-set.ts";

/** By codec of Parquet: gives the page's bytes, `outputLength` of them. Where there is none, a decompressor in JavaScript serves. */
export type PageDecompressors = Compressors;

/** A file that cannot be read as one of the table's: others can go on without it. */
export class UnreadableFileError extends RejectedError {
  readonly path: string;

  constructor(path: string, problem: string, options?: ErrorOptions) {
    super(`${path} ${problem}`, 0, options);
    this.path = path;
  }
}

/** A footer of 70 columns and some row groups fits; a larger one costs a second read. */
const FOOTER_BYTES = 128 * 1024;

/** A file whose footer was read. */
interface OpenedFile {
  readonly table: ObjectStore;
  readonly path: string;
  readonly size: number;
  readonly metadata: FileMetaData;
  readonly columns: readonly ColumnDefinition[];
  readonly decompressors: PageDecompressors;
}

/**
 * A Parquet file of the table, by whatever writer, of which row groups are read as typed columns. Columns that the file lacks
 * are null in every row (the schema grew after it was written); columns that the table lacks are not read.
 */
export class DataFileReader {
  readonly path: string;
  readonly rowGroups: readonly RowGroupSummary[];
  /** Of each row group, its first row's number in the file. */
  readonly #firstRows: readonly number[];
  readonly #table: ObjectStore;
  readonly #size: number;
  readonly #metadata: FileMetaData;
  readonly #columns: readonly ColumnDefinition[];
  readonly #decompressors: PageDecompressors;
  /** Null where no row is deleted. */
  readonly #deleted: RowSet | null;

  private constructor(
    { table, path, size, metadata, columns, decompressors }: OpenedFile,
    deleted: RowSet | null,
  ) {
    this.path = path;
    this.#decompressors = { ...compressors, ...decompressors };
    this.#table = table;
    this.#size = size;
    this.#metadata = metadata;
    this.#columns = columns;
    this.#deleted = deleted;
    this.#firstRows = firstRows(metadata);
    this.rowGroups = metadata.row_groups.map((group, index) => {
      const rows = Number(group.num_rows);
      const firstRow = this.#firstRows[index] ?? 0;
      const liveRows = rows - (deleted?.countBetween(firstRow, firstRow + rows) ?? 0);
      return rowGroupSummary(group.columns.map(chunkMetadata), { rows, liveRows }, columns);
    });
  }

  /**
   * Reads the footer, and the deletion vector if the file has one. `columns` as a file has them: the table's without the partition
   * column. Throws `UnreadableFileError` for a file that is no Parquet, is gone, has a column in a type that is not the table's, or
   * a deletion vector that cannot be read: which of its rows are the table's is not known then.
   */
  static async open(
    table: ObjectStore,
    file: Pick<Add, "path" | "size" | "deletionVector">,
    columns: readonly ColumnDefinition[],
    decompressors: PageDecompressors = {},
  ): Promise<DataFileReader> {
    const path = objectPath(file.path);
    const { size } = file;
    const slice = async (start: number, end = size) => await readRange(table, path, start, end);
    const metadata = await readable(
      path,
      parquetMetadataAsync(
        { byteLength: size, slice },
        { parsers, initialFetchSize: Math.min(size, FOOTER_BYTES) },
      ),
    );
    const elements = new Map(metadata.schema.slice(1).map((element) => [element.name, element]));
    for (const { name, type } of columns) {
      const element = elements.get(name);
      if (element !== undefined && physicalTypeOf(element, type) === null) {
        const found = `${element.type} ${element.converted_type ?? ""}`.trim();
        throw new UnreadableFileError(path, `has the column ${name} as ${found}, and the table as ${type}`);
      }
    }
    const deleted = await deletedRows(table, file, metadata);
    try {
      return new DataFileReader({ table, path, size, metadata, columns, decompressors }, deleted);
    } catch (error) {
      throw unreadable(path, error);
    }
  }

  /** What the open file takes in memory, roughly: objects of its footer, about 1 KiB a column chunk, and the deletion vector. */
  get openBytes(): number {
    const footer = this.#metadata.row_groups.reduce(
      (sum, { columns }) => sum + 1024 * columns.length,
      16 * 1024,
    );
    return footer + (this.#deleted?.bytes ?? 0);
  }

  /** Of the table: those that are deleted are not counted. */
  get rows(): number {
    return this.rowGroups.reduce((sum, { liveRows }) => sum + liveRows, 0);
  }

  /** All rows that are in the file. */
  get storedRows(): number {
    return this.rowGroups.reduce((sum, { rows }) => sum + rows, 0);
  }

  /** Rows of the file, counted from its first one, that its deletion vector deletes. */
  deletedSpans(): Iterable<RowSpan> {
    return this.#deleted?.spans() ?? [];
  }

  /** Where in row group `index`, counted from its first row, the rows of the table are: all but the deleted ones. */
  *liveSpans(index: number): Generator<RowSpan> {
    const { rows } = this.#rowGroup(index);
    const first = this.#firstRows[index] ?? 0;
    if (this.#deleted === null) yield { from: 0, to: rows };
    else {
      for (const { from, to } of this.#deleted.spansWithout(first, first + rows)) {
        yield { from: from - first, to: to - first };
      }
    }
  }

  /** One row group's rows, the deleted ones left out, in one request; or only those of its columns that are named, the others being null. */
  async read(index: number, names: ReadonlySet<string> | null = null): Promise<SparseRowGroup> {
    const { rows, liveRows } = this.#rowGroup(index);
    if (liveRows === 0) return { rows: 0, columns: this.#columns.map(() => null) };
    const stored = await this.readStored(index, names);
    return liveRows === rows ? stored : onlyRows(stored, this.liveSpans(index), this.#columns);
  }

  #rowGroup(index: number): RowGroupSummary {
    const group = this.rowGroups[index];
    if (group === undefined) throw new Error(`${this.path} has no row group ${index}`);
    return group;
  }

  /** The same with the deleted rows. */
  async readStored(index: number, names: ReadonlySet<string> | null = null): Promise<SparseRowGroup> {
    const group = this.#metadata.row_groups[index];
    if (group === undefined) throw new Error(`${this.path} has no row group ${index}`);
    const rows = Number(group.num_rows);
    const chunks = new Map(
      group.columns.map((column) => [chunkMetadata(column).path_in_schema.join("."), chunkMetadata(column)]),
    );
    const wanted = this.#columns.map(({ name }) => {
      const chunk = names === null || names.has(name) ? chunks.get(name) : undefined;
      return chunk === undefined || isAllNull(chunk, rows) ? null : chunk;
    });
    const file = await this.#prefetched(wanted);
    const firstRow = this.#firstRows[index] ?? 0;
    const columns: (Column | null)[] = [];
    for (const [i, definition] of this.#columns.entries()) {
      columns.push(wanted[i] === null ? null : await this.#column(definition, file, { firstRow, rows }));
    }
    return { rows, columns };
  }

  /** One after another, so that the reader's arrays, several times as large as ours, are those of one column. */
  async #column(
    definition: ColumnDefinition,
    file: { byteLength: number; slice: (start: number, end?: number) => Promise<ArrayBuffer> },
    { firstRow, rows }: { firstRow: number; rows: number },
  ): Promise<Column | null> {
    const decoder = new ColumnDecoder(definition, rows);
    const reading = parquetRead({
      file,
      metadata: this.#metadata,
      columns: [definition.name],
      rowStart: firstRow,
      rowEnd: firstRow + rows,
      compressors: this.#decompressors,
      utf8: false,
      parsers,
      onChunk: ({ columnData, rowStart }: { columnData: DecodedArray; rowStart: number }) =>
        decoder.add(columnData, rowStart - firstRow),
    });
    await readable(this.path, reading);
    try {
      return decoder.column();
    } catch (error) {
      throw unreadable(this.path, error);
    }
  }

  /** The wanted chunks' bytes, which lie close together, in one request. */
  async #prefetched(chunks: readonly (ColumnMetaData | null)[]) {
    let first = this.#size;
    let last = 0;
    for (const chunk of chunks) {
      if (chunk === null) continue;
      const start = Number(chunk.dictionary_page_offset ?? chunk.data_page_offset);
      first = Math.min(first, start, Number(chunk.data_page_offset));
      last = Math.max(last, start + Number(chunk.total_compressed_size));
    }
    last = Math.min(last, this.#size);
    const bytes = last <= first ? new ArrayBuffer(0) : await readRange(this.#table, this.path, first, last);
    const slice = async (start: number, end = this.#size): Promise<ArrayBuffer> => {
      if (start >= first && end <= last) return bytes.slice(start - first, end - first);
      return await readRange(this.#table, this.path, start, end);
    };
    return { byteLength: this.#size, slice };
  }
}

/** Null where the file has no deletion vector. */
async function deletedRows(
  table: ObjectStore,
  file: Pick<Add, "path" | "deletionVector">,
  { row_groups }: FileMetaData,
): Promise<RowSet | null> {
  const rows = row_groups.reduce((sum, { num_rows }) => sum + Number(num_rows), 0);
  try {
    return await readDeletionVector(table, file, rows);
  } catch (error) {
    if (!(error instanceof RejectedError || error instanceof TableRefusedError)) throw error;
    const problem = `has a deletion vector that cannot be read: ${error.message}`;
    throw new UnreadableFileError(objectPath(file.path), problem, { cause: error });
  }
}

function firstRows({ row_groups }: FileMetaData): number[] {
  let next = 0;
  return row_groups.map(({ num_rows }) => {
    const first = next;
    next += Number(num_rows);
    return first;
  });
}

/** The rows within the spans; columns without any value stay so. */
function onlyRows(
  group: SparseRowGroup,
  spans: Iterable<RowSpan>,
  columns: readonly ColumnDefinition[],
): SparseRowGroup {
  const isThere = group.columns.map((column) => column !== null);
  const builder = new RowGroupBuilder(columns.filter((_, i) => isThere[i]));
  const source = { rows: group.rows, columns: group.columns.filter((_, i) => isThere[i]) };
  for (const { from, to } of spans) builder.append(source, from, to);
  const kept = builder.take();
  let next = 0;
  return {
    rows: kept.rows,
    columns: isThere.map((there) => (there ? (kept.columns[next++] ?? null) : null)),
  };
}

/** Timestamps stay as the file has them: the decoder turns them into microseconds. */
const parsers = {
  timestampFromMilliseconds: (millis: bigint) => millis * 1000n,
  timestampFromMicroseconds: (micros: bigint) => micros,
  timestampFromNanoseconds: (nanos: bigint) => floorDivide(nanos, 1000n),
};

function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value % divisor < 0n ? quotient - 1n : quotient;
}

async function readRange(table: ObjectStore, path: string, start: number, end: number): Promise<ArrayBuffer> {
  const bytes = await table.read(path, { start, length: end - start });
  if (bytes === null) throw new UnreadableFileError(path, "is gone");
  if (bytes.length !== end - start) {
    throw new UnreadableFileError(path, `has no bytes ${start} to ${end}: it is shorter than the log says`);
  }
  const whole = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength;
  return (whole ? bytes.buffer : bytes.slice().buffer) as ArrayBuffer;
}

async function readable<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof RetryableError || error instanceof UnreadableFileError) throw error;
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): UnreadableFileError {
  const reason = error instanceof Error ? error.message : String(error);
  return new UnreadableFileError(path, `cannot be read as Parquet: ${reason}`, { cause: error });
}
