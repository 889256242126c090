import type { ColumnBuilder } from "./column-builder.ts";

/** Few, since a broken clock may give each packet a date, and so a batch, of its own. */
const FEWEST_ROWS = 64;
/** By doubling, a batch that passes a power of two by a few rows, as a full one does, would take up to twice its memory. */
const GROWTH = 1.5;

/**
 * Columns that a packet has together or not at all, as those of a protocol. Only rows that have them are stored to: what other
 * rows do not have costs them nothing, and a group that no row has takes no memory.
 */
export class ColumnGroup<Columns extends Readonly<Record<string, ColumnBuilder>>> {
  readonly columns: Columns;
  readonly #builders: readonly ColumnBuilder[];
  #capacity = 0;
  /** Behind the last row that was stored to. */
  #end = 0;

  constructor(columns: Columns) {
    this.columns = columns;
    this.#builders = Object.values(columns);
  }

  /** Memory of the columns' arrays, for rows stored to and for those that there is room for. */
  get memory(): number {
    return this.#capacity * this.#builders.reduce((sum, { rowBytes }) => sum + rowBytes, 0);
  }

  /** To be called before a row is stored to. */
  reach(row: number): void {
    if (row >= this.#capacity) this.#grow(row + 1);
    this.#end = row + 1;
  }

  /** False where rows from `from` on are null in every column; otherwise there is room for `to` rows, so that they can be taken. */
  hasRows(from: number, to: number): boolean {
    if (this.#end <= from) return false;
    if (to > this.#capacity) this.#grow(to);
    return true;
  }

  /** Forgets what was stored to rows from `row` on. */
  truncate(row: number): void {
    if (this.#end <= row) return;
    for (const builder of this.#builders) builder.setNull(row, this.#end);
    this.#end = row;
  }

  /** Forgets the first `count` rows: those behind them move to the front. */
  removeFirst(count: number): void {
    const end = this.#end;
    const left = Math.max(0, end - count);
    for (const builder of this.#builders) {
      if (left > 0) builder.removeFirst(count, end);
      builder.setNull(left, end);
    }
    this.#end = left;
  }

  #grow(rows: number): void {
    const capacity = Math.max(FEWEST_ROWS, rows, Math.ceil(GROWTH * this.#capacity));
    for (const builder of this.#builders) builder.ensureRows(capacity);
    this.#capacity = capacity;
  }
}
