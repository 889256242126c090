import type { Protocol } from "./actions.ts";

/**
 * Table features whose actions we know, field by field: those that do not change which files a table's versions refer to, or by
 * which we know them all, and that add nothing to a checkpoint but what `checkpointSchema` has.
 */
const UNDERSTOOD_FEATURES = new Set([
  "appendOnly",
  "invariants",
  "checkConstraints",
  "changeDataFeed",
  "generatedColumns",
  "identityColumns",
  "allowColumnDefaults",
  "columnMapping",
  "deletionVectors",
  "v2Checkpoint",
  "domainMetadata",
  "clustering",
  "rowTracking",
  "inCommitTimestamp",
  "typeWidening",
  "typeWidening-preview",
  "timestampNtz",
  "vacuumProtocolCheck",
]);

const LEGACY_READER = 2;
const LEGACY_WRITER = 6;
const FEATURES_READER = 3;
const FEATURES_WRITER = 7;

/**
 * What of the protocol keeps us from telling the table's whole state, by name; empty where nothing does. Readers' and writers'
 * features both count (Delta protocol, "Vacuum Protocol Check").
 */
export function notUnderstood(protocol: Protocol): string[] {
  const { minReaderVersion, minWriterVersion, readerFeatures = [], writerFeatures = [] } = protocol;
  const reasons: string[] = [];
  if (minReaderVersion > LEGACY_READER && minReaderVersion !== FEATURES_READER) {
    reasons.push(`minReaderVersion ${minReaderVersion}`);
  }
  if (minWriterVersion > LEGACY_WRITER && minWriterVersion !== FEATURES_WRITER) {
    reasons.push(`minWriterVersion ${minWriterVersion}`);
  }
  for (const feature of new Set([...readerFeatures, ...writerFeatures])) {
    if (!UNDERSTOOD_FEATURES.has(feature)) reasons.push(`table feature ${feature}`);
  }
  return reasons;
}
