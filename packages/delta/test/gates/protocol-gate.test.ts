import { describe, expect, test } from "vitest";
import type { Metadata, Protocol } from "../../src/actions/actions.ts";
import { TableRefusedError } from "../../src/errors.ts";
import { requireWritable } from "../../src/gates/protocol-gate.ts";

const plain: Protocol = { minReaderVersion: 1, minWriterVersion: 2 };

function table(
  changes: { field?: object; configuration?: Record<string, string>; partition?: string[] } = {},
): Metadata {
  const field = { name: "n", type: "long", nullable: true, metadata: {}, ...changes.field };
  return {
    id: "i",
    format: { provider: "parquet", options: {} },
    schemaString: JSON.stringify({ type: "struct", fields: [field] }),
    partitionColumns: changes.partition ?? ["date"],
    configuration: changes.configuration ?? {},
  };
}

const features = (...writerFeatures: string[]): Protocol => ({
  minReaderVersion: 3,
  minWriterVersion: 7,
  readerFeatures: [],
  writerFeatures,
});

/** Listed for readers and writers, as the protocol asks of features that readers must know. */
const bothFeatures = (...names: string[]): Protocol => ({ ...features(...names), readerFeatures: names });

describe("tables that we append to", () => {
  test.each<[string, Protocol, Metadata]>([
    ["a new one", plain, table()],
    ["append-only", plain, table({ configuration: { "delta.appendOnly": "true" } })],
    [
      "append-only as a feature",
      { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ["appendOnly"] },
      table(),
    ],
    [
      "a legacy writer version whose powers are not in use",
      { minReaderVersion: 2, minWriterVersion: 6 },
      table(),
    ],
    [
      "the features of legacy versions, not in use",
      features(
        "invariants",
        "checkConstraints",
        "changeDataFeed",
        "generatedColumns",
        "columnMapping",
        "identityColumns",
      ),
      table(),
    ],
    ["with change data feed", plain, table({ configuration: { "delta.enableChangeDataFeed": "true" } })],
    [
      "with deletion vectors",
      bothFeatures("deletionVectors"),
      table({ configuration: { "delta.enableDeletionVectors": "true" } }),
    ],
    [
      "with V2 checkpoints",
      bothFeatures("v2Checkpoint"),
      table({ configuration: { "delta.checkpointPolicy": "v2" } }),
    ],
    [
      "with type widening",
      bothFeatures("typeWidening"),
      table({ configuration: { "delta.enableTypeWidening": "true" } }),
    ],
    ["with domain metadata", features("domainMetadata"), table()],
    ["with timestamps without a time zone", bothFeatures("timestampNtz"), table()],
    ["with variants", bothFeatures("variantType"), table()],
    ["with a protocol check for vacuum", bothFeatures("vacuumProtocolCheck"), table()],
    ["with protected checkpoints", features("checkpointProtection"), table()],
    [
      "features that no property turns on",
      features("inCommitTimestamp", "icebergCompatV1", "icebergCompatV2", "allowColumnDefaults"),
      table({ configuration: { "delta.enableInCommitTimestamps": "false" } }),
    ],
    [
      "row tracking that is suspended",
      features("rowTracking", "domainMetadata"),
      table({ configuration: { "delta.rowTrackingSuspended": "true" } }),
    ],
    [
      "harmless properties",
      plain,
      table({
        configuration: {
          "delta.targetFileSize": "100mb",
          "delta.logRetentionDuration": "interval 30 days",
          "delta.columnMapping.mode": "none",
          "delta.enableChangeDataFeed": "FALSE",
          "delta.universalFormat.enabledFormats": "",
          "delta.autoOptimize.optimizeWrite": "true",
          owner: "somebody",
        },
      }),
    ],
    ["a column with a comment", plain, table({ field: { metadata: { comment: "x" } } })],
  ])("%s", (_, protocol, metadata) => {
    expect(() => requireWritable(protocol, metadata, "date")).not.toThrow();
  });
});

describe("tables that are refused, by name", () => {
  test.each<[string, Protocol, Metadata]>([
    ["table feature rowTracking", features("appendOnly", "rowTracking"), table()],
    ["table feature catalogManaged", bothFeatures("catalogManaged"), table()],
    ["table feature clustering", features("clustering", "domainMetadata"), table()],
    ["table feature somethingNew", features("somethingNew"), table()],
    ["minReaderVersion 4", { minReaderVersion: 4, minWriterVersion: 7 }, table()],
    ["minWriterVersion 8", { minReaderVersion: 3, minWriterVersion: 8 }, table()],
    [
      "delta.columnMapping.mode = name",
      plain,
      table({ configuration: { "delta.columnMapping.mode": "name" } }),
    ],
    [
      "delta.enableInCommitTimestamps = true",
      features("inCommitTimestamp"),
      table({ configuration: { "delta.enableInCommitTimestamps": "true" } }),
    ],
    [
      "delta.enableIcebergCompatV2 = true",
      features("icebergCompatV2"),
      table({ configuration: { "delta.enableIcebergCompatV2": "true" } }),
    ],
    [
      "delta.enableRowTracking = TRUE",
      plain,
      table({ configuration: { "delta.enableRowTracking": "TRUE" } }),
    ],
    ["default value of column n", plain, table({ field: { metadata: { CURRENT_DEFAULT: "1" } } })],
    ["CHECK constraint positive", plain, table({ configuration: { "delta.constraints.positive": "n > 0" } })],
    ["NOT NULL column n", plain, table({ field: { nullable: false } })],
    ["invariant on column n", plain, table({ field: { metadata: { "delta.invariants": "{}" } } })],
    ["generated column n", plain, table({ field: { metadata: { "delta.generationExpression": "1" } } })],
    ["identity column n", plain, table({ field: { metadata: { "delta.identity.start": 1 } } })],
    ["varchar column n", plain, table({ field: { metadata: { __CHAR_VARCHAR_TYPE_STRING: "varchar(5)" } } })],
    ["partitioned by [], and our files by [date]", plain, table({ partition: [] })],
    ["format orc", plain, { ...table(), format: { provider: "orc", options: {} } }],
    ["schemaString cannot be read", plain, { ...table(), schemaString: "{" }],
    ["schemaString cannot be read", plain, { ...table(), schemaString: '{"fields":[null]}' }],
  ])("%s", (named, protocol, metadata) => {
    expect(() => requireWritable(protocol, metadata, "date")).toThrow(TableRefusedError);
    expect(() => requireWritable(protocol, metadata, "date")).toThrow(named);
  });

  test("all reasons are named at once", () => {
    const metadata = table({ field: { nullable: false }, configuration: { "delta.constraints.c": "n > 0" } });
    expect(() => requireWritable(features("rowTracking"), metadata, "date")).toThrow(
      /rowTracking.*CHECK constraint c.*NOT NULL column n.*Nothing was written/,
    );
  });
});
