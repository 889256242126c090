import type { CaptureLimits } from "./capture-limits.ts";
import { type CaptureEnd, CaptureReader } from "./capture-reader.ts";
import { type DecompressionLimits, decompressed } from "./decompress.ts";
import { DamagedStreamError, type Decompressors } from "./decompressor.ts";
import type { FrameSink } from "./frame.ts";

/** Bytes parsed between two calls of `pause`, so that what the sink collects stays bounded whatever the chunks. */
const SLICE = 256 * 1024;

/**
 * Reads a whole capture, compressed or not, and gives its packets to `sink`. `pause` is awaited now and then, no later than
 * every 256 KiB: there the caller can make room for what comes. Damage is a value; errors of the source, of `pause` and
 * `sink`, and `RejectedError` for a decompression bomb are thrown.
 */
export function readCapture(
  chunks: AsyncIterable<Uint8Array>,
  decompressors: Decompressors,
  sink: FrameSink,
  limits: DecompressionLimits & Partial<CaptureLimits>,
  pause?: () => Promise<void>,
): Promise<CaptureEnd> {
  return readInto(new CaptureReader(sink, limits), chunks, decompressors, limits, pause);
}

/** {@link readCapture} with the caller's own reader, whose `summary` tells more than the end does. */
export async function readInto(
  reader: CaptureReader,
  chunks: AsyncIterable<Uint8Array>,
  decompressors: Decompressors,
  limits: DecompressionLimits,
  pause?: () => Promise<void>,
): Promise<CaptureEnd> {
  try {
    for await (const chunk of decompressed(chunks, decompressors, limits)) {
      for (let at = 0; at < chunk.length; at += SLICE) {
        if (!reader.push(chunk.subarray(at, at + SLICE))) return reader.finish();
        await pause?.();
      }
    }
    return reader.finish();
  } catch (error) {
    // The stream's damage is the cause; that the capture ends inside a packet is its consequence.
    if (error instanceof DamagedStreamError) return reader.finish(error.message);
    throw error;
  }
}
