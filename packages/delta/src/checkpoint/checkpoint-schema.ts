import type { NestedField } from "@deltacap/parquet";
import type { Action, Add, Protocol, Remove } from "../actions/actions.ts";

const text = (name: string) => ({ name, type: "string" }) as const;
const integer = (name: string) => ({ name, type: "integer" }) as const;
const long = (name: string) => ({ name, type: "long" }) as const;
const boolean = (name: string) => ({ name, type: "boolean" }) as const;
const map = (name: string) => ({ name, type: "map" }) as const;
const list = (name: string) => ({ name, type: "list" }) as const;
const struct = (name: string, ...fields: NestedField[]) => ({ name, type: "struct", fields }) as const;

const deletionVector = struct(
  "deletionVector",
  text("storageType"),
  text("pathOrInlineDv"),
  integer("offset"),
  integer("sizeInBytes"),
  long("cardinality"),
  long("maxRowIndex"),
);

/**
 * The columns of a classic checkpoint, as Spark writes them (Delta protocol, "Checkpoint Schema"), with the fields of every table
 * feature under which we write one: a field that is missing here would be lost to the table.
 */
export const checkpointSchema: readonly NestedField[] = [
  struct("txn", text("appId"), long("version"), long("lastUpdated")),
  struct(
    "add",
    text("path"),
    map("partitionValues"),
    long("size"),
    long("modificationTime"),
    boolean("dataChange"),
    map("tags"),
    deletionVector,
    long("baseRowId"),
    long("defaultRowCommitVersion"),
    text("clusteringProvider"),
    text("stats"),
  ),
  struct(
    "remove",
    text("path"),
    long("deletionTimestamp"),
    boolean("dataChange"),
    boolean("extendedFileMetadata"),
    map("partitionValues"),
    long("size"),
    deletionVector,
    long("baseRowId"),
    long("defaultRowCommitVersion"),
  ),
  struct(
    "metaData",
    text("id"),
    text("name"),
    text("description"),
    struct("format", text("provider"), map("options")),
    text("schemaString"),
    list("partitionColumns"),
    map("configuration"),
    long("createdTime"),
  ),
  struct(
    "protocol",
    integer("minReaderVersion"),
    integer("minWriterVersion"),
    list("readerFeatures"),
    list("writerFeatures"),
  ),
  struct("domainMetadata", text("domain"), text("configuration"), boolean("removed")),
];

/** The action's fields that the schema has, in its order, nulls left out: what is equal here is written as the same row. */
export function checkpointRow(action: Action): Record<string, unknown> {
  return structRow(checkpointSchema, action);
}

function structRow(fields: readonly NestedField[], value: object): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (const field of fields) {
    const member = (value as Readonly<Record<string, unknown>>)[field.name];
    if (member === null || member === undefined) continue;
    row[field.name] =
      field.type === "struct" && typeof member === "object" ? structRow(field.fields, member) : member;
  }
  return row;
}

/** Both feature lists where the versions ask for them (Delta protocol, "Checkpoint Schema"), even if they are empty. */
export function checkpointProtocol(protocol: Protocol): Protocol {
  const { minReaderVersion, minWriterVersion, readerFeatures, writerFeatures } = protocol;
  return {
    minReaderVersion,
    minWriterVersion,
    ...(minReaderVersion >= 3 ? { readerFeatures: readerFeatures ?? [] } : {}),
    ...(minWriterVersion >= 7 ? { writerFeatures: writerFeatures ?? [] } : {}),
  };
}

/** In a checkpoint no file is a change of the data. */
export function checkpointFile<File extends Add | Remove>(file: File): File {
  return { ...file, dataChange: false };
}
