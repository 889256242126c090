import type { ColumnDefinition, TableSchema } from "../columns/table-schema.ts";

/** A field of a Delta schema string (Delta protocol, "Schema Serialization Format"). */
interface SchemaField {
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

/** Fields of a `schemaString` that another writer may have made. */
export function schemaFields(text: string): SchemaField[] {
  const parsed: unknown = JSON.parse(text);
  const fields = (parsed as { fields?: unknown }).fields;
  if (!Array.isArray(fields)) throw new Error(`a schemaString without fields: ${text.slice(0, 80)}`);
  return fields as SchemaField[];
}

/** How the table's schema relates to the one that our files have. */
export type SchemaUnion =
  | { readonly kind: "same" }
  /** The table's schema with our new columns at its end. */
  | { readonly kind: "wider"; readonly schemaString: string }
  | { readonly kind: "conflict"; readonly reason: string };

/** Additive evolution only: columns that the table lacks are added, a column of another type is a conflict. */
export function schemaUnion(tableSchemaString: string, ours: TableSchema): SchemaUnion {
  const fields = schemaFields(tableSchemaString);
  // Delta compares column names without regard to case.
  const known = new Map(fields.map((field) => [field.name.toLowerCase(), field]));
  const missing: SchemaField[] = [];
  for (const column of ours.columns) {
    const field = known.get(column.name.toLowerCase());
    if (field === undefined) missing.push(fieldOf(column));
    else if (field.type !== column.type) {
      return {
        kind: "conflict",
        reason: `column ${column.name} is ${JSON.stringify(field.type)} in the table and ${column.type} in our files`,
      };
    }
  }
  if (missing.length === 0) return { kind: "same" };
  return {
    kind: "wider",
    schemaString: JSON.stringify({ type: "struct", fields: [...fields, ...missing] }),
  };
}
