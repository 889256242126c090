import { join } from "node:path";
import type { Add, Metadata, ObjectStore } from "@deltacap/delta";
import { hasDeletionVector, objectPath, schemaFields, TableRefusedError } from "@deltacap/delta";
import type { DuckDBConnection } from "@duckdb/node-api";
import { identityProblem } from "../../src/commit/table-identity.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import { NULL_PARTITION, statesPartition } from "../../src/packets/partition-folder.ts";
import { createDeletedRows } from "./deleted-rows.ts";
import { duckdbType, identifier, quoted } from "./duckdb-types.ts";

type File = Pick<Add, "path" | "size" | "partitionValues" | "deletionVector">;

/** What the view is made of. */
interface Table {
  readonly folder: string;
  /** DuckDB's type of each column by name, in the table's order. */
  readonly types: ReadonlyMap<string, string>;
  readonly partitionColumns: readonly string[];
}

/**
 * A DuckDB connection in memory with the view `packets` of these files in the folder; their deletion vectors are in the store. The
 * view has the columns of the table's own schema, whoever added them; a packets table also has those that it has yet to get.
 * Close the connection after use. Throws `TableRefusedError` for a column of an unknown type, and for a partition value that is not of its
 * column's type.
 */
export async function packetsOf(
  folder: string,
  files: readonly File[],
  store: ObjectStore,
  metadata: Metadata,
): Promise<DuckDBConnection> {
  const table = { folder, types: columnTypes(metadata), partitionColumns: metadata.partitionColumns };
  // Only here: loading it takes 0.3 s of processor time, and most commands do not need it.
  const { DuckDBConnection } = await import("@duckdb/node-api");
  const connection = await DuckDBConnection.create();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    await requirePartitionValues(connection, table, files);
    const withVector = files.filter(hasDeletionVector);
    if (withVector.length > 0)
      await createDeletedRows(connection, store, withVector, (file) => place(folder, file));
    await connection.run(`CREATE VIEW packets AS ${selection(table, files)}`);
    return connection;
  } catch (error) {
    connection.closeSync();
    throw error;
  }
}

function columnTypes(metadata: Metadata): Map<string, string> {
  const types = new Map<string, string>();
  for (const { name, type } of schemaFields(metadata.schemaString)) types.set(name, duckdbType(type, name));
  if (identityProblem(metadata, packetTable) !== null) return types;
  for (const { name, type } of packetTable.columns)
    if (!types.has(name)) types.set(name, duckdbType(type, name));
  return types;
}

function place(folder: string, { path }: File): string {
  return join(folder, objectPath(path));
}

/** Every column by name and type, so that a file from before a column was added gives nulls for it. */
function selection(table: Table, files: readonly File[]): string {
  const columns = [...table.types];
  const typed = columns.map(([name, type]) => `NULL::${type} AS ${identifier(name)}`);
  const whole = files.filter((file) => !hasDeletionVector(file));
  const withVector = files.filter(hasDeletionVector);
  // By name with the columns themselves: perhaps no file has the newest of them.
  const parts = [`SELECT ${typed.join(", ")} WHERE false`];
  if (whole.length > 0) parts.push(rowsOf(table, whole));
  if (withVector.length > 0) parts.push(liveRowsOf(table, withVector));
  // A file may have a narrower type than the table, or a timestamp without its zone.
  const cast = columns.map(([name, type]) => `${identifier(name)}::${type} AS ${identifier(name)}`);
  return `SELECT ${cast.join(", ")} FROM (${parts.join(" UNION ALL BY NAME ")})`;
}

/**
 * Rows of the files with the partition values that the log tells. Where the path says the same, and no folder above the table looks
 * like another partition, DuckDB takes the values from the path: it then opens only the files of the dates that a query asks for, and
 * plans thousands of dates fast. Other files are read by themselves, those of the same values together.
 */
