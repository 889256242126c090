import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { packetTable } from "../src/columns/packet-table.ts";
import type { ColumnType } from "../src/columns/table-schema.ts";
import { type LiveFile, readableFiles } from "./live-files.ts";
import type { LocalTable } from "./local-table.ts";

const duckdbTypes: Readonly<Record<ColumnType, string>> = {
  date: "DATE",
  string: "VARCHAR",
  long: "BIGINT",
  integer: "INTEGER",
  boolean: "BOOLEAN",
  timestamp: "TIMESTAMPTZ",
  binary: "BLOB",
};

/** A DuckDB connection in memory where the view `packets` is the table's newest version. Close it after use. */
export async function packetsView(table: LocalTable): Promise<DuckDBConnection> {
  return await packetsOf(table.folder, await readableFiles(table.log));
}

/** The same, where the view `packets` is of these files in the folder. */
export async function packetsOf(
  folder: string,
  files: readonly Pick<LiveFile, "path">[],
): Promise<DuckDBConnection> {
  // Only here: loading it takes 0.3 s of processor time, and most commands do not need it.
  const { DuckDBConnection } = await import("@duckdb/node-api");
  const connection = await DuckDBConnection.create();
  await connection.run("SET TimeZone = 'UTC'");
  await connection.run(`CREATE VIEW packets AS ${selection(folder, files)}`);
  return connection;
}

/** Every column by name and type, so that a file from before a column was added gives nulls for it. */
function selection(folder: string, files: readonly Pick<LiveFile, "path">[]): string {
  const typed = packetTable.columns.map(({ name, type }) => `NULL::${duckdbTypes[type]} AS ${name}`);
  const noRows = `SELECT ${typed.join(", ")} WHERE false`;
  if (files.length === 0) return noRows;
  const paths = files.map((file) => quoted(join(folder, file.path))).join(", ");
  // The partition column comes from the path; as text, since DuckDB reads the null partition's folder name as a value.
  const date = "CASE WHEN date = '__HIVE_DEFAULT_PARTITION__' THEN NULL ELSE date END";
  const rows = `SELECT * REPLACE ((${date})::DATE AS date) FROM read_parquet([${paths}], union_by_name = true, hive_partitioning = true, hive_types = {'date': VARCHAR})`;
  const names = packetTable.columns.map(({ name }) => name);
  // By name with the columns themselves: perhaps no file has the newest of them.
  return `SELECT ${names.join(", ")} FROM (${noRows} UNION ALL BY NAME ${rows})`;
}

/** A SQL string literal. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
