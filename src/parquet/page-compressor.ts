import type { CompressionCodec } from "./format.ts";

/** Compresses pages one by one; what the runtime offers stands behind it. */
export interface PageCompressor {
  readonly codec: CompressionCodec;
  /** The whole page compressed, in an array that is the caller's. The same page gives the same bytes. */
  compress(page: Uint8Array): Uint8Array;
}
