import { ParquetDamage } from "./damaged-parquet.ts";
import type { ThriftReader } from "./thrift-reader.ts";

const PHYSICAL_TYPES = [
  "BOOLEAN",
  "INT32",
  "INT64",
  "INT96",
  "FLOAT",
  "DOUBLE",
  "BYTE_ARRAY",
  "FIXED_LEN_BYTE_ARRAY",
] as const;
/** Names of parquet.thrift's `Type`. */
export type PhysicalTypeName = (typeof PHYSICAL_TYPES)[number];

const REPETITIONS = ["REQUIRED", "OPTIONAL", "REPEATED"] as const;

/** By number (parquet.thrift, "ConvertedType"). */
const CONVERTED_TYPES = [
  "UTF8",
  "MAP",
  "MAP_KEY_VALUE",
  "LIST",
  "ENUM",
  "DECIMAL",
  "DATE",
  "TIME_MILLIS",
  "TIME_MICROS",
  "TIMESTAMP_MILLIS",
  "TIMESTAMP_MICROS",
  "UINT_8",
  "UINT_16",
  "UINT_32",
  "UINT_64",
  "INT_8",
  "INT_16",
  "INT_32",
  "INT_64",
  "JSON",
  "BSON",
  "INTERVAL",
] as const;

/** By field of the union (parquet.thrift, "LogicalType"). */
const LOGICAL_TYPES: Readonly<Record<number, string>> = {
  1: "STRING",
  2: "MAP",
  3: "LIST",
  4: "ENUM",
  5: "DECIMAL",
  6: "DATE",
  7: "TIME",
  8: "TIMESTAMP",
  10: "INTEGER",
  11: "UNKNOWN",
  12: "JSON",
  13: "BSON",
  14: "UUID",
  15: "FLOAT16",
  16: "VARIANT",
  17: "GEOMETRY",
  18: "GEOGRAPHY",
};

const TIME_UNITS: Readonly<Record<number, TimeUnit>> = { 1: "MILLIS", 2: "MICROS", 3: "NANOS" };
/** Units of parquet.thrift's `TimeUnit`. */
export type TimeUnit = "MILLIS" | "MICROS" | "NANOS";

/** A column's logical type, from LogicalType or the older ConvertedType. */
export interface LogicalType {
  readonly type: string;
  readonly isAdjustedToUtc: boolean;
  readonly unit: TimeUnit | null;
  readonly isSigned: boolean;
  readonly bitWidth: number | null;
}

/** A node of the file's schema. */
export interface ParquetField {
  readonly name: string;
  /** Names from the top-level column on. */
  readonly path: readonly string[];
  readonly repetition: (typeof REPETITIONS)[number];
  /** Null for a group. */
  readonly physical: PhysicalTypeName | null;
  readonly typeLength: number;
  readonly converted: string | null;
  readonly logical: LogicalType | null;
  /** Digits after the decimal point. */
  readonly scale: number;
  readonly children: readonly ParquetField[];
  /** Definition level at which the field itself is there. */
  readonly maxDefinition: number;
  readonly maxRepetition: number;
  /** Position of its chunk in each row group; -1 for a group. */
  readonly column: number;
}

type SchemaElement = Pick<
  ParquetField,
  "name" | "physical" | "typeLength" | "repetition" | "converted" | "logical" | "scale"
> & { readonly childCount: number };

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

const utf8 = new TextDecoder();
/** Far more than any table nests; levels stay within a byte. */
const MAX_SCHEMA_DEPTH = 64;

/** Reads one `SchemaElement`. */
export function readSchemaElement(thrift: ThriftReader): SchemaElement {
  const element: Mutable<Omit<SchemaElement, "name">> & { name: string | null } = {
    name: null,
    physical: null,
    typeLength: 0,
    repetition: "REQUIRED",
    childCount: 0,
    converted: null,
    logical: null,
    scale: 0,
  };
  thrift.struct((field) => {
    if (field === 1) element.physical = named(thrift, PHYSICAL_TYPES, "physical type");
    else if (field === 2) element.typeLength = thrift.int();
    else if (field === 3) element.repetition = named(thrift, REPETITIONS, "repetition");
    else if (field === 4) element.name = utf8.decode(thrift.binary());
    else if (field === 5) element.childCount = thrift.int();
    else if (field === 6) element.converted = CONVERTED_TYPES[thrift.int()] ?? "UNKNOWN";
    else if (field === 7) element.scale = thrift.int();
    else if (field === 10) element.logical = readLogicalType(thrift);
  });
  const { name, typeLength } = element;
  if (name === null) throw thrift.damage("a column of the schema has no name");
  if (typeLength < 0) throw thrift.damage(`column ${name} has values of ${typeLength} bytes`);
  return { ...element, name };
}

