import { TableRefusedError } from "../errors.ts";
import type { Metadata, Protocol } from "./actions.ts";
import { schemaFields } from "./schema.ts";

/**
 * Table features under which a blind append needs nothing that we do not do. Those of the legacy writer versions restrict
 * only where a property or the schema makes use of them, and that is refused by its own name below.
 */
const SUPPORTED_FEATURES = new Set([
  "appendOnly",
  "invariants",
  "checkConstraints",
  "changeDataFeed",
  "generatedColumns",
  "identityColumns",
  "columnMapping",
]);

/** Properties that bind writers in ways that we do not implement, and the values with which they do not. Any other passes. */
const BINDING_PROPERTIES: Readonly<Record<string, readonly string[]>> = {
  "delta.columnMapping.mode": ["none"],
  "delta.enableChangeDataFeed": ["false"],
  "delta.enableDeletionVectors": ["false"],
  "delta.enableRowTracking": ["false"],
  "delta.enableInCommitTimestamps": ["false"],
  "delta.enableTypeWidening": ["false"],
  "delta.enableIcebergCompatV1": ["false"],
  "delta.enableIcebergCompatV2": ["false"],
  "delta.enableIcebergCompatV3": ["false"],
  "delta.universalFormat.enabledFormats": [""],
  "delta.randomizeFilePrefixes": ["false"],
  "delta.checkpointPolicy": ["classic"],
  "delta.coordinatedCommits.commitCoordinator": [],
  "delta.coordinatedCommits.commitCoordinator-preview": [],
};
const CONSTRAINT = "delta.constraints.";

/** Metadata of a field by which a writer must judge or make its values. */
const BINDING_FIELD_METADATA: readonly (readonly [prefix: string, name: string])[] = [
  ["delta.invariants", "invariant on"],
  ["delta.generationExpression", "generated"],
  ["delta.identity.", "identity"],
  ["__CHAR_VARCHAR_TYPE_STRING", "char or varchar"],
  ["CURRENT_DEFAULT", "default value of"],
];

/** Versions whose meaning the protocol fixes; what those up to these bring is refused by name where it is in use. */
const MAXIMUM_LEGACY_READER = 2;
const MAXIMUM_LEGACY_WRITER = 6;
const FEATURES_READER = 3;
const FEATURES_WRITER = 7;

/**
 * Refuses a table that we must not append to, before anything is written, naming all that stands in the way (Delta
 * protocol, "Requirements for Writers").
 */
export function requireWritable(protocol: Protocol, metadata: Metadata, partitionColumn: string): void {
  const reasons = [...protocolReasons(protocol), ...propertyReasons(metadata), ...schemaReasons(metadata)];
  if (metadata.format.provider !== "parquet") reasons.push(`format ${metadata.format.provider}`);
  if (JSON.stringify(metadata.partitionColumns) !== JSON.stringify([partitionColumn])) {
    reasons.push(`partitioned by [${metadata.partitionColumns}], and our files by [${partitionColumn}]`);
  }
  if (reasons.length > 0) {
    throw new TableRefusedError(
      `the table asks of its writers what deltacap does not do: ${reasons.join("; ")}. Nothing was written. Remove these from the table, or write to another one`,
    );
  }
}

function protocolReasons(protocol: Protocol): string[] {
  const { minReaderVersion, minWriterVersion } = protocol;
  const reasons: string[] = [];
  if (minReaderVersion > MAXIMUM_LEGACY_READER && minReaderVersion !== FEATURES_READER) {
    reasons.push(`minReaderVersion ${minReaderVersion}`);
  }
  if (minWriterVersion > MAXIMUM_LEGACY_WRITER && minWriterVersion !== FEATURES_WRITER) {
    reasons.push(`minWriterVersion ${minWriterVersion}`);
  }
  const features = new Set([...(protocol.readerFeatures ?? []), ...(protocol.writerFeatures ?? [])]);
  for (const feature of features) {
    if (!SUPPORTED_FEATURES.has(feature)) reasons.push(`table feature ${feature}`);
  }
  return reasons;
}

function propertyReasons(metadata: Metadata): string[] {
  const reasons: string[] = [];
  for (const [property, value] of Object.entries(metadata.configuration)) {
    if (property.startsWith(CONSTRAINT)) {
      reasons.push(`CHECK constraint ${property.slice(CONSTRAINT.length)}`);
    }
    const harmless = Object.hasOwn(BINDING_PROPERTIES, property) ? BINDING_PROPERTIES[property] : undefined;
    if (harmless !== undefined && !harmless.includes(String(value).toLowerCase())) {
      reasons.push(`${property} = ${value}`);
    }
  }
  return reasons;
}

function schemaReasons(metadata: Metadata): string[] {
  const reasons = new Set<string>();
  for (const field of schemaFields(metadata.schemaString)) {
    if (field.nullable === false) reasons.add(`NOT NULL column ${field.name}`);
    for (const key of Object.keys(field.metadata ?? {})) {
      for (const [prefix, name] of BINDING_FIELD_METADATA) {
        if (key.startsWith(prefix)) reasons.add(`${name} column ${field.name}`);
      }
    }
  }
  return [...reasons];
}
