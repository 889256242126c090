import type { DuckDBConnection } from "@duckdb/node-api";

/** Rows and, for each column, how many values there are and what they sum up to. */
export interface ColumnSums {
  readonly rows: string;
  readonly columns: ReadonlyMap<string, string>;
}

/**
 * Sums of every column of a relation (a DuckDB table expression): numbers and times by value, texts and bytes by hash. Column
 * order does not matter, nor does the order of rows.
 */
export async function columnSums(connection: DuckDBConnection, relation: string): Promise<ColumnSums> {
  const described = await connection.runAndReadAll(`describe select * from ${relation}`);
  const columns = described.getRows().map(([name, type]) => ({ name: String(name), type: String(type) }));
  const sums = columns.map(
    ({ name, type }) => `count("${name}") || ' values, sum ' || coalesce(sum(${asNumber(name, type)}), 0)`,
  );
  const found = await connection.runAndReadAll(`select count(*), ${sums.join(", ")} from ${relation}`);
  const [rows, ...values] = (found.getRows()[0] ?? []).map(String);
  return {
    rows: rows ?? "0",
    columns: new Map(columns.map(({ name }, i) => [name, values[i] ?? ""])),
  };
}

function asNumber(name: string, type: string): string {
  if (type.startsWith("TIMESTAMP")) return `epoch_us("${name}")`;
  if (type === "VARCHAR" || type === "BLOB") return `hash("${name}")`;
  return `"${name}"::HUGEINT`;
}

/** What differs, a line each; only columns that `theirs` has are compared. */
export function differences(ours: ColumnSums, theirs: ColumnSums): string[] {
  const lines = ours.rows === theirs.rows ? [] : [`rows: ${ours.rows} and ${theirs.rows}`];
  for (const [name, sum] of theirs.columns) {
    const own = ours.columns.get(name);
    if (own !== sum) lines.push(`${name}: ${own ?? "no such column"} and ${sum}`);
  }
  return lines;
}
