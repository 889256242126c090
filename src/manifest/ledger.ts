import type { SourceId } from "./source-id.ts";

/** Where and why a capture stopped being readable. */
export interface Damage {
  /** Byte position in the (decompressed) capture. */
  readonly offset: number;
  readonly reason: string;
}

/** What became of a source. Only `committed` stops it from being ingested again. */
export type LedgerEntry =
  | {
      readonly status: "committed";
      readonly version: number;
      /** Absent in entries that were replayed from the log. */
      readonly capture?: string;
      readonly batchId?: string;
      readonly packets?: number;
      readonly damage?: Damage;
    }
  | {
      readonly status: "rejected";
      readonly capture: string;
      readonly reason: string;
      readonly offset: number;
    }
  | { readonly status: "empty"; readonly capture: string };

/**
 * Index of the log: source id -> what became of it. All reads are strongly consistent; a call resolves only when every
 * key and item was handled, and throws `RetryableError` otherwise.
 */
export interface Ledger {
  /** Entries of the ids that have one. */
  lookup(ids: readonly SourceId[]): Promise<Map<SourceId, LedgerEntry>>;
  /** Writes entries of committed sources; replaces `rejected` and `empty`, and a `committed` of the same version. */
  putCommitted(entries: ReadonlyMap<SourceId, LedgerEntry & { status: "committed" }>): Promise<void>;
  /** Writes `rejected` or `empty` on condition that the source is not `committed`. */
  putSetAside(entries: ReadonlyMap<SourceId, LedgerEntry & { status: "rejected" | "empty" }>): Promise<void>;
  /** The version up to which the ledger is known to hold every committed source; null when nobody has said. */
  watermark(): Promise<number | null>;
  /** Moves the watermark forward; never back (a lower one is ignored). */
  advanceWatermark(version: number): Promise<void>;
}
