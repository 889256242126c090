import type { Decompressors } from "./decompressor.ts";
import { RejectedCaptureError } from "./rejected-capture.ts";

/** What a compressed capture may grow to: an object of a few kilobytes can hold gigabytes of nothing. */
export interface DecompressionLimits {
  /** Decompressed bytes of one capture. */
  readonly decompressedBytes: number;
  /** Decompressed bytes for each compressed one, judged once `decompressedFloor` bytes came out. */
  readonly decompressionRatio: number;
  readonly decompressedFloor: number;
}

/**
 * Compressed bytes that a decompressor gets at once: at first so few that a bomb is judged by what it has consumed, not by a
 * large chunk of which a corner made gigabytes; then a share of what came before.
 */
const FIRST_PIECE = 4096;
const PIECE_SHARE = 1 / 4;

/** Bytes that tell the compression: a gzip member's magic and method, or a zstd frame's magic. */
const MAGIC_LENGTH = 4;

/**
 * The capture's own bytes: gzip (RFC 1952) and zstd (RFC 8878) are told by their first bytes and unpacked, anything else
 * passes through. Throws `RejectedCaptureError` for a decompression bomb, and what the decompressor throws for damage.
 */
export async function* decompressed(
  chunks: AsyncIterable<Uint8Array>,
  decompressors: Decompressors,
  limits: DecompressionLimits,
): AsyncIterable<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  const first = await firstBytes(iterator);
  let compressedBytes = 0;
  const counted = async function* () {
    for await (const chunk of rejoined(first, iterator)) {
      for (let at = 0; at < chunk.length; ) {
        const length = Math.max(FIRST_PIECE, Math.floor(compressedBytes * PIECE_SHARE));
        const piece = chunk.subarray(at, at + length);
        at += piece.length;
        compressedBytes += piece.length;
        yield piece;
      }
    }
  };
  const compression = compressionOf(first);
  if (compression === null) {
    yield* rejoined(first, iterator);
    return;
  }
  let bytes = 0;
  for await (const chunk of decompressors[compression](counted())) {
    bytes += chunk.length;
    checkBomb(bytes, compressedBytes, limits);
    yield chunk;
  }
}

function checkBomb(bytes: number, compressedBytes: number, limits: DecompressionLimits): void {
  if (bytes > limits.decompressedBytes) {
    throw new RejectedCaptureError(
      `decompression bomb: more than ${limits.decompressedBytes} bytes come out (setting decompressedBytes)`,
      bytes,
    );
  }
  if (bytes > limits.decompressedFloor && bytes > compressedBytes * limits.decompressionRatio) {
    throw new RejectedCaptureError(
      `decompression bomb: ${bytes} bytes came out of ${compressedBytes}, and at most ${limits.decompressionRatio} for each are allowed (setting decompressionRatio)`,
      bytes,
    );
  }
}

/** Bytes until the compression can be told, or all there are. */
async function firstBytes(iterator: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let first = new Uint8Array(0);
  while (first.length < MAGIC_LENGTH) {
    const { done, value } = await iterator.next();
    if (done) break;
    const joined = new Uint8Array(first.length + value.length);
    joined.set(first);
    joined.set(value, first.length);
    first = joined;
  }
  return first;
}

async function* rejoined(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  let ended = false;
  try {
    if (first.length > 0) yield first;
    for (;;) {
      const { done, value } = await rest.next();
      if (done) {
        ended = true;
        return;
      }
      yield value;
    }
  } finally {
    // Stopping early must close the file or socket behind the iterator.
    if (!ended) await rest.return?.();
  }
}

function compressionOf(bytes: Uint8Array): "gzip" | "zstd" | null {
  if (bytes.length < 3) return null;
  if (bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 8) return "gzip";
  if (bytes.length < MAGIC_LENGTH) return null;
  const magic = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  // A zstd frame, or one of the 16 kinds of skippable frame that may stand before it (RFC 8878 section 3.1.2).
  return magic === 0xfd2f_b528 || (magic & 0xffff_fff0) >>> 0 === 0x184d_2a50 ? "zstd" : null;
}
