import { parquetMetadataAsync, type SchemaElement } from "hyparquet";
import type { ColumnType, TableSchema } from "../columns/table-schema.ts";
import { RetryableError } from "../errors.ts";
import type { DataFile } from "../manifest/manifest.ts";
import type { ObjectStore } from "../manifest/object-store.ts";
import type { FileCheck } from "../manifest/plan.ts";

/** A footer of 70 columns and some row groups fits; a larger one costs a second read. */
const FOOTER_BYTES = 128 * 1024;

/**
 * Whether a file holds columns of the table only, in their types, and as many rows as its manifest says. A file may lack
 * columns: an older converter wrote it. Cost: one read of the file's end.
 *
 * A problem ends the manifest's life, so the file is read a second time. Where the readings differ, one reply was wrong: that throws
 * `RetryableError`.
 */
export function parquetFileCheck(table: ObjectStore, schema: TableSchema): FileCheck {
  return async (file) => {
    const first = await reading(file, table, schema);
    if (first === null) return null;
    const second = await reading(file, table, schema);
    if (first === second) return first;
    throw new RetryableError(
      `two readings of ${file.path} disagree: "${first}", then ${second === null ? "no problem" : `"${second}"`}; it is tried again by the next run`,
    );
  };
}

async function reading(file: DataFile, table: ObjectStore, schema: TableSchema): Promise<string | null> {
  try {
    return await fileProblem(file, table, schema);
  } catch (error) {
    if (error instanceof RetryableError) throw error;
    return `${file.path} is no Parquet file: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function fileProblem(file: DataFile, table: ObjectStore, schema: TableSchema): Promise<string | null> {
  const slice = async (start: number, end = file.size): Promise<ArrayBuffer> => {
    const bytes = await table.read(file.path, { start, length: end - start });
    if (bytes === null) throw new RetryableError(`${file.path} was there a moment ago, and is gone now`);
    return Uint8Array.from(bytes).buffer;
  };
  const metadata = await parquetMetadataAsync(
    { byteLength: file.size, slice },
    { initialFetchSize: Math.min(file.size, FOOTER_BYTES) },
  );
  if (metadata.num_rows !== BigInt(file.rows)) {
    return `${file.path} has ${metadata.num_rows} rows, and its manifest says ${file.rows}`;
  }
  const [root, ...elements] = metadata.schema;
  if (root?.num_children !== elements.length)
    return `${file.path} has nested columns, and the table has none`;
  const columns = new Map(schema.columns.map((column) => [column.name, column.type]));
  columns.delete(schema.partitionColumn);
  for (const element of elements) {
    const expected = columns.get(element.name);
    const found = columnType(element);
    if (expected === undefined) return `${file.path} has the column ${element.name}, and the table has none`;
    if (found !== expected) {
      return `column ${element.name} of ${file.path} is ${found ?? element.type}, and the table's is ${expected}`;
    }
  }
  return null;
}

/** The Delta type that a Parquet column is read as; null for one that we never write. */
function columnType(element: SchemaElement): ColumnType | null {
  const { type, converted_type, logical_type } = element;
  const plain = logical_type === undefined && converted_type === undefined;
  switch (type) {
    case "BOOLEAN":
      return "boolean";
    case "INT32":
      return plain || isSigned(element, 32) ? "integer" : null;
    case "INT64":
      if (logical_type?.type === "TIMESTAMP") return logical_type.isAdjustedToUTC ? "timestamp" : null;
      if (converted_type === "TIMESTAMP_MICROS") return "timestamp";
      return plain || isSigned(element, 64) ? "long" : null;
    case "BYTE_ARRAY":
      if (logical_type?.type === "STRING" || converted_type === "UTF8") return "string";
      return plain ? "binary" : null;
    default:
      return null;
  }
}

function isSigned({ converted_type, logical_type }: SchemaElement, bits: 32 | 64): boolean {
  if (logical_type?.type === "INTEGER") return logical_type.isSigned && logical_type.bitWidth === bits;
  return converted_type === `INT_${bits}`;
}
