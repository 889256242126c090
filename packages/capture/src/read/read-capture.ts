import type { CaptureLimits } from "./capture-limits.ts";
import { type CaptureEnd, CaptureReader } from "./capture-reader.ts";
import { type DecompressionLimits, decompressed } from "./decompress.ts";
import { DamagedStreamError, type Decompressors } from "./decompressor.ts";
import type { FrameSink } from "./frame.ts";

/**
 * `pause` is called at multiples of so many bytes of the (decompressed) capture and at its end: what the sink collects stays
 * bounded, and where it is interrupted does not depend on the chunks in which a store gives the capture.
 */
const SLICE = 256 * 1024;

/**
 * Reads a whole capture, compressed or not, and gives its packets to `sink`. `pause` is awaited every 256 KiB of the capture
 * and at its end: there the caller can make room for what comes. Damage is a value; errors of the source, of `pause` and
 * `sink`, and `RejectedCaptureError` for a decompression bomb are thrown.
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
  let position = 0;
  let broken: string | undefined;
  try {
    for await (const chunk of decompressed(chunks, decompressors, limits)) {
      let wanted = true;
      for (let at = 0; wanted && at < chunk.length; ) {
        const slice = chunk.subarray(at, at + SLICE - (position % SLICE));
        wanted = reader.push(slice);
        at += slice.length;
        position += slice.length;
        if (position % SLICE === 0) await pause?.();
      }
      if (!wanted) break;
    }
  } catch (error) {
    // The stream's damage is the cause; that the capture ends inside a packet is its consequence.
    if (!(error instanceof DamagedStreamError)) throw error;
    broken = error.message;
  }
  if (position % SLICE !== 0) await pause?.();
  return reader.finish(broken);
}
