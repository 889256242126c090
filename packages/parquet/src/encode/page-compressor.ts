import type { ByteBuffer } from "../memory/byte-buffer.ts";
import type { CompressionCodec } from "./format.ts";

/** Compresses pages one by one; what the runtime offers stands behind it. */
export interface PageCompressor {
  readonly codec: CompressionCodec;
  /** Appends the whole page, or the next piece of a long one, compressed by itself, to `out`. The same page gives the same bytes. */
  compress(page: Uint8Array, out: ByteBuffer): void;
}
