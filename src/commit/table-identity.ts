import type { Metadata } from "@deltacap/delta";
import { isTypeOf, schemaFields, stringifyJson, TableRefusedError } from "@deltacap/delta";
import type { TableSchema } from "@deltacap/parquet";

/**
 * Table property that holds the name of the schema, such as `packets`. Tables get it when they are created, and older ones with
 * the next commit. Spark and delta-rs keep properties that they do not know.
 */
export const TABLE_PROPERTY = "deltacap.table";

/** Characters of another writer's text that a message shows. */
const MAX_SHOWN = 80;

/**
 * Refuses another table than one of `schema`, before anything is written or deleted. Everything that changes a table asks here,
 * since the folder that a user named may hold any Delta table.
 */
export function requireIdentity(metadata: Metadata, schema: TableSchema): void {
  const problem = identityProblem(metadata, schema);
  if (problem === null) return;
  const name = shown(metadata.name ?? metadata.id);
  throw new TableRefusedError(
    `the table ${name} is not a ${schema.name} table: ${problem}. Nothing was written or deleted. Use another folder: deltacap changes only tables that it created`,
  );
}

/**
 * Why the table is not one of `schema`; null where it is. A property of another name decides, and so do the identifying columns.
 * A table without the property is recognised by its columns: it was created before the property existed.
 */
export function identityProblem(metadata: Metadata, schema: TableSchema): string | null {
  const property = metadata.configuration[TABLE_PROPERTY];
  if (property !== undefined && property !== schema.name) {
    return `its property ${TABLE_PROPERTY} is ${shown(property)}`;
  }
  const fields = new Map(schemaFields(metadata.schemaString).map((field) => [field.name, field]));
  const identifying = schema.columns.filter(({ name }) => schema.identity.includes(name));
  const missing = identifying.filter(({ name }) => !fields.has(name)).map(({ name }) => name);
  if (missing.length > 0) return `it lacks columns ${missing.join(", ")}`;
  const wrong = identifying.flatMap(({ name, type }) => {
    const field = fields.get(name);
    return field === undefined || isTypeOf(field, type)
      ? []
      : [`${name} is ${shown(field.type)} instead of "${type}"`];
  });
  return wrong.length === 0 ? null : `of its columns ${wrong.join(", ")}`;
}

/** The metadata with the table's property: the same object where it has it already. */
export function withIdentity(metadata: Metadata, schema: TableSchema): Metadata {
  if (metadata.configuration[TABLE_PROPERTY] === schema.name) return metadata;
  const configuration = { ...metadata.configuration, [TABLE_PROPERTY]: schema.name };
  return { ...metadata, configuration };
}

function shown(value: unknown): string {
  const text = typeof value === "object" ? "struct, array or map" : stringifyJson(value);
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}...`;
}
