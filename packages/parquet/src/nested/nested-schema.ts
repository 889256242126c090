import { ConvertedType, FieldRepetitionType, PhysicalType } from "../encode/format.ts";
import type { CompactWriter } from "../encode/thrift-compact.ts";

/** A field of records: every one may be null. Maps and lists hold strings, the maps' values nulls as well. */
export type NestedField =
  | { readonly name: string; readonly type: LeafType | "map" | "list" }
  | { readonly name: string; readonly type: "struct"; readonly fields: readonly NestedField[] };

/** What the values of a nested file's column are. */
export type LeafType = "string" | "integer" | "long" | "boolean";

/** A column of the file: what of it is null and what repeats is told by levels (Dremel). */
export interface LeafColumn {
  readonly path: readonly string[];
  readonly type: LeafType;
  /** The level of a value that is there; each lower one says which of the groups around it is null or empty. */
  readonly maxDefinitionLevel: number;
  /** 1 within a map or a list, else 0. */
  readonly maxRepetitionLevel: 0 | 1;
}

/** The field's columns, in the order of the schema. */
export function leafColumns(field: NestedField, above: readonly string[] = []): LeafColumn[] {
  const path = [...above, field.name];
  const depth = above.length;
  switch (field.type) {
    case "struct":
      return field.fields.flatMap((child) => leafColumns(child, path));
    case "map":
      return [
        { ...repeated([...path, "key_value", "key"]), maxDefinitionLevel: depth + 2 },
        { ...repeated([...path, "key_value", "value"]), maxDefinitionLevel: depth + 3 },
      ];
    case "list":
      return [{ ...repeated([...path, "list", "element"]), maxDefinitionLevel: depth + 3 }];
    default:
      return [{ path, type: field.type, maxDefinitionLevel: depth + 1, maxRepetitionLevel: 0 }];
  }
}

function repeated(path: readonly string[]) {
  return { path, type: "string", maxRepetitionLevel: 1 } as const;
}

/** How each kind of value is stored. */
export const physicalTypes = {
  string: PhysicalType.BYTE_ARRAY,
  integer: PhysicalType.INT32,
  long: PhysicalType.INT64,
  boolean: PhysicalType.BOOLEAN,
} as const satisfies Record<LeafType, number>;

interface SchemaElement {
  readonly name: string;
  readonly repetition: (typeof FieldRepetitionType)[keyof typeof FieldRepetitionType];
  readonly leaf?: LeafType;
  readonly children?: number;
  readonly container?: "map" | "list";
}

/** The schema as the footer lists it, depth first, the root before all. */
export function writeNestedSchema(thrift: CompactWriter, id: number, fields: readonly NestedField[]): void {
  const elements = fields.flatMap(schemaElements);
  thrift.structList(id, [null, ...elements], (element) => {
    if (element === null) {
      thrift.string(4, "schema");
      thrift.i32(5, fields.length);
    } else writeSchemaElement(thrift, element);
  });
}

/** Maps and lists have the groups that LogicalTypes.md, "MAP" and "LIST", names; older readers go by the names. */
function schemaElements(field: NestedField): SchemaElement[] {
  const { OPTIONAL, REPEATED, REQUIRED } = FieldRepetitionType;
  const { name } = field;
  switch (field.type) {
    case "struct":
      return [
        { name, repetition: OPTIONAL, children: field.fields.length },
        ...field.fields.flatMap(schemaElements),
      ];
    case "map":
      return [
        { name, repetition: OPTIONAL, children: 1, container: "map" },
        { name: "key_value", repetition: REPEATED, children: 2 },
        { name: "key", repetition: REQUIRED, leaf: "string" },
        { name: "value", repetition: OPTIONAL, leaf: "string" },
      ];
    case "list":
      return [
        { name, repetition: OPTIONAL, children: 1, container: "list" },
        { name: "list", repetition: REPEATED, children: 1 },
        { name: "element", repetition: OPTIONAL, leaf: "string" },
      ];
    default:
      return [{ name, repetition: OPTIONAL, leaf: field.type }];
  }
}

function writeSchemaElement(thrift: CompactWriter, element: SchemaElement): void {
  const { name, repetition, leaf, children, container } = element;
  if (leaf !== undefined) thrift.i32(1, physicalTypes[leaf]);
  thrift.i32(3, repetition);
  thrift.string(4, name);
  if (children !== undefined) thrift.i32(5, children);
  if (leaf === "string") {
    thrift.i32(6, ConvertedType.UTF8);
    thrift.structField(10, () => thrift.structField(1, () => {}));
  } else if (container !== undefined) {
    thrift.i32(6, container === "map" ? ConvertedType.MAP : ConvertedType.LIST);
    thrift.structField(10, () => thrift.structField(container === "map" ? 2 : 3, () => {}));
  }
}
