import * as zlib from "node:zlib";
import type { ByteBuffer, PageCompressor } from "@deltacap/parquet";
import { CompressionCodec } from "@deltacap/parquet";

/** In Node since 22.15, and not yet in the types of Node 20. */
const { zstdCompressSync, constants } = zlib as unknown as {
  zstdCompressSync?: (bytes: Uint8Array, options: ZstdOptions) => Uint8Array;
  constants: { ZSTD_c_compressionLevel: number };
};

const FRAME_MAGIC = 0xfd2fb528;

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
        compress(page, out) {
          if (page.length < MIN_COMPRESSED) return writeStoredFrame(page, out);
          // Room for the whole result, so that zlib makes and joins no further buffers.
          const chunkSize = page.length + (page.length >> 7) + 512;
          const params = { [constants.ZSTD_c_compressionLevel]: 1 };
          const frame = zstdCompressSync(page, { params, chunkSize });
          out.append(frame);
          if (frame.buffer.byteLength === chunkSize) release(frame.buffer);
        },
      };

/**
 * Frees zlib's output at once. Left to the collector, which sees small objects and not what they hold, it piles up
 * and sets off whole collections: peak memory for a million packets was 195 MB instead of 137, with 12 whole collections instead
 * of 7 (Node 24, x86-64).
 */
function release(buffer: ArrayBufferLike): void {
  // In Node since 21.
  (buffer as unknown as { transfer(length: number): unknown }).transfer(0);
}

// V8 compiles code for typed arrays as if none ever lost its memory, and throws all of it away when the first one does. Here it
// does before there is such code: 300,000 packets take 0.92 times the CPU time (medians of nine pairs, Node 24, x86-64).
if (nodeZstd !== null) release(new ArrayBuffer(1));

/** A frame that holds up to 255 bytes as they are (RFC 8878, sections 3.1.1.1 and 3.1.1.2). */
export function writeStoredFrame(bytes: Uint8Array, out: ByteBuffer): void {
  out.int32(FRAME_MAGIC);
  // Frame header: single segment, content size in one byte, no checksum.
  out.byte(0x20);
  out.byte(bytes.length);
  // Block header: last block, raw, and the size.
  const block = 1 | (bytes.length << 3);
  out.byte(block & 0xff);
  out.byte(block >> 8);
  out.byte(0);
  out.append(bytes);
}