function rowsOf(table: Table, files: readonly File[], options = ""): string {
  const { folder, partitionColumns } = table;
  const groups = new Map<string | null, File[]>();
  for (const file of files) {
    const inPath =
      partitionColumns.length > 0 &&
      statesPartition(place(folder, file), partitionColumns, file.partitionValues);
    const values = inPath ? null : partitionSelection(table, file);
    const group = groups.get(values);
    if (group === undefined) groups.set(values, [file]);
    else group.push(file);
  }
  const scan = (some: readonly File[], hive: string) => {
    const paths = some.map((file) => quoted(literalPath(place(folder, file)))).join(", ");
    return `read_parquet([${paths}], union_by_name = true, ${hive}${options})`;
  };
  // As text, since DuckDB reads the null partition's folder name as a value.
  const hiveTypes = partitionColumns.map((name) => `${quoted(name)}: VARCHAR`).join(", ");
  const hive = `hive_partitioning = true, hive_types = {${hiveTypes}}`;
  const parts = [...groups].map(([values, group]) =>
    values === null
      ? `SELECT * REPLACE (${partitionColumns.map((name) => valueInPath(table, name)).join(", ")}) FROM ${scan(group, hive)}`
      : `SELECT ${values} FROM ${scan(group, "hive_partitioning = false")}`,
  );
  return parts.join(" UNION ALL BY NAME ");
}

function valueInPath({ types }: Table, name: string): string {
  const column = identifier(name);
  return `(CASE WHEN ${column} = '${NULL_PARTITION}' THEN NULL ELSE ${column} END)::${types.get(name)} AS ${column}`;
}

/** The file's own columns, and the partition values of the log: an empty one is null, as Delta's protocol has it. */
function partitionSelection({ types }: Table, { partitionValues }: File): string {
  const partitioned = [...types].filter(([name]) => Object.hasOwn(partitionValues, name));
  if (partitioned.length === 0) return "*";
  const names = partitioned.map(([name]) => quoted(name)).join(", ");
  const values = partitioned.map(
    ([name, type]) => `${partitionLiteral(partitionValues[name], type)} AS ${identifier(name)}`,
  );
  return `COLUMNS(c -> c NOT IN (${names})), ${values.join(", ")}`;
}

function partitionLiteral(value: string | null | undefined, type: string): string {
  if (value === null || value === "" || value === undefined) return `NULL::${type}`;
  return type === "BLOB" ? `encode(${quoted(value)})` : `${quoted(value)}::${type}`;
}

/** Refuses a value that would otherwise fail each query that comes across it, or only some. */
async function requirePartitionValues(
  connection: DuckDBConnection,
  { types, partitionColumns }: Table,
  files: readonly File[],
): Promise<void> {
  for (const column of partitionColumns) {
    const type = types.get(column);
    if (type === undefined)
      throw new TableRefusedError(`the table's partition column ${column} is not in its schema`);
    if (type === "VARCHAR" || type === "BLOB") continue;
    const values = [...new Set(files.flatMap(({ partitionValues }) => partitionValues[column] || []))];
    if (values.length === 0) continue;
    const rows = values.map((value) => `(${quoted(value)})`).join(", ");
    const wrong = await connection.runAndReadAll(
      `SELECT v FROM (VALUES ${rows}) AS stated(v) WHERE TRY_CAST(v AS ${type}) IS NULL LIMIT 1`,
    );
    const [value] = wrong.getRowsJson()[0] ?? [];
    if (value === undefined) continue;
    const file = files.find(({ partitionValues }) => partitionValues[column] === value);
    throw new TableRefusedError(
      `the log states ${column} = ${JSON.stringify(value)} for the file ${file?.path}, which is not of the column's type ${type}. Remove that file from the table with the engine that added it, or restore an earlier version`,
    );
  }
}

/** DuckDB takes every path for a pattern: in brackets a special character means itself. */
function literalPath(path: string): string {
  return path.replaceAll(/[*?[]/g, "[$&]");
}

/** The rows that the files' deletion vectors leave: see `createDeletedRows`. */
function liveRowsOf(table: Table, files: readonly File[]): string {
  const rows = rowsOf(table, files, ", filename = 'deltacap_file', file_row_number = true");
  return `SELECT * EXCLUDE (deltacap_file, file_row_number, deltacap_of, deltacap_bits) FROM (${rows}) JOIN deltacap.deleted_rows ON deltacap_of = deltacap_file WHERE get_bit(deltacap_bits, file_row_number::INTEGER) = 0`;
}
