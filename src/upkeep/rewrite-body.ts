import type { Rewriting } from "@deltacap/delta";
import { type Action, type Add, deltaStatistics, hasDeletionVector, serializeActions } from "@deltacap/delta";
import type { WrittenFile } from "@deltacap/parquet";
import { type CommitIdentity, encodedPath } from "../commit/commit-body.ts";
import { forgottenTags } from "../commit/commit-tags.ts";
import type { SourceId } from "../manifest/source-id.ts";
import { packetTable } from "../packets/packet-table.ts";

/** Files that go, and files that come in their place. */
export interface Rewrite {
  readonly operation: Rewriting;
  /** What was asked for, in SQL; null for all. */
  readonly predicate: string | null;
  readonly removed: readonly Add[];
  readonly added: readonly WrittenFile[];
  /** Rows that are gone with it. */
  readonly deletedRows?: number;
  /** Sources of which they were, where they must not be ingested again. */
  readonly forgotten?: readonly SourceId[];
}

/**
 * The commit of a rewriting, planned on `readVersion`. OPTIMIZE changes no data (`dataChange: false`): readers that follow the
 * table leave it out, and other writers' transactions do not conflict with it but by the files themselves. The sources' tags
 * stay with the commits that brought them.
 */
export function rewriteBody(rewrite: Rewrite, readVersion: number, identity: CommitIdentity): Uint8Array {
  const { operation, removed, added } = rewrite;
  const dataChange = operation === "DELETE";
  const actions: Action[] = [{ commitInfo: commitInfo(rewrite, readVersion, identity) }];
  for (const file of removed) {
    const remove = {
      path: file.path,
      deletionTimestamp: identity.timestamp,
      dataChange,
      extendedFileMetadata: true,
      partitionValues: file.partitionValues,
      size: file.size,
      // Part of the logical file's name: without it, another file would be removed.
      ...(hasDeletionVector(file) ? { deletionVector: file.deletionVector } : {}),
    };
    actions.push({ remove });
  }
  for (const file of added) {
    const add = {
      path: encodedPath(file.path),
      partitionValues: { [packetTable.partitionColumn]: file.date },
      size: file.size,
      modificationTime: identity.timestamp,
      dataChange,
      stats: deltaStatistics(file.rows, file.statistics),
    };
    actions.push({ add });
  }
  return serializeActions(actions);
}

function commitInfo(
  { operation, predicate, removed, added, deletedRows, forgotten = [] }: Rewrite,
  readVersion: number,
  { timestamp, engineInfo, txnId }: CommitIdentity,
) {
  const bytes = (files: readonly { readonly size: number }[]) =>
    String(files.reduce((sum, { size }) => sum + size, 0));
  const tags = forgottenTags(forgotten);
  return {
    timestamp,
    operation,
    operationParameters: { predicate: JSON.stringify(predicate === null ? [] : [predicate]) },
    readVersion,
    isolationLevel: operation === "OPTIMIZE" ? "SnapshotIsolation" : "WriteSerializable",
    isBlindAppend: false,
    operationMetrics: {
      numRemovedFiles: String(removed.length),
      numRemovedBytes: bytes(removed),
      numAddedFiles: String(added.length),
      numAddedBytes: bytes(added),
      numOutputRows: String(added.reduce((sum, { rows }) => sum + rows, 0)),
      ...(deletedRows === undefined ? {} : { numDeletedRows: String(deletedRows) }),
    },
    engineInfo,
    txnId,
    ...(Object.keys(tags).length === 0 ? {} : { tags }),
  };
}
