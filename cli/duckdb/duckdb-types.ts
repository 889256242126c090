import { TableRefusedError } from "@deltacap/delta";

/** DuckDB's name of each primitive type of Delta (Delta protocol, "Primitive Types"). */
const PRIMITIVE_TYPES: Readonly<Record<string, string>> = {
  string: "VARCHAR",
  long: "BIGINT",
  integer: "INTEGER",
  short: "SMALLINT",
  byte: "TINYINT",
  float: "FLOAT",
  double: "DOUBLE",
  boolean: "BOOLEAN",
  binary: "BLOB",
  date: "DATE",
  timestamp: "TIMESTAMPTZ",
  timestamp_ntz: "TIMESTAMP",
};
/** With two numbers in parentheses, precision and scale. */
const DECIMAL = /^decimal\((\d{1,2}),\s*(\d{1,2})\)$/;
/** Levels of structs, arrays and maps. Types of real tables have a few. */
const MAX_DEPTH = 100;

type Type = Readonly<Record<string, unknown>>;

/**
 * The DuckDB type of a column of type `type`, in the words of a Delta schema. Throws `TableRefusedError` for a type that is not
 * known, naming the column.
 */
export function duckdbType(type: unknown, column: string): string {
  return typeAt(type, column, 0);
}

function typeAt(type: unknown, column: string, depth: number): string {
  if (depth > MAX_DEPTH) throw unknown(column, "a type nested too deep");
  if (typeof type === "string") {
    const decimal = DECIMAL.exec(type);
    if (decimal !== null) return `DECIMAL(${decimal[1]}, ${decimal[2]})`;
    const primitive = Object.hasOwn(PRIMITIVE_TYPES, type) ? PRIMITIVE_TYPES[type] : undefined;
    if (primitive === undefined) throw unknown(column, `the type ${type.slice(0, MAX_DEPTH)}`);
    return primitive;
  }
  const { type: kind, fields, elementType, keyType, valueType } = (type ?? {}) as Type;
  const nested = (inner: unknown) => typeAt(inner, column, depth + 1);
  if (kind === "array") return `${nested(elementType)}[]`;
  if (kind === "map") return `MAP(${nested(keyType)}, ${nested(valueType)})`;
  if (kind !== "struct" || !Array.isArray(fields) || fields.length === 0) {
    throw unknown(column, "a type that is not understood");
  }
  const members = (fields as Type[]).map(
    (field) => `${identifier(String(field?.name))} ${nested(field?.type)}`,
  );
  return `STRUCT(${members.join(", ")})`;
}

function unknown(column: string, what: string): TableRefusedError {
  return new TableRefusedError(
    `the table's column ${column} has ${what}, which deltacap cannot read. Read the table with Spark, or with DuckDB's delta extension`,
  );
}

/** A name in SQL: a column's, or a struct's field's. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A SQL string literal. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
