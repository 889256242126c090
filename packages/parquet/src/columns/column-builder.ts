import type { Column } from "./row-group.ts";

/**
 * Builds one column. A row is written by storing into the builder's arrays (`values[row] = x`, or by `set` where a value takes
 * more than one store), after `ensureRows`; a row that is not stored to is a null, and so is ABSENT. Values are stored as a row
 * group has them, so that taking rows copies next to nothing; validity is made then, in one pass, instead of row by row.
 */
export interface ColumnBuilder {
  /** Memory that each row takes for which there is room. */
  readonly rowBytes: number;
  /** Makes room for `rows` rows in all. */
  ensureRows(rows: number): void;
  /** Rows `from` to `to` (exclusive) as a column; its arrays are valid until the next store or `take`. */
  take(from: number, to: number): Column;
  /** Forgets the first `count` of `rows` rows: those behind them move to the front. Cost: a copy of those. */
  removeFirst(count: number, rows: number): void;
  /** Makes rows `from` to `to` (exclusive) null again. */
  setNull(from: number, to: number): void;
}
