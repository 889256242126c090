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
      /**
       * Of a capture in a folder: the ledger knows it by its content. Absent in what older versions wrote, whose ids are made from
       * paths, and for S3.
       */
      readonly byContent?: true;
      /** Of a capture in a folder that an older version committed: the id that it has in the table and in the log. */
      readonly rowsId?: SourceId;
      /**
       * A source in the table that this one begins with, byte for byte: an upload of the same capture before it was complete, whose
       * packets are there twice.
       */
      readonly continues?: SourceId;
      /** Version in which its vehicle was forgotten: its rows are gone, and it is not to be ingested again unasked. */
      readonly forgottenIn?: number;
    }
  | {
      readonly status: "rejected";
      readonly capture: string;
      readonly reason: string;
      readonly offset: number;
    }
  | { readonly status: "empty"; readonly capture: string }
  | UnfinishedEntry;

/** Not of a source, but of a capture: the last source of it that ended inside a packet. It may have been uploaded while it grew. */
export interface UnfinishedEntry {
  readonly status: "unfinished";
  readonly capture: string;
  readonly source: SourceId;
  /** Bytes of that source. */
  readonly size: number;
  /** Lower-case hex: SHA-256 or MD5 of its content; an eTag that is neither matches nothing. */
  readonly hash: string;
}

/** What is noted of sources, and captures, beside the commits. */
export type AsideEntry = Exclude<LedgerEntry, { readonly status: "committed" }>;

/** The entry of a source whose rows are in the table. */
export type CommittedEntry = LedgerEntry & { readonly status: "committed" };

/** The newest version that says something of the source. */
export function newestVersion({ version, forgottenIn }: CommittedEntry): number {
  return forgottenIn ?? version;
}

/** How far a ledger is an index, and of which log. */
export interface Watermark {
  /** The ledger holds every source that was committed up to this version. */
  readonly version: number;
  /** What tells that version's commit from any other of its number; absent where it was written by an older Deltacap. */
  readonly commit?: string;
}

/**
 * Index of the log: source id -> what became of it. All reads are strongly consistent; a call resolves only when every
 * key and item was handled, and throws `RetryableError` otherwise.
 */
export interface Ledger {
  /** How a person has it made anew from the log, as a sentence: where its entries lie, and what to do with them. */
  readonly remake: string;
  /** Entries of the ids that have one. */
  lookup(ids: readonly SourceId[]): Promise<Map<SourceId, LedgerEntry>>;
  /** Writes entries of committed sources; replaces `rejected` and `empty`, and a `committed` of the same or an older version. */
  putCommitted(entries: ReadonlyMap<SourceId, LedgerEntry & { status: "committed" }>): Promise<void>;
  /** Writes entries on condition that the source is not `committed`. */
  putSetAside(entries: ReadonlyMap<SourceId, AsideEntry>): Promise<void>;
  /** Null when nobody has said up to where the ledger is complete. */
  watermark(): Promise<Watermark | null>;
  /** Moves the watermark forward; never back (one that is not beyond it is ignored). */
  advanceWatermark(to: Watermark): Promise<void>;
}
