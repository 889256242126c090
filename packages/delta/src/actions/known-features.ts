import type { Protocol } from "./actions.ts";

/**
 * What may be done to a table that has a feature (Delta protocol; sections in quotes):
 *
 * - `append`: a blind append of whole files without deletion vectors, with exact `numRecords`, that leaves protocol, domains,
 *   checkpoints and old files alone. A feature that binds writers only where a property or a field makes use of it is here too: the
 *   use is refused by its own name (`protocol-gate.ts`).
 * - `rewrite`: reading Parquet files and their deletion vectors and writing whole Parquet files in their place, with the schema and
 *   the properties as they are ("Requirements for Writers" of each).
 * - `state`: telling which files the table's versions refer to, so that others may be deleted, and a checkpoint may be written that
 *   has nothing but what `checkpointSchema` has. Its actions are known field by field.
 */
export type TableWork = "append" | "rewrite" | "state";

const all: readonly TableWork[] = ["append", "rewrite", "state"];

/** A feature that is not here is refused, whatever is to be done. */
const FEATURES: Readonly<Record<string, readonly TableWork[]>> = {
  // An append neither changes nor removes rows: "Append-only Tables". That removing them is refused is a matter of the property.
  appendOnly: all,
  // A commit that only adds data needs no change data files: "Change Data Files". Removing rows is refused by the property.
  changeDataFeed: all,
  // Only a file that is added with a vector must have one thing more, `numRecords`, which ours have anyway: "Writer Requirement for
  // Deletion Vectors". Bounds of a file without a vector are tight by default: "Per-file Statistics".
  deletionVectors: all,
  // Commits are the same, and a classic checkpoint remains allowed: "V2 Checkpoint Table Feature".
  v2Checkpoint: all,
  // Domains that a commit does not name stay as they are: "Writer Requirements for Domain Metadata".
  domainMetadata: all,
  // `delta.typeChanges` stays in the schema when it grows: "Writer Requirements for Type Widening".
  typeWidening: all,
  "typeWidening-preview": all,
  // Types of columns that are not ours: our files lack them, and readers give nulls.
  timestampNtz: all,
  variantType: ["append"],
  variantShredding: ["append"],
  // Binds those who vacuum: "Writer Requirements for Vacuum Protocol Check".
  vacuumProtocolCheck: all,
  // Binds those who delete old commits and checkpoints, which deltacap does not.
  checkpointProtection: ["append"],
  // Active by a property.
  columnMapping: all,
  inCommitTimestamp: ["append", "state"],
  icebergCompatV1: ["append"],
  icebergCompatV2: ["append"],
  icebergCompatV3: ["append"],
  // Active by a property's prefix or a field's metadata.
  invariants: all,
  checkConstraints: all,
  generatedColumns: all,
  identityColumns: all,
  allowColumnDefaults: ["append", "state"],
  // What is added needs row ids, or to be clustered.
  rowTracking: ["state"],
  clustering: ["state"],
};

/** Versions whose meaning the protocol fixes; what those up to these bring is refused by name where it is in use. */
const LEGACY_READER = 2;
const LEGACY_WRITER = 6;
const FEATURES_READER = 3;
const FEATURES_WRITER = 7;

/**
 * What is wrong with a protocol that no table may have (Delta protocol, "Protocol Evolution" and "Table Features"); null where
 * nothing is. Which features a table makes use of is not known without their lists.
 */
export function protocolProblem(protocol: Protocol): string | null {
  const { minReaderVersion: reader, minWriterVersion: writer, readerFeatures, writerFeatures } = protocol;
  if (reader < 1 || writer < 1) return `has reader version ${reader} and writer version ${writer}`;
  if (reader === FEATURES_READER && readerFeatures === undefined)
    return "has reader version 3 and no readerFeatures";
  if (writer === FEATURES_WRITER && writerFeatures === undefined)
    return "has writer version 7 and no writerFeatures";
  return null;
}

/**
 * What of the protocol keeps us from the work, by name; empty where nothing does. Readers' and writers' features both count (for
 * deleting files: "Vacuum Protocol Check"). `exempt`: features that the table has, but makes no use of.
 */
export function protocolObstacles(
  protocol: Protocol,
  work: TableWork,
  exempt: readonly string[] = [],
): string[] {
  const { minReaderVersion, minWriterVersion, readerFeatures = [], writerFeatures = [] } = protocol;
  const obstacles: string[] = [];
  if (minReaderVersion > LEGACY_READER && minReaderVersion !== FEATURES_READER) {
    obstacles.push(`minReaderVersion ${minReaderVersion}`);
  }
  if (minWriterVersion > LEGACY_WRITER && minWriterVersion !== FEATURES_WRITER) {
    obstacles.push(`minWriterVersion ${minWriterVersion}`);
  }
  for (const feature of new Set([...readerFeatures, ...writerFeatures])) {
    const allowed = Object.hasOwn(FEATURES, feature) ? FEATURES[feature] : undefined;
    if (allowed?.includes(work) || exempt.includes(feature)) continue;
    obstacles.push(`table feature ${feature}`);
  }
  return obstacles;
}
