/**
 * The error families of captures and manifests by which callers branch, beside those of the log and the stores in `@deltacap/delta`
 * (`RetryableError`, `TableRefusedError`, `CommitInDoubtError`). Anything else that is thrown is a bug and must reach the top
 * unchanged.
 *
 * - `RejectedError`: this one input can never succeed (not a capture, an invalid manifest): set it aside, go on.
 * - `SupersededError`: the object was replaced since its event: its successor has an event of its own.
 * - `GoneError`: the object was deleted and has no successor. Its packets are lost unless an earlier delivery ingested them.
 *
 * `offset` is the byte position in the input where it became clear, 0 when it has none.
 */
export class RejectedError extends Error {
  override readonly name = "RejectedError";
  readonly offset: number;

  constructor(message: string, offset = 0, options?: ErrorOptions) {
    super(message, options);
    this.offset = offset;
  }
}

/** See {@link RejectedError}. */
export class SupersededError extends Error {
  override readonly name = "SupersededError";
}

/** See {@link RejectedError}. */
export class GoneError extends Error {
  override readonly name = "GoneError";
}
