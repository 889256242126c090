import type {
  ChunkBytes,
  Column,
  ColumnChunk,
  ColumnDefinition,
  PageDecompressors,
  ParquetFooter,
} from "@deltacap/parquet";
import {
  DamagedParquetError,
  openParquet,
  type ParquetReader,
  RowGroupBuilder,
  type SparseRowGroup,
} from "@deltacap/parquet";
import type { Add } from "../actions/actions.ts";
import { objectPath } from "../actions/object-path.ts";
import { TableRefusedError } from "../errors.ts";
import type { ObjectStore } from "../stores/object-store.ts";
import { DamagedVectorError } from "../vectors/damaged-vector.ts";
import { readDeletionVector } from "../vectors/deletion-vector.ts";
import type { RowSet, RowSpan } from "../vectors/row-set.ts";
import { ColumnDecoder, physicalTypeOf, valueConverter } from "./column-decoder.ts";
import { isAllNull, type RowGroupSummary, rowGroupSummary } from "./row-group-summary.ts";

/** A file that cannot be read as one of the table's: others can go on without it. */
export class UnreadableFileError extends Error {
  override readonly name = "UnreadableFileError";
  readonly path: string;

  constructor(path: string, problem: string, options?: ErrorOptions) {
    super(`${path} ${problem}`, options);
    this.path = path;
  }
}

/** A file whose footer was read. */
interface OpenedFile {
  readonly path: string;
  readonly parquet: ParquetReader;
  readonly columns: readonly ColumnDefinition[];
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
  readonly #parquet: ParquetReader;
  readonly #columns: readonly ColumnDefinition[];
  /** Null where no row is deleted. */
  readonly #deleted: RowSet | null;

  private constructor({ path, parquet, columns }: OpenedFile, deleted: RowSet | null) {
    this.path = path;
    this.#parquet = parquet;
    this.#columns = columns;
    this.#deleted = deleted;
    this.#firstRows = firstRows(parquet.footer);
    this.rowGroups = parquet.footer.rowGroups.map(({ rows, columns: chunks }, index) => {
      const firstRow = this.#firstRows[index] ?? 0;
      const liveRows = rows - (deleted?.countBetween(firstRow, firstRow + rows) ?? 0);
      return rowGroupSummary(chunks, { rows, liveRows }, columns);
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
    const read = async (start: number, length: number) => await readRange(table, path, { start, length });
    const parquet = await readable(openParquet({ name: path, size, read }, { decompressors }));
    const fields = new Map(parquet.footer.fields.map((field) => [field.name, field]));
    for (const { name, type } of columns) {
      const field = fields.get(name);
      if (field !== undefined && physicalTypeOf(field, type) === null) {
        const found = `${field.physical ?? "a group"} ${field.converted ?? ""}`.trim();
        throw new UnreadableFileError(path, `has the column ${name} as ${found}, and the table as ${type}`);
      }
    }
    const deleted = await deletedRows(table, file, parquet.footer);
    return new DataFileReader({ path, parquet, columns }, deleted);
  }

  /** What the open file takes in memory, roughly: objects of its footer, about 1 KiB a column chunk, and the deletion vector. */
  get openBytes(): number {
    const footer = this.#parquet.footer.rowGroups.reduce(
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
    const group = this.#parquet.footer.rowGroups[index];
    if (group === undefined) throw new Error(`${this.path} has no row group ${index}`);
    const { rows } = group;
    const chunks = new Map(group.columns.map((chunk) => [chunk.field.path.join("."), chunk]));
    const wanted = this.#columns.map(({ name }) => {
      const chunk = names === null || names.has(name) ? chunks.get(name) : undefined;
      return chunk === undefined || isAllNull(chunk, rows) ? null : chunk;
    });
    const fetched = await readable(this.#parquet.fetch(wanted.filter((chunk) => chunk !== null)));
    const bytes = new Map<ColumnChunk | null, ChunkBytes>(fetched.map((each) => [each.chunk, each]));
    const columns = this.#columns.map((definition, i) => {
      const ofColumn = bytes.get(wanted[i] ?? null);
      return ofColumn === undefined ? null : this.#column(definition, index, ofColumn);
    });
    return { rows, columns };
  }

  /** One after another, so that the values of one page, several times as large as ours, are all that is held beside them. */
  #column(definition: ColumnDefinition, rowGroup: number, bytes: ChunkBytes): Column | null {
    const { field, values } = bytes.chunk;
    const decoder = new ColumnDecoder(definition, values);
    try {
      const convert = valueConverter(field, definition.type);
      this.#parquet.readPages(rowGroup, bytes, convert, (page) => decoder.add(page));
    } catch (error) {
      throw unreadable(error);
    }
    return decoder.column();
  }
}

/** Null where the file has no deletion vector. */
async function deletedRows(
  table: ObjectStore,
  file: Pick<Add, "path" | "deletionVector">,
  { rows }: ParquetFooter,
): Promise<RowSet | null> {
  try {
    return await readDeletionVector(table, file, rows);
  } catch (error) {
    if (!(error instanceof DamagedVectorError || error instanceof TableRefusedError)) throw error;
    const problem = `has a deletion vector that cannot be read: ${error.message}`;
    throw new UnreadableFileError(objectPath(file.path), problem, { cause: error });
  }
}

function firstRows({ rowGroups }: ParquetFooter): number[] {
  let next = 0;
  return rowGroups.map(({ rows }) => {
    const first = next;
    next += rows;
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

async function readRange(
  table: ObjectStore,
  path: string,
  range: { readonly start: number; readonly length: number },
): Promise<Uint8Array> {
  const bytes = await table.read(path, range);
  if (bytes === null) throw new UnreadableFileError(path, "is gone");
  return bytes;
}

async function readable<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(error: unknown): unknown {
  if (!(error instanceof DamagedParquetError)) return error;
  return new UnreadableFileError(error.file, error.problem, { cause: error });
}
