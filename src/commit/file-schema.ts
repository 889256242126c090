import type { ObjectStore } from "@deltacap/delta";
import { RetryableError } from "@deltacap/delta";
import type { ColumnType, TableSchema } from "@deltacap/parquet";
import { DamagedParquetError, isFlat, openParquet, type ParquetField } from "@deltacap/parquet";
import type { DataFile } from "../manifest/manifest.ts";
import type { FileCheck } from "./plan.ts";

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
    if (error instanceof DamagedParquetError) return error.message;
    throw error;
  }
}

async function fileProblem(file: DataFile, table: ObjectStore, schema: TableSchema): Promise<string | null> {
  const { path: name, size } = file;
  const read = async (start: number, length: number): Promise<Uint8Array> => {
    const bytes = await table.read(name, { start, length });
    if (bytes === null) throw new RetryableError(`${name} was there a moment ago, and is gone now`);
    return bytes;
  };
  const { rows, fields } = (await openParquet({ name, size, read })).footer;
  if (rows !== file.rows) return `${name} has ${rows} rows, and its manifest says ${file.rows}`;
  const columns = new Map(schema.columns.map((column) => [column.name, column.type]));
  columns.delete(schema.partitionColumn);
  for (const field of fields) {
    const expected = columns.get(field.name);
    if (!isFlat(field)) return `${name} has the nested column ${field.name}, and the table has none`;
    if (expected === undefined) return `${name} has the column ${field.name}, and the table has none`;
    const found = columnType(field);
    if (found !== expected) {
      return `column ${field.name} of ${name} is ${found ?? field.physical}, and the table's is ${expected}`;
    }
  }
  return null;
}

/** The Delta type that a Parquet column is read as; null for one that we never write. */
function columnType(field: ParquetField): ColumnType | null {
  const { physical, converted, logical } = field;
  const plain = logical === null && converted === null;
  switch (physical) {
    case "BOOLEAN":
      return "boolean";
    case "INT32":
      return plain || isSigned(field, 32) ? "integer" : null;
    case "INT64":
      if (logical?.type === "TIMESTAMP") return logical.isAdjustedToUtc ? "timestamp" : null;
      if (converted === "TIMESTAMP_MICROS") return "timestamp";
      return plain || isSigned(field, 64) ? "long" : null;
    case "BYTE_ARRAY":
      if (logical?.type === "STRING" || converted === "UTF8") return "string";
      return plain ? "binary" : null;
    default:
      return null;
  }
}

function isSigned({ converted, logical }: ParquetField, bits: 32 | 64): boolean {
  if (logical?.type === "INTEGER") return logical.isSigned && logical.bitWidth === bits;
  return converted === `INT_${bits}`;
}
