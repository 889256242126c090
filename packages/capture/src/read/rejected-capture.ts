/** A capture that can never be read, such as a decompression bomb: set it aside, go on with others. */
export class RejectedCaptureError extends Error {
  override readonly name = "RejectedCaptureError";
  /** Byte of the decompressed content at which it became clear. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}
