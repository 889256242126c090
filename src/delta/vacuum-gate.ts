import { TableRefusedError } from "../errors.ts";
import type { Protocol } from "./actions.ts";

/**
 * Table features that do not change which files a table's versions refer to, or by which we know them all (Delta protocol,
 * "Vacuum Protocol Check": whoever deletes files must understand every feature, readers' and writers').
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

/** Refuses a table whose files must not be deleted by who does not know all of its features, by name. */
export function requireVacuumable(protocol: Protocol): void {
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
  if (reasons.length > 0) {
    throw new TableRefusedError(
      `which files the table needs is not known to deltacap: ${reasons.join("; ")}. Nothing was deleted; run Spark's VACUUM instead`,
    );
  }
}