function named<Name extends string>(thrift: ThriftReader, names: readonly Name[], what: string): Name {
  const number = thrift.int();
  const name = names[number];
  if (name === undefined) throw thrift.damage(`the ${what} ${number} does not exist`);
  return name;
}

function readLogicalType(thrift: ThriftReader): LogicalType {
  const logical: Mutable<LogicalType> = {
    type: "UNKNOWN",
    isAdjustedToUtc: false,
    unit: null,
    isSigned: true,
    bitWidth: null,
  };
  thrift.struct((field) => {
    logical.type = LOGICAL_TYPES[field] ?? `logical type ${field}`;
    const isTime = logical.type === "TIME" || logical.type === "TIMESTAMP";
    thrift.struct((member) => {
      if (isTime && member === 1) logical.isAdjustedToUtc = thrift.boolean();
      else if (isTime && member === 2) logical.unit = readTimeUnit(thrift);
      else if (logical.type === "INTEGER" && member === 1) logical.bitWidth = thrift.int();
      else if (logical.type === "INTEGER" && member === 2) logical.isSigned = thrift.boolean();
    });
  });
  return logical;
}

function readTimeUnit(thrift: ThriftReader): TimeUnit | null {
  const units: (TimeUnit | null)[] = [];
  thrift.struct((field) => void units.push(TIME_UNITS[field] ?? null));
  return units[0] ?? null;
}

/** The top-level columns. Every count of children is compared with the elements that are there. */
export function schemaTree(elements: readonly SchemaElement[]): ParquetField[] {
  const tree = new SchemaTree(elements);
  const fields = tree.roots();
  if (tree.next !== elements.length) {
    throw new ParquetDamage(
      `the schema lists ${elements.length} elements, and its groups have ${tree.next} of them`,
    );
  }
  return fields;
}

class SchemaTree {
  readonly #elements: readonly SchemaElement[];
  next = 1;
  #columns = 0;

  constructor(elements: readonly SchemaElement[]) {
    this.#elements = elements;
  }

  roots(): ParquetField[] {
    const root = this.#elements[0];
    if (root === undefined) throw new ParquetDamage("the schema has no elements");
    return this.#children(root, { path: [], maxDefinition: 0, maxRepetition: 0 });
  }

  #children(
    { name, childCount }: SchemaElement,
    parent: Pick<ParquetField, "path" | "maxDefinition" | "maxRepetition">,
  ): ParquetField[] {
    if (childCount < 0 || childCount > this.#elements.length - this.next) {
      throw new ParquetDamage(
        `the schema element ${name} has ${childCount} children, and ${this.#elements.length - this.next} elements follow it`,
      );
    }
    if (parent.path.length >= MAX_SCHEMA_DEPTH) {
      throw new ParquetDamage(`the schema nests more than ${MAX_SCHEMA_DEPTH} deep`);
    }
    return Array.from({ length: childCount }, () => this.#field(parent));
  }

  #field(parent: Pick<ParquetField, "path" | "maxDefinition" | "maxRepetition">): ParquetField {
    const element = this.#elements[this.next++];
    if (element === undefined) throw new ParquetDamage("the schema ends within a group");
    const { name, repetition, physical, childCount } = element;
    const levels = {
      path: [...parent.path, name],
      maxDefinition: parent.maxDefinition + (repetition === "REQUIRED" ? 0 : 1),
      maxRepetition: parent.maxRepetition + (repetition === "REPEATED" ? 1 : 0),
    };
    if ((physical === null) === (childCount === 0)) {
      throw new ParquetDamage(`the schema element ${name} is neither a column nor a group of columns`);
    }
    const column = physical === null ? -1 : this.#columns++;
    const children = physical === null ? this.#children(element, levels) : [];
    const { typeLength, converted, logical, scale } = element;
    return { name, ...levels, repetition, physical, typeLength, converted, logical, scale, children, column };
  }
}

/** The columns of a field, in the order of the schema. */
export function columnsOf(field: ParquetField): ParquetField[] {
  return field.physical === null ? field.children.flatMap(columnsOf) : [field];
}

/** Whether it is one value a row, or null. */
export function isFlat({ path, physical, maxRepetition }: ParquetField): boolean {
  return path.length === 1 && physical !== null && maxRepetition === 0;
}
