/**
 * The error families by which callers branch. Anything else that is thrown is a bug and must reach the top unchanged.
 *
 * - `RetryableError`: the world was in the way (network, throttling, a full disk): the same call may succeed later.
 * - `RejectedError`: this one input can never succeed (not a capture, an invalid manifest): set it aside, go on.
 * - `SupersededError`: the object was replaced since its event: its successor has an event of its own.
 * - `GoneError`: the object was deleted and has no successor. Its packets are lost unless an earlier delivery ingested them.
 * - `TableRefusedError`: the table is in a state that we must not write to: stop, touch nothing, call a person.
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

/** See {@link RetryableError}. `offset` is the byte position in the input where it became clear, 0 when it has none. */
export class RejectedError extends Error {
  override readonly name = "RejectedError";
  readonly offset: number;

  constructor(message: string, offset = 0, options?: ErrorOptions) {
    super(message, options);
    this.offset = offset;
  }
}

/** See {@link RetryableError}. */
export class SupersededError extends Error {
  override readonly name = "SupersededError";
}

/** See {@link RetryableError}. */
export class GoneError extends Error {
  override readonly name = "GoneError";
}

/** See {@link RetryableError}. */
export class TableRefusedError extends Error {
  override readonly name = "TableRefusedError";
}

/** See {@link RetryableError}. */
export class CommitInDoubtError extends Error {
  override readonly name = "CommitInDoubtError";
}
