import { oneLine } from "./printable.ts";

/** Longest cell shown: a frame or a long comment must not push the other columns away. */
const WIDEST = 60;

/** Rows under their column names, aligned: numbers to the right. */
export function textTable(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map((row) => row.map(cellText));
  const widths = names.map((name) => name.length);
  // No spread over the rows: arguments of a call are limited to some 100,000.
  for (const row of cells) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  const numeric = names.map((_, i) =>
    rows.every((row) => row[i] === null || /^-?[\d.]+$/.test(String(row[i]))),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (numeric[i] ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return `${[line(names), rule, ...cells.map(line)].join("\n")}\n`;
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = oneLine(typeof value === "object" ? JSON.stringify(value) : String(value));
  return text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;
}
