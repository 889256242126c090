import { TableRefusedError } from "../errors.ts";
import type { Metadata, Protocol } from "./actions.ts";
import { schemaFields } from "./schema.ts";

/**
 * Table features under which our append is right (Delta protocol; sections in quotes): a blind append of whole files
 * without deletion vectors, with exact `numRecords`, that leaves protocol, domains, checkpoints and old files alone. A
 * feature that binds writers only where a property or a field makes use of it is here too: the use is refused by its own
 * name. Any other is refused, known or not.
 */
const SUPPORTED_FEATURES: ReadonlySet<string> = new Set([
  // An append neither changes nor removes rows: "Append-only Tables".
  "appendOnly",
  // A commit that only adds data needs no change data files: "Change Data Files".
  "changeDataFeed",
  // Only a file that is added with a vector must have one thing more, `numRecords`, which ours have anyway: "Writer
  // Requirement for Deletion Vectors". Bounds of a file without a vector are tight by default: "Per-file Statistics".
  "deletionVectors",
  // Commits are the same, and a classic checkpoint remains allowed: "V2 Checkpoint Table Feature".
  "v2Checkpoint",
  // Domains that a commit does not name stay as they are: "Writer Requirements for Domain Metadata".
  "domainMetadata",
  // `delta.typeChanges` stays in the schema when it grows: "Writer Requirements for Type Widening".
  "typeWidening",
  "typeWidening-preview",
  // Types of columns that are not ours: our files lack them, and readers give nulls.
  "timestampNtz",
  "variantType",
  "variantShredding",
  // Binds those who vacuum: "Writer Requirements for Vacuum Protocol Check".
  "vacuumProtocolCheck",
  // Binds those who delete old commits and checkpoints, which deltacap does not.
  "checkpointProtection",
  // Active by a property: BINDING_PROPERTIES.
  "columnMapping",
  "inCommitTimestamp",
  "icebergCompatV1",
  "icebergCompatV2",
  "icebergCompatV3",
  // Active by a property's prefix or a field's metadata.
  "invariants",
  "checkConstraints",
  "generatedColumns",
  "identityColumns",
  "allowColumnDefaults",
]);

/** Properties that bind writers in ways that we do not implement, and the values with which they do not. Any other passes. */
const BINDING_PROPERTIES: Readonly<Record<string, readonly string[]>> = {
  "delta.columnMapping.mode": ["none"],
  "delta.enableRowTracking": ["false"],
  "delta.enableInCommitTimestamps": ["false"],
  "delta.enableIcebergCompatV1": ["false"],
  "delta.enableIcebergCompatV2": ["false"],
  "delta.enableIcebergCompatV3": ["false"],
  "delta.universalFormat.enabledFormats": [""],
  "delta.coordinatedCommits.commitCoordinator": [],
  "delta.coordinatedCommits.commitCoordinator-preview": [],
};
const CONSTRAINT = "delta.constraints.";

/** While this is true, files need no row ids although the table has the feature ("Row Tracking"). */
const ROW_TRACKING_SUSPENDED = "delta.rowTrackingSuspended";

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
  const reasons = [
    ...protocolReasons(protocol, metadata),
    ...propertyReasons(metadata),
    ...schemaReasons(metadata),
  ];
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

function protocolReasons(protocol: Protocol, metadata: Metadata): string[] {
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
    if (SUPPORTED_FEATURES.has(feature)) continue;
    const suspended = String(metadata.configuration[ROW_TRACKING_SUSPENDED]).toLowerCase() === "true";
    if (feature === "rowTracking" && suspended) continue;
    reasons.push(`table feature ${feature}`);
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
