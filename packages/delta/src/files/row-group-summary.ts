import type { ColumnChunk, ColumnDefinition, ParquetField } from "@deltacap/parquet";
import { floorDivided, timestampScale } from "./column-decoder.ts";

/** What a row group's footer says of one column; a bound is null where it is not known. */
export interface ColumnRange {
  readonly nullCount: number | null;
  /** At most the least value: it may be cut off. */
  readonly min: string | number | bigint | null;
  /** At least the greatest value. */
  readonly max: string | number | bigint | null;
}

/** What a footer says of one row group, without reading its rows. */
export interface RowGroupSummary {
  /** As they are stored, deleted ones included: what `ranges` are of. */
  readonly rows: number;
  /** Those that the file's deletion vector leaves. */
  readonly liveRows: number;
  /** What the rows take when they are read, roughly: typed arrays of the columns that have values, frames, texts. */
  readonly memoryBytes: number;
  /** What reading them takes beside it until it is done, roughly: the file's bytes, and one column's values as JavaScript has them. */
  readonly readingBytes: number;
  /** By column name; columns that the file lacks are not in it. */
  readonly ranges: ReadonlyMap<string, ColumnRange>;
}

/** `columns`: the table's, of which those that have no value in the group take no memory. */
export function rowGroupSummary(
  chunks: readonly ColumnChunk[],
  { rows, liveRows }: Pick<RowGroupSummary, "rows" | "liveRows">,
  columns: readonly ColumnDefinition[],
): RowGroupSummary {
  const bytes = memoryBytes(chunks, rows, columns);
  return {
    rows,
    liveRows,
    // Where some rows are deleted, those that are not are copied before the others are dropped.
    memoryBytes: liveRows === 0 ? 0 : liveRows === rows ? bytes : 2 * bytes,
    readingBytes: liveRows === 0 ? 0 : readingBytes(chunks, rows, columns),
    ranges: new Map(chunks.map((chunk) => [chunk.field.path.join("."), rangeOf(chunk)])),
  };
}

/** True where the statistics say that the chunk holds no value. */
export function isAllNull({ statistics }: ColumnChunk, rows: number): boolean {
  return statistics?.nullCount === rows;
}

function rangeOf({ statistics, field }: ColumnChunk): ColumnRange {
  if (statistics === null) return { nullCount: null, min: null, max: null };
  const { nullCount, min, max, oldMin, oldMax } = statistics;
  // `min` and `max` without `_value` are ordered by signed bytes where the type is BYTE_ARRAY (parquet.thrift, "Statistics").
  const isOrdered = field.physical !== "BYTE_ARRAY";
  return {
    nullCount,
    min: bound(min ?? (isOrdered ? oldMin : null), field, "lower"),
    max: bound(max ?? (isOrdered ? oldMax : null), field, "upper"),
  };
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Null for one that is not known: of another type, or of another length than its type. */
function bound(
  bytes: Uint8Array | null,
  field: ParquetField,
  side: "lower" | "upper",
): string | number | bigint | null {
  if (bytes === null) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (field.physical) {
    case "BYTE_ARRAY":
      return textBound(utf8.decode(bytes), side);
    case "INT32":
      return bytes.length === 4 ? view.getInt32(0, true) : null;
    case "INT64": {
      if (bytes.length !== 8) return null;
      const value = view.getBigInt64(0, true);
      if (field.converted?.startsWith("TIMESTAMP") !== true && field.logical?.type !== "TIMESTAMP")
        return value;
      const { multiplier, divisor } = timestampScale(field);
      return floorDivided(value * multiplier, divisor);
    }
    default:
      return null;
  }
}

/** A text that is cut within a character: what stands before the cut is as good a lower bound, and nothing is known above. */
function textBound(value: string, side: "lower" | "upper"): string | null {
  const cut = value.indexOf("\ufffd");
  if (cut < 0) return value;
  return side === "lower" ? value.slice(0, cut) : null;
}

/** Bytes a value beside what it holds, by type, and half as many again for the bitmap and growth. */
const VALUE_BYTES = { integer: 4, long: 8, timestamp: 8, boolean: 1, string: 4, binary: 4, date: 0 } as const;

/**
 * Bytes a value while a column is read: lists of values, levels, dictionary places, and objects where a value is one. An upper
 * bound: measured as peak memory of two million rows (Node 24, x86-64; 46, 95, 116, 38, 26 and 190, 239) where a whole column's
 * values were held at once. Now one page's are, which may be the whole column in a file of another writer.
 */
const READING_BYTES = {
  integer: 48,
  long: 96,
  timestamp: 116,
  boolean: 40,
  string: 32,
  binary: 240,
  date: 0,
} as const;
/** Of a text that no dictionary page says to be one of few. */
const READING_TEXT_BYTES = 192;

function memoryBytes(
  chunks: readonly ColumnChunk[],
  rows: number,
  columns: readonly ColumnDefinition[],
): number {
  let bytes = 0;
  for (const { type, chunk } of columnsRead(chunks, rows, columns)) {
    bytes += rows * VALUE_BYTES[type];
    if (type === "binary") bytes += chunk.uncompressedBytes;
    // A dictionary's texts, two bytes a unit; a chunk without a dictionary may hold a different one in each row.
    if (type === "string") bytes += 2 * chunk.uncompressedBytes;
  }
  return bytes;
}

function readingBytes(
  chunks: readonly ColumnChunk[],
  rows: number,
  columns: readonly ColumnDefinition[],
): number {
  let fileBytes = 0;
  let most = 0;
  for (const { type, chunk } of columnsRead(chunks, rows, columns)) {
    fileBytes += chunk.compressedBytes;
    const hasTexts = type === "string" && chunk.dictionaryPageOffset === null;
    const values = rows * (hasTexts ? READING_TEXT_BYTES : READING_BYTES[type]);
    // Its bytes once more as they are in the file, and as pages give them.
    const bytes = chunk.compressedBytes + chunk.uncompressedBytes;
    most = Math.max(most, values + bytes);
  }
  return fileBytes + most;
}

/** The table's columns that have a value in the row group. */
function columnsRead(
  chunks: readonly ColumnChunk[],
  rows: number,
  columns: readonly ColumnDefinition[],
): { readonly type: ColumnDefinition["type"]; readonly chunk: ColumnChunk }[] {
  const byName = new Map(chunks.map((chunk) => [chunk.field.path.join("."), chunk]));
  return columns.flatMap(({ name, type }) => {
    const chunk = byName.get(name);
    return chunk === undefined || isAllNull(chunk, rows) ? [] : [{ type, chunk }];
  });
}
