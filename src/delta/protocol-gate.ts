import { TableRefusedError } from "../errors.ts";
import type { Metadata, Protocol } from "./actions.ts";
import { schemaFields } from "./schema.ts";

/** Table features under which a blind append needs nothing that we do not do. */
const SUPPORTED_FEATURES = new Set(["appendOnly"]);

/** Properties that bind writers in ways that we do not implement; any other property passes. */
const BINDING_PROPERTIES: readonly { readonly property: string; readonly harmless: readonly string[] }[] = [
  { property: "delta.columnMapping.mode", harmless: ["none"] },
  { property: "delta.enableChangeDataFeed", harmless: ["false"] },
  { property: "delta.enableDeletionVectors", harmless: ["false"] },
  { property: "delta.enableRowTracking", harmless: ["false"] },
  { property: "delta.enableInCommitTimestamps", harmless: ["false"] },
  { property: "delta.enableTypeWidening", harmless: ["false"] },
  { property: "delta.enableIcebergCompatV1", harmless: ["false"] },
  { property: "delta.enableIcebergCompatV2", harmless: ["false"] },
  { property: "delta.randomizeFilePrefixes", harmless: ["false"] },
];

/** Writer version up to which the legacy protocol is understood, given that what it brings is refused by name below. */
const MAXIMUM_LEGACY_WRITER = 6;

/**
 * Refuses a table that we must not append to, before anything is written, naming what stands in the way (Delta protocol,
 * "Requirements for Writers").
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
  if (minWriterVersion === 7) {
    const features = new Set([...(protocol.readerFeatures ?? []), ...(protocol.writerFeatures ?? [])]);
    return [...features].filter((f) => !SUPPORTED_FEATURES.has(f)).map((f) => `table feature ${f}`);
  }
  const reasons: string[] = [];
  if (minReaderVersion > 1) reasons.push(`minReaderVersion ${minReaderVersion}`);
  if (minWriterVersion > MAXIMUM_LEGACY_WRITER) reasons.push(`minWriterVersion ${minWriterVersion}`);
  return reasons;
}

function propertyReasons(metadata: Metadata): string[] {
  const reasons: string[] = [];
  for (const { property, harmless } of BINDING_PROPERTIES) {
    const value = metadata.configuration[property];
    if (value !== undefined && !harmless.includes(value.toLowerCase()))
      reasons.push(`${property} = ${value}`);
  }
  for (const property of Object.keys(metadata.configuration)) {
    if (property.startsWith("delta.constraints.")) reasons.push(`CHECK constraint ${property.slice(18)}`);
  }
  return reasons;
}

function schemaReasons(metadata: Metadata): string[] {
  const reasons: string[] = [];
  for (const field of schemaFields(metadata.schemaString)) {
    if (!field.nullable) reasons.push(`NOT NULL column ${field.name}`);
    for (const key of Object.keys(field.metadata ?? {})) {
      if (key === "delta.invariants") reasons.push(`invariant on column ${field.name}`);
      if (key === "delta.generationExpression") reasons.push(`generated column ${field.name}`);
      if (key.startsWith("delta.identity.")) reasons.push(`identity column ${field.name}`);
    }
  }
  return [...new Set(reasons)];
}
