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
export async function readCapture(
  chunks: AsyncIterable<Uint8Array>,
  decompressors: Decompressors,
  sink: FrameSink,
  limits: DecompressionLimits,
  pause: () => Promise<void>,
): Promise<CaptureEnd> {
  const reader = new CaptureReader(sink);
  let position = 0;
  try {
    for await (const chunk of decompressed(chunks, decompressors, limits)) {
      position += chunk.length;
      for (let at = 0; at < chunk.length; at += SLICE) {
        if (!reader.push(chunk.subarray(at, at + SLICE))) return reader.finish();
        await pause();
      }
    }
  } catch (error) {
    if (!(error instanceof DamagedStreamError)) throw error;
    const end = reader.finish();
    const { message: reason } = error;
    // The stream's damage is the cause; that the capture ends inside a record is its consequence.
    return end.kind === "complete" && end.packets > 0
      ? { kind: "damaged", packets: end.packets, offset: position, reason }
      : end.kind === "damaged"
        ? { ...end, reason }
        : { kind: "rejected", offset: position, reason };
  }
  return reader.finish();
}
