/**
 * A streaming decompressor for one format. Concatenated members (gzip) and frames (zstd) are one stream of bytes.
 * Iteration throws `DamagedStreamError` at the first byte that does not decode, after everything before it was yielded.
 */
export type Decompressor = (compressed: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** The decompressors that the runtime offers; told apart by content, never by name. */
export interface Decompressors {
  readonly gzip: Decompressor;
  readonly zstd: Decompressor;
}

/** Compressed data that ends early or contradicts itself. */
export class DamagedStreamError extends Error {
  override readonly name = "DamagedStreamError";
}
