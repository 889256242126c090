import type { Column, ColumnDefinition, ColumnType, RowGroup } from "@deltacap/parquet";

/** A value as a reader gives it back: microseconds for a timestamp. */
export type Value = number | bigint | boolean | string | Uint8Array | null;

/** Rows of one row group, column by column. */
export type GroupValues = readonly (readonly Value[])[];

export function definition(name: string, type: ColumnType, statistics = true): ColumnDefinition {
  return { name, type, meaning: "", statistics };
}

/** What lies in arrays where a row is null, and in the bitmap behind the last row: a writer must not look at it. */
const GARBAGE = 0x5a5a5a5a;

/** The row group that has these values. */
export function rowGroup(columns: readonly ColumnDefinition[], values: GroupValues): RowGroup {
  return {
    rows: values[0]?.length ?? 0,
    columns: columns.map((column, i) => columnOf(column.type, values[i]!)),
  };
}

function columnOf(type: ColumnType, values: readonly Value[]): Column {
  const validity = validityOf(values);
  switch (type) {
    case "integer":
      return {
        kind: type,
        values: Int32Array.from(values, (value) => (value ?? GARBAGE) as number),
        ...validity,
      };
    case "long":
    case "timestamp":
      return {
        kind: type,
        values: BigInt64Array.from(values, (value) => (value ?? BigInt(GARBAGE)) as bigint),
        ...validity,
      };
    case "boolean":
      return {
        kind: type,
        values: Uint8Array.from(values, (value, i) => Number(value ?? i % 2 === 0)),
        ...validity,
      };
    case "string":
      return { kind: type, ...dictionaryOf(values), ...validity };
    case "binary":
      return { kind: type, ...bytesOf(values), ...validity };
    case "date":
      throw new Error("no column of a file has the type date");
  }
}

function validityOf(values: readonly Value[]): { nullCount: number; bitmap: Uint8Array | null } {
  const nullCount = values.filter((value) => value === null).length;
  if (nullCount === 0) return { nullCount, bitmap: null };
  const bitmap = new Uint8Array((values.length + 7) >> 3);
  values.forEach((value, i) => {
    if (value !== null) bitmap[i >> 3]! |= 1 << (i & 7);
  });
  for (let i = values.length; i < bitmap.length * 8; i++) bitmap[i >> 3]! |= 1 << (i & 7);
  return { nullCount, bitmap };
}

function dictionaryOf(values: readonly Value[]): { codes: Int32Array; dictionary: string[] } {
  const known = new Map<string, number>();
  const codes = Int32Array.from(values, (value) => {
    if (value === null) return -1;
    const text = value as string;
    const code = known.get(text) ?? known.size;
    known.set(text, code);
    return code;
  });
  return { codes, dictionary: [...known.keys()] };
}

function bytesOf(values: readonly Value[]): { bytes: Uint8Array; offsets: Int32Array } {
  const offsets = new Int32Array(values.length + 1);
  values.forEach((value, i) => {
    offsets[i + 1] = offsets[i]! + ((value as Uint8Array | null)?.length ?? 0);
  });
  const bytes = new Uint8Array(offsets[values.length]!);
  values.forEach((value, i) => {
    if (value !== null) bytes.set(value as Uint8Array, offsets[i]!);
  });
  return { bytes, offsets };
}
