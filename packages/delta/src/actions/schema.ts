import type { ColumnDefinition, ColumnType, TableSchema } from "@deltacap/parquet";
import { TableRefusedError } from "../errors.ts";
import type { Metadata } from "./actions.ts";
import { parseJson, stringifyJson } from "./json.ts";

/** A field of a Delta schema string (Delta protocol, "Schema Serialization Format"). */
export interface SchemaField {
  readonly name: string;
  readonly type: unknown;
  readonly nullable: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The table's `schemaString`. Every column is nullable: the schema grows, and old files lack what is new. */
export function schemaString(schema: TableSchema): string {
  return JSON.stringify({ type: "struct", fields: schema.columns.map(fieldOf) });
}

function fieldOf(column: ColumnDefinition): SchemaField {
  return { name: column.name, type: column.type, nullable: true, metadata: { comment: column.meaning } };
}

/** Fields of a `schemaString` that another writer may have made. Throws `TableRefusedError` where there are none. */
export function schemaFields(text: string): SchemaField[] {
  let fields: unknown;
  try {
    fields = (parseJson(text) as { fields?: unknown } | null)?.fields;
  } catch {
    // Refused below.
  }
  if (Array.isArray(fields) && fields.every(isField)) return fields;
  throw new TableRefusedError(
    `the table's schemaString cannot be read: ${text.slice(0, 80)}; nothing was written`,
  );
}

function isField(value: unknown): value is SchemaField {
  return typeof value === "object" && value !== null && "name" in value && typeof value.name === "string";
}

/** How the table's schema relates to the one that our files have. */
export type SchemaUnion =
  | { readonly kind: "same" }
  /** The table's metadata with our new columns at its end. */
  | { readonly kind: "wider"; readonly metadata: Metadata }
  | { readonly kind: "conflict"; readonly reason: string };

/**
 * Additive evolution only: columns that the table lacks are added, a column of another type is a conflict, unless it was ours
 * once and was widened since (Delta protocol, "Type Widening"): a reader of such a table takes files of both types, and
 * nothing in the log tells it which of them a file has.
 */
export function schemaUnion(metadata: Metadata, ours: TableSchema): SchemaUnion {
  const fields = schemaFields(metadata.schemaString);
  // To Delta, names that differ in case only are the same; to a Parquet reader they need not be.
  const known = new Map(fields.map((field) => [field.name.toLowerCase(), field]));
  const missing: ColumnDefinition[] = [];
  for (const column of ours.columns) {
    const field = known.get(column.name.toLowerCase());
    if (field === undefined) missing.push(column);
    else if (field.name !== column.name || !isTypeOf(field, column.type)) {
      const theirs = `${field.name} ${stringifyJson(field.type)}`;
      return {
        kind: "conflict",
        reason: `column ${theirs} of the table is ${column.name} "${column.type}" in our files`,
      };
    }
  }
  return missing.length === 0
    ? { kind: "same" }
    : { kind: "wider", metadata: widened(metadata, fields, missing) };
}

/** Whether files of ours have the column in a type that the table's readers take: its own, or one that was widened since. */
export function isTypeOf(field: SchemaField, ours: ColumnType): boolean {
  return field.type === ours || isWidened(field, ours);
}

function isWidened(field: SchemaField, from: string): boolean {
  const changes = field.metadata?.["delta.typeChanges"];
  // With a path, it is the type of something within the column that changed.
  const isFrom = (change: { fromType?: unknown; fieldPath?: unknown } | null) =>
    change?.fromType === from && change.fieldPath === undefined;
  return Array.isArray(changes) && changes.some(isFrom);
}

const STATISTICS_COLUMNS = "delta.dataSkippingStatsColumns";

function widened(
  metadata: Metadata,
  fields: readonly SchemaField[],
  missing: readonly ColumnDefinition[],
): Metadata {
  const schemaString = stringifyJson({ type: "struct", fields: [...fields, ...missing.map(fieldOf)] });
  const before = metadata.configuration[STATISTICS_COLUMNS];
  const added = missing.filter((column) => column.statistics).map((column) => column.name);
  const configuration =
    before === undefined
      ? metadata.configuration
      : { ...metadata.configuration, [STATISTICS_COLUMNS]: [before, ...added].join(",") };
  // Some writers give nulls, which an action of ours has nowhere but in partition values.
  const given = Object.entries(metadata).filter(([, value]) => value !== null);
  return { ...(Object.fromEntries(given) as unknown as Metadata), schemaString, configuration };
}
