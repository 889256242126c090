import { oneLine } from "./printable.ts";

/** Characters of a cell beyond which it no longer decides how wide its column is. */
const MAX_COLUMN_WIDTH = 60;

/**
 * Lays out rows under their column names: aligned, numbers to the right. Takes the rows in parts, so that a result of any
 * size passes through. The first part decides the widths; a longer cell that follows pushes its line to the right.
 */
export class TextTable {
  readonly #names: readonly string[];
  readonly #columns: number | null;
  #layout: Layout | null = null;

  /**
   * `columns` is the width of the terminal: rows that do not fit into it have their long cells cut. Null, as in a pipe, keeps
   * every value whole.
   */
  constructor(names: readonly string[], columns: number | null) {
    this.#names = names;
    this.#columns = columns;
  }

  /** Returns the lines of these rows, each with its line end; the first call puts the names above them. */
  lines(rows: readonly (readonly unknown[])[]): string {
    const cells = rows.map((row) => row.map(cellText));
    if (this.#layout !== null) return cells.map((row) => line(row, this.#layout!)).join("");
    const layout = layoutOf(this.#names, rows, cells, this.#columns);
    this.#layout = layout;
    const rule = layout.widths.map((width) => "-".repeat(width));
    return [this.#names, rule, ...cells].map((row) => line(row, layout)).join("");
  }
}

/** Returns all rows under their column names, each value whole. */
export function textTable(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return new TextTable(names, null).lines(rows);
}

interface Layout {
  readonly widths: readonly number[];
  readonly numeric: readonly boolean[];
  /** Characters that a cell may have. */
  readonly maxCell: number;
}

function layoutOf(
  names: readonly string[],
  rows: readonly (readonly unknown[])[],
  cells: readonly (readonly string[])[],
  columns: number | null,
): Layout {
  const widths = names.map((name) => name.length);
  // No spread over the rows: arguments of a call are limited to some 100,000.
  for (const row of cells) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  const whole = widths.reduce((sum, width) => sum + width + 2, -2);
  const numeric = names.map((_, i) =>
    rows.every((row) => row[i] === null || /^-?[\d.]+$/.test(String(row[i]))),
  );
  const fits = columns === null || whole <= columns;
  return {
    // A terminal that has room for the longest cell aligns by it.
    widths: columns !== null && fits ? widths : widths.map((width) => Math.min(width, MAX_COLUMN_WIDTH)),
    numeric,
    maxCell: fits ? Number.POSITIVE_INFINITY : MAX_COLUMN_WIDTH,
  };
}

function line(cells: readonly string[], { widths, numeric, maxCell }: Layout): string {
  const padded = cells.map((cell, i) => {
    const shown = cell.length > maxCell ? `${cell.slice(0, maxCell - 1)}…` : cell;
    return numeric[i] ? shown.padStart(widths[i] ?? 0) : shown.padEnd(widths[i] ?? 0);
  });
  return `${padded.join("  ").trimEnd()}\n`;
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return oneLine(typeof value === "object" ? JSON.stringify(value) : String(value));
}
