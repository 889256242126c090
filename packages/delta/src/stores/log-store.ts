/** A file in `_delta_log`, as listed. */
export interface LogFile {
  /** Name without the folder: `00000000000000000010.json`, `00000000000000000010.checkpoint.parquet`, ... */
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/**
 * Outcome of an attempt to write version N. `conflict`: N exists and is somebody else's. An unknown outcome is thrown as
 * `CommitInDoubtError`, a store that does not answer before anything was written as `RetryableError`.
 */
export type CommitOutcome = "committed" | "conflict";

/** The commit protocol: version N exists at most once and is never changed. */
export interface LogStore {
  /** Finishes what a crashed writer left. Throws `TableRefusedError` when that cannot be done without loss. */
  repair(): Promise<void>;
  /** Files of the log whose name is at least `from`, in name order; only direct children of `_delta_log`. */
  list(from: string): AsyncIterable<LogFile>;
  /**
   * A file which shows that there was a log, in the log's folder or a folder within; null where there is none. Temporary files of
   * commits do not count. Only asked where `list` gives neither a commit nor a checkpoint.
   */
  remains(): Promise<string | null>;
  /** Bytes of one log file, null when it is not there. With a range: `length` bytes from `start` (of a checkpoint). */
  read(name: string, range?: { start: number; length: number }): Promise<Uint8Array | null>;
  /**
   * Writes version `version` with this body, unless it exists. The body's commitInfo holds a unique `txnId`, by which an
   * adapter tells its own commit after a lost reply from somebody else's.
   */
  commit(version: number, body: Uint8Array): Promise<CommitOutcome>;
}

/** `%020d.json`. */
export function commitFileName(version: number): string {
  return `${String(version).padStart(20, "0")}.json`;
}
