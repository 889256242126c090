/** Longest cell shown: a frame or a long comment must not push the other columns away. */
const WIDEST = 60;

/** Rows under their column names, aligned: numbers to the right. */
export function textTable(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map((row) => row.map(cellText));
  const widths = names.map((name, i) => Math.max(name.length, ...cells.map((row) => (row[i] ?? "").length)));
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
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;
}
