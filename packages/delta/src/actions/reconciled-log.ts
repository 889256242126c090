import type { Action, DomainMetadata, Metadata, Protocol, Txn } from "./actions.ts";

/** A table's whole state at one version (Delta protocol, "Action Reconciliation"). */
export interface ReconciledLog {
  readonly version: number;
  /** Of the checkpoint that the state was read from; null where it was read from commits alone. */
  readonly checkpointVersion: number | null;
  readonly protocol: Protocol;
  readonly metadata: Metadata;
  /** The newest of each application. */
  readonly transactions: readonly Txn[];
  /** The newest of each domain; those that were removed are left out. */
  readonly domains: readonly DomainMetadata[];
  /**
   * The adds that are live and the newest removes of files that are not, each in an action of its own, in no order. Removes are
   * given however old they are (see `tombstoneRetention`). Each call reads the checkpoint anew, and the commits if they have many.
   *
   * Memory: the paths that changed since the checkpoint, a row group of the checkpoint, and some 50 bytes for each of its files;
   * never the list of files. Throws `TableRefusedError` for a checkpoint with a file that is live twice.
   */
  files(): AsyncIterable<readonly Action[]>;
}
