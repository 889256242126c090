import type { Column, RowGroup } from "@deltacap/parquet";

/** A column's values as a reader takes them: null by the bitmap alone, strings by the dictionary, bytes as arrays. */
export function valuesOf(column: Column): unknown[] {
  const rows = column.kind === "string" ? column.codes.length : lengthOf(column);
  return Array.from({ length: rows }, (_, row) => (isNull(column, row) ? null : present(column, row)));
}

/** Rows as objects by column name. */
export function rowsOf(group: RowGroup, names: readonly string[]): Record<string, unknown>[] {
  const columns = group.columns.map(valuesOf);
  return Array.from({ length: group.rows }, (_, row) =>
    Object.fromEntries(names.map((name, i) => [name, columns[i]?.[row]])),
  );
}

function lengthOf(column: Exclude<Column, { kind: "string" }>): number {
  return column.kind === "binary" ? column.offsets.length - 1 : column.values.length;
}

function isNull({ bitmap }: Column, row: number): boolean {
  return bitmap !== null && ((bitmap[row >> 3] ?? 0) & (1 << (row & 7))) === 0;
}

function present(column: Column, row: number): unknown {
  if (column.kind === "string") return column.dictionary[column.codes[row] ?? -1];
  if (column.kind !== "binary") return column.values[row];
  return [...column.bytes.subarray(column.offsets[row], column.offsets[row + 1])];
}
