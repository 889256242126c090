import * as zlib from "node:zlib";
import { CompressionCodec } from "../parquet/format.ts";
import type { PageCompressor } from "../parquet/page-compressor.ts";

/** In Node since 22.15, and not yet in the types of Node 20. */
const { zstdCompressSync, constants } = zlib as unknown as {
  zstdCompressSync?: (bytes: Uint8Array, options: ZstdOptions) => Uint8Array;
  constants: { ZSTD_c_compressionLevel: number };
};

interface ZstdOptions {
  readonly params: Readonly<Record<number, number>>;
  readonly chunkSize: number;
}

/** Below this size a call costs more (25 µs on the measuring machine) than it saves: the page becomes a stored block. */
const MIN_COMPRESSED = 256;

/**
 * Zstandard at level 1 by `node:zlib`, as Parquet's codec ZSTD wants it (Compression.md, "ZSTD"): each page is one frame. Null
 * where Node has no zstd.
 */
export const nodeZstd: PageCompressor | null =
  zstdCompressSync === undefined
    ? null
    : {
        codec: CompressionCodec.ZSTD,
        compress(page) {
          if (page.length < MIN_COMPRESSED) return storedFrame(page);
          // Room for the whole result, so that zlib makes and joins no further buffers.
          const chunkSize = page.length + (page.length >> 7) + 512;
          return zstdCompressSync(page, { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize });
        },
      };

/** A frame that holds up to 255 bytes as they are (RFC 8878, sections 3.1.1.1 and 3.1.1.2). */
export function storedFrame(bytes: Uint8Array): Uint8Array {
  const frame = new Uint8Array(9 + bytes.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, 0xfd2fb528, true);
  // Frame header: single segment, content size in one byte, no checksum.
  frame[4] = 0x20;
  frame[5] = bytes.length;
  // Block header: last block, raw, and the size.
  const block = 1 | (bytes.length << 3);
  frame[6] = block & 0xff;
  view.setUint16(7, block >> 8, true);
  frame.set(bytes, 9);
  return frame;
}
