import type { CaptureSource } from "./capture-store.ts";
import type { Damage } from "./ledger.ts";
import type { SourceId } from "./source-id.ts";

/** A Parquet file that a converter has put and nobody has committed yet. */
export interface DataFile {
  /** Relative to the table's folder, raw (not percent-encoded). */
  readonly path: string;
  readonly size: number;
  /** Partition column -> value; null for the null partition. */
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly rows: number;
  /** Delta `stats`: a JSON string, ready for the add action. */
  readonly stats: string;
}

/** A capture whose rows are in the batch's files. */
export interface ManifestSource extends Omit<CaptureSource, "vehicleId" | "restored"> {
  readonly id: SourceId;
  /** Lower-case hex of the content's SHA-256, where the id is made from it instead of the eTag; absent otherwise. */
  readonly contentSha256?: string;
  readonly packets: number;
  readonly damage?: Damage;
  /** See the ledger's entry. */
  readonly continues?: SourceId;
}

/**
 * What one converter batch wants committed: its files with all rows of its sources, and nothing else in them. The atomic
 * unit of exactly once: added whole, or not at all.
 */
export interface Manifest {
  /** Of the format, 1 now. A committer reads every format up to its own. */
  readonly manifestVersion: 1;
  readonly batchId: string;
  /** Milliseconds since 1970: when the batch was written. */
  readonly createdMs: number;
  readonly files: readonly DataFile[];
  /** At most {@link MAX_SOURCES}. */
  readonly sources: readonly ManifestSource[];
}

/** Sources a manifest, and a commit, may carry. */
export const MAX_SOURCES = 50_000;
