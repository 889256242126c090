/** Dates counted at once: 8 times as many as a capture's rows may be spread over, in half a megabyte. */
const MAX_COUNTED = 16_384;
/** A date keeps its rows where it has at least one row in so many of the capture's. */
const ROWS_PER_KEPT_ROW = 1_000;
/** And never fewer than these: a single row on a date of its own looks like a wrong clock. */
const MIN_ROWS = 2;

/**
 * Counts a capture's rows by day, to tell the days on which it was recorded from the times of a clock that was wrong.
 *
 * Memory is bounded: when more than {@link MAX_COUNTED} days have a count, each loses one and those at zero are forgotten (the
 * algorithm of Misra and Gries). A day's count is then too low by at most one in 16,384 rows, far below what decides. Work is
 * linear in the rows, in any order.
 */
export class DateCounts {
  readonly #counts = new Map<number, number>();
  #rows = 0;

  /** `day`: days since 1970. */
  add(day: number): void {
    this.#rows++;
    const count = this.#counts.get(day);
    if (count !== undefined) this.#counts.set(day, count + 1);
    else if (this.#counts.size < MAX_COUNTED) this.#counts.set(day, 1);
    else this.#lowerAll();
  }

  /** The `most` days with the most rows, those with too few rows left out. */
  kept(most: number): ReadonlySet<number> {
    const least = this.minRows;
    const days = [...this.#counts].filter(([, rows]) => rows >= least);
    // By number where they have as many rows: the same capture gives the same rows.
    days.sort(([a, rowsOfA], [b, rowsOfB]) => rowsOfB - rowsOfA || a - b);
    return new Set(days.slice(0, most).map(([day]) => day));
  }

  /** Rows that a date needs to be kept. */
  get minRows(): number {
    return Math.max(MIN_ROWS, Math.ceil(this.#rows / ROWS_PER_KEPT_ROW));
  }

  #lowerAll(): void {
    for (const [day, count] of this.#counts) {
      if (count === 1) this.#counts.delete(day);
      else this.#counts.set(day, count - 1);
    }
  }
}
