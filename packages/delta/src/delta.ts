export {
  type Action,
  type Add,
  type DeletionVector,
  type Metadata,
  type Protocol,
  parseActions,
  serializeActions,
} from "./actions/actions.ts";
export { commitId } from "./actions/commit-id.ts";
export { stringifyJson } from "./actions/json.ts";
export { objectPath } from "./actions/object-path.ts";
export type { ReconciledLog } from "./actions/reconciled-log.ts";
export { tombstoneRetention } from "./actions/retention.ts";
export { isTypeOf, schemaFields, schemaString, schemaUnion } from "./actions/schema.ts";
export { requireTableState } from "./actions/table-state.ts";
export { fieldsWithoutPlace } from "./checkpoint/checkpoint-content.ts";
export { checkpointSchema } from "./checkpoint/checkpoint-schema.ts";
export { writeCheckpoint } from "./checkpoint/checkpoint-writer.ts";
export { CommitInDoubtError, RetryableError, TableRefusedError } from "./errors.ts";
export { DataFileReader, UnreadableFileError } from "./files/data-file-reader.ts";
export { deltaStatistics } from "./files/file-statistics.ts";
export type { RowGroupSummary } from "./files/row-group-summary.ts";
export { mayHoldText, statedRows } from "./files/skip-files.ts";
export { checkpointObstacles } from "./gates/checkpoint-gate.ts";
export { requireWritable } from "./gates/protocol-gate.ts";
export { requireReadable } from "./gates/readable-rows.ts";
export { fileColumnsOf, type Rewriting, requireRewritable } from "./gates/rewritable-table.ts";
export { requireVacuumable } from "./gates/vacuum-gate.ts";
export { LogFollower } from "./log/log-follower.ts";
export { liveFiles, reconcileLog } from "./log/reconcile.ts";
export { ReferencedFiles } from "./log/referenced-files.ts";
export {
  advanced,
  listVersions,
  loggedVersions,
  readCommit,
  readCommits,
  readLogSegment,
  readSnapshot,
  refreshed,
  type Snapshot,
} from "./log/snapshot.ts";
export { ConditionalLogStore } from "./stores/conditional-log-store.ts";
export { commitFileName, type LogFile, type LogStore } from "./stores/log-store.ts";
export type { ObjectInfo, ObjectStore, ObjectWriter } from "./stores/object-store.ts";
export { readAhead } from "./stores/read-ahead.ts";
export { base64, fromBase64 } from "./vectors/base64.ts";
export { hasDeletionVector, statedDeletedRows } from "./vectors/deletion-vector.ts";
