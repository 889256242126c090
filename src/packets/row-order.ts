import type { RowGroupSummary } from "@deltacap/delta";
import type { Column, ColumnDefinition, SparseRowGroup } from "@deltacap/parquet";
import { compareUtf8 } from "@deltacap/parquet";

/**
 * The columns by which rows lie in the table's files. The converter sorts captures by the first two and reads packets in order;
 * the source tells apart what one capture's name held at two times, and makes the order total.
 */
const KEY_COLUMNS = ["vehicle_id", "capture", "packet_number", "record_number", "source_id"];

/** Values of the key columns; null is the least value of each. */
export type RowKey = readonly (string | number | bigint | null)[];

/** The range in which a row group's keys lie. */
export interface KeyRange {
  /** No row's key is less. */
  readonly lower: RowKey;
  /** The first values of a key that no row's is greater than; as many as are known, none of them at worst. */
  readonly upper: RowKey;
}

/** Compares rows of a table's files by their keys. Columns that the table lacks do not count. */
export class RowOrder {
  readonly #indices: readonly number[];
  readonly #names: readonly string[];

  /** `columns` as a file has them. */
  constructor(columns: readonly ColumnDefinition[]) {
    const indices = new Map(columns.map(({ name }, i) => [name, i]));
    this.#names = KEY_COLUMNS.filter((name) => indices.has(name));
    this.#indices = this.#names.map((name) => indices.get(name)!);
  }

  keyOf(group: SparseRowGroup, row: number): RowKey {
    return this.#indices.map((index) => valueAt(group.columns[index] ?? null, row));
  }

  /** Of the row's key and a whole one. */
  compareToKey(group: SparseRowGroup, row: number, key: RowKey): number {
    for (const [i, index] of this.#indices.entries()) {
      const order = compareValues(valueAt(group.columns[index] ?? null, row), key[i] ?? null);
      if (order !== 0) return order;
    }
    return 0;
  }

  /** Of two rows of one group. */
  compareRows(group: SparseRowGroup, a: number, b: number): number {
    for (const index of this.#indices) {
      const column = group.columns[index] ?? null;
      if (column === null || (column.kind === "string" && column.codes[a] === column.codes[b])) continue;
      const order = compareValues(valueAt(column, a), valueAt(column, b));
      if (order !== 0) return order;
    }
    return 0;
  }

  /**
   * From the bounds of each column by itself: a key made of the least value of each column is at most any row's key, since
   * keys are compared from the first column on; likewise the greatest.
   */
  rangeOf({ rows, ranges }: RowGroupSummary): KeyRange {
    const lower: (string | number | bigint | null)[] = [];
    const upper: (string | number | bigint | null)[] = [];
    for (const [i, name] of this.#names.entries()) {
      const range = ranges.get(name);
      const allNull = range === undefined || range.nullCount === rows;
      lower.push(allNull || range.nullCount !== 0 ? null : range.min);
      if (upper.length < i) continue;
      if (allNull) upper.push(null);
      else if (range.max !== null) upper.push(range.max);
    }
    return { lower, upper };
  }
}

/** Of the columns that both have. */
export function compareKeys(a: RowKey, b: RowKey): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const order = compareValues(a[i] ?? null, b[i] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

function valueAt(column: Column | null, row: number): string | number | bigint | null {
  if (column === null) return null;
  const { bitmap } = column;
  if (bitmap !== null && ((bitmap[row >> 3]! >> (row & 7)) & 1) === 0) return null;
  if (column.kind === "string") return column.dictionary[column.codes[row]!] ?? null;
  return column.kind === "binary" ? null : (column.values[row] ?? null);
}

function compareValues(a: string | number | bigint | null, b: string | number | bigint | null): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  if (typeof a === "string" && typeof b === "string") return compareUtf8(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}
