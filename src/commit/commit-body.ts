import { type Action, type Metadata, schemaString, serializeActions } from "@deltacap/delta";
import type { TableSchema } from "@deltacap/parquet";
import type { DataFile, Manifest } from "../manifest/manifest.ts";
import { commitTags } from "./commit-tags.ts";
import { TABLE_PROPERTY } from "./table-identity.ts";

/** What makes a commit this one: see {@link LogStore.commit}. */
export interface CommitIdentity {
  readonly txnId: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  /** `deltacap/1.2.3`. */
  readonly engineInfo: string;
}

/** Version 0: protocol and metadata. Reader 1, writer 2 and no table features, so that every engine reads it. */
export function createTableBody(schema: TableSchema, tableId: string, identity: CommitIdentity): Uint8Array {
  const statistics = schema.columns.filter((column) => column.statistics).map((column) => column.name);
  const metaData: Metadata = {
    id: tableId,
    name: schema.name,
    format: { provider: "parquet", options: {} },
    schemaString: schemaString(schema),
    partitionColumns: [schema.partitionColumn],
    configuration: { "delta.dataSkippingStatsColumns": statistics.join(","), [TABLE_PROPERTY]: schema.name },
    createdTime: identity.timestamp,
  };
  const parameters = {
    isManaged: "false",
    partitionBy: JSON.stringify(metaData.partitionColumns),
    properties: JSON.stringify(metaData.configuration),
  };
  return serializeActions([
    commitInfo(identity, "CREATE TABLE", parameters, {}, {}),
    { protocol: { minReaderVersion: 1, minWriterVersion: 2 } },
    { metaData },
  ]);
}

/**
 * A blind append of whole manifests, tagged with the batches and sources that it adds. `metaData`: the table's with new
 * columns or properties, where it changes in the same commit.
 */
export function appendBody(
  manifests: readonly Manifest[],
  metaData: Metadata | null,
  partitionColumns: readonly string[],
  identity: CommitIdentity,
): Uint8Array {
  const files = manifests.flatMap((manifest) => manifest.files);
  const metrics = {
    numFiles: String(files.length),
    numOutputRows: String(files.reduce((sum, file) => sum + file.rows, 0)),
    numOutputBytes: String(files.reduce((sum, file) => sum + file.size, 0)),
  };
  const parameters = { mode: "Append", partitionBy: JSON.stringify(partitionColumns) };
  const actions: Action[] = [commitInfo(identity, "WRITE", parameters, metrics, commitTags(manifests))];
  if (metaData !== null) actions.push({ metaData });
  for (const manifest of manifests) {
    for (const file of manifest.files) actions.push({ add: addOf(file, manifest.createdMs) });
  }
  return serializeActions(actions);
}

function commitInfo(
  identity: CommitIdentity,
  operation: string,
  operationParameters: Readonly<Record<string, string>>,
  operationMetrics: Readonly<Record<string, string>>,
  tags: Readonly<Record<string, string>>,
): Action {
  const info = {
    timestamp: identity.timestamp,
    operation,
    operationParameters,
    isolationLevel: "Serializable",
    isBlindAppend: true,
    operationMetrics,
    engineInfo: identity.engineInfo,
    txnId: identity.txnId,
    ...(Object.keys(tags).length === 0 ? {} : { tags }),
  };
  return { commitInfo: info };
}

function addOf(file: DataFile, modificationTime: number) {
  return {
    path: encodedPath(file.path),
    partitionValues: file.partitionValues,
    size: file.size,
    modificationTime,
    dataChange: true,
    stats: file.stats,
  };
}

/**
 * `add.path` is a URI reference (RFC 3986): each segment percent-encoded once. `=` may stand as it is, and other writers
 * leave it in the names of partition folders.
 */
export function encodedPath(path: string): string {
  return path
    .split("/")
    .map((segment) => encodeURIComponent(segment).replaceAll("%3D", "="))
    .join("/");
}
