import type { Metadata, Protocol } from "../actions/actions.ts";
import { protocolObstacles } from "../actions/known-features.ts";
import { schemaFields } from "../actions/schema.ts";
import { TableRefusedError } from "../errors.ts";

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
  const suspended = metadata.configuration[ROW_TRACKING_SUSPENDED]?.toLowerCase() === "true";
  return protocolObstacles(protocol, "append", suspended ? ["rowTracking"] : []);
}

function propertyReasons(metadata: Metadata): string[] {
  const reasons: string[] = [];
  for (const [property, value] of Object.entries(metadata.configuration)) {
    if (property.startsWith(CONSTRAINT)) {
      reasons.push(`CHECK constraint ${property.slice(CONSTRAINT.length)}`);
    }
    const harmless = Object.hasOwn(BINDING_PROPERTIES, property) ? BINDING_PROPERTIES[property] : undefined;
    if (harmless !== undefined && !harmless.includes(value.toLowerCase())) {
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
