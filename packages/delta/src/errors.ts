/**
 * The error families by which callers of the log and of the stores branch. Anything else that is thrown is a bug and must reach the
 * top unchanged.
 *
 * - `RetryableError`: an external system failed (network, throttling, a full disk): the same call may succeed later.
 * - `TableRefusedError`: the table is in a state that must not be written to: stop, touch nothing, call a person.
 * - `CommitInDoubtError`: a commit was sent and its outcome is unknown: acknowledge nothing, find out in the next run.
 */
export class RetryableError extends Error {
  override readonly name = "RetryableError";
}

/**
 * A `RetryableError` of a write that certainly did not happen, and never will: where it was a commit, its outcome is known. Other
 * errors of a write leave that open.
 */
export class NothingWrittenError extends RetryableError {}

/** See {@link RetryableError}. */
export class TableRefusedError extends Error {
  override readonly name = "TableRefusedError";
}

/** See {@link RetryableError}. */
export class CommitInDoubtError extends Error {
  override readonly name = "CommitInDoubtError";
}
