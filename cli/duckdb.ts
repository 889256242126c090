import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { packetTable } from "../src/columns/packet-table.ts";
import type { ColumnType } from "../src/columns/table-schema.ts";
import type { Add } from "../src/delta/actions.ts";
import { hasDeletionVector } from "../src/delta/deletion-vector.ts";
import { objectPath } from "../src/delta/object-path.ts";
import type { ObjectStore } from "../src/manifest/object-store.ts";
import { createDeletedRows } from "./deleted-rows.ts";

const duckdbTypes: Readonly<Record<ColumnType, string>> = {
  date: "DATE",
  string: "VARCHAR",
  long: "BIGINT",
  integer: "INTEGER",
  boolean: "BOOLEAN",
  timestamp: "TIMESTAMPTZ",
  binary: "BLOB",
};

type File = Pick<Add, "path" | "size" | "partitionValues" | "deletionVector">;

/**
 * A DuckDB connection in memory where the view `packets` is of these files in the folder; their deletion vectors are in the store.
 * Close it after use.
 */
export async function packetsOf(
  folder: string,
  files: readonly File[],
  store: ObjectStore,
): Promise<DuckDBConnection> {
  // Only here: loading it takes 0.3 s of processor time, and most commands do not need it.
  const { DuckDBConnection } = await import("@duckdb/node-api");
  const connection = await DuckDBConnection.create();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const withVector = files.filter(hasDeletionVector);
    if (withVector.length > 0)
      await createDeletedRows(connection, store, withVector, (file) => place(folder, file));
    await connection.run(`CREATE VIEW packets AS ${selection(folder, files)}`);
    return connection;
  } catch (error) {
    connection.closeSync();
    throw error;
  }
}

function place(folder: string, { path }: File): string {
  return join(folder, objectPath(path));
}

/** Every column by name and type, so that a file from before a column was added gives nulls for it. */
function selection(folder: string, files: readonly File[]): string {
  const typed = packetTable.columns.map(({ name, type }) => `NULL::${duckdbTypes[type]} AS ${name}`);
  const whole = files.filter((file) => !hasDeletionVector(file));
  const withVector = files.filter(hasDeletionVector);
  // By name with the columns themselves: perhaps no file has the newest of them.
  const parts = [`SELECT ${typed.join(", ")} WHERE false`];
  if (whole.length > 0) parts.push(rowsOf(folder, whole));
  if (withVector.length > 0) parts.push(liveRowsOf(folder, withVector));
  const names = packetTable.columns.map(({ name }) => name);
  return `SELECT ${names.join(", ")} FROM (${parts.join(" UNION ALL BY NAME ")})`;
}

// As text, since DuckDB reads the null partition's folder name as a value.
const DATE = "(CASE WHEN date = '__HIVE_DEFAULT_PARTITION__' THEN NULL ELSE date END)::DATE AS date";

/**
 * Rows of the files with the partition values that the log tells. Where the path says the same, and no folder above the table looks
 * like another partition, DuckDB takes the date from the path: it then opens only the files of the dates that a query asks for, and
 * plans thousands of dates fast. Other files are read by themselves, a date's together.
 */
function rowsOf(folder: string, files: readonly File[], options = ""): string {
  const groups = new Map<string | null, File[]>();
  for (const file of files) {
    const values = isDateFolder(folder, file) ? null : partitionSelection(file);
    const group = groups.get(values);
    if (group === undefined) groups.set(values, [file]);
    else group.push(file);
  }
  const scan = (some: readonly File[], hive: string) => {
    const paths = some.map((file) => quoted(literalPath(place(folder, file)))).join(", ");
    return `read_parquet([${paths}], union_by_name = true, ${hive}${options})`;
  };
  const parts = [...groups].map(([values, group]) =>
    values === null
      ? `SELECT * REPLACE (${DATE}) FROM ${scan(group, "hive_partitioning = true, hive_types = {'date': VARCHAR}")}`
      : `SELECT ${values} FROM ${scan(group, "hive_partitioning = false")}`,
  );
  return parts.join(" UNION ALL BY NAME ");
}

/** Whether the file's path has exactly one `column=value`, and that is the date that the log tells. */
function isDateFolder(folder: string, file: File): boolean {
  const { date, ...others } = file.partitionValues;
  if (date === undefined || Object.keys(others).length > 0) return false;
  const segments = place(folder, file).split(/[/\\]/);
  const values = segments.filter((segment) => segment.includes("="));
  const expected = `date=${date === null || date === "" ? "__HIVE_DEFAULT_PARTITION__" : date}`;
  return values.length === 1 && values[0] === expected && segments.at(-1) !== expected;
}

/** The file's own columns, and the partition values of the log: an empty one is null, as Delta's protocol has it. */
function partitionSelection({ partitionValues }: File): string {
  const partitioned = packetTable.columns.filter(({ name }) => partitionValues[name] !== undefined);
  if (partitioned.length === 0) return "*";
  const names = partitioned.map(({ name }) => quoted(name)).join(", ");
  const values = partitioned.map(({ name, type }) => {
    const value = partitionValues[name];
    return `${value === null || value === "" || value === undefined ? "NULL" : quoted(value)}::${duckdbTypes[type]} AS ${name}`;
  });
  return `COLUMNS(c -> c NOT IN (${names})), ${values.join(", ")}`;
}

/** DuckDB takes every path for a pattern: in brackets a special character means itself. */
function literalPath(path: string): string {
  return path.replaceAll(/[*?[]/g, "[$&]");
}

/** The rows that the files' deletion vectors leave: see `createDeletedRows`. */
function liveRowsOf(folder: string, files: readonly File[]): string {
  const rows = rowsOf(folder, files, ", filename = 'deltacap_file', file_row_number = true");
  return `SELECT * EXCLUDE (deltacap_file, file_row_number, deltacap_of, deltacap_bits) FROM (${rows}) JOIN deltacap.deleted_rows ON deltacap_of = deltacap_file WHERE get_bit(deltacap_bits, file_row_number::INTEGER) = 0`;
}

/** A SQL string literal. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
