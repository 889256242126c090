import type { CaptureLimits, Frame } from "@deltacap/capture";
import { type CaptureEnd, CaptureReader } from "@deltacap/capture";

/** A copy of what a frame held during the sink's call. */
export type Packet = Omit<Frame, "offset" | "bytes"> & { readonly bytes: Uint8Array };

export interface ReadResult {
  readonly end: CaptureEnd;
  readonly packets: readonly Packet[];
  readonly reader: CaptureReader;
}

/** Reads a capture that lies in memory, in chunks of `chunkLength` bytes; each chunk is overwritten after use. */
export function readPackets(
  capture: Uint8Array,
  chunkLength = Math.max(1, capture.length),
  limits: Partial<CaptureLimits> = {},
): ReadResult {
  const packets: Packet[] = [];
  const reader = new CaptureReader((frame) => packets.push(copyOf(frame)), limits);
  const chunk = new Uint8Array(Math.min(chunkLength, capture.length));
  for (let at = 0; at < capture.length; at += chunkLength) {
    const length = Math.min(chunkLength, capture.length - at);
    for (let i = 0; i < length; i++) chunk[i] = capture[at + i] ?? 0;
    if (!reader.push(chunk.subarray(0, length))) break;
    chunk.fill(0xee);
  }
  return { end: reader.finish(), packets, reader };
}

export function copyOf(frame: Frame): Packet {
  const { offset, bytes, ...fields } = frame;
  return { ...fields, bytes: bytes.slice(offset, offset + frame.capturedLength) };
}

/** The bytes in chunks of `length`, as a source would give them. */
export async function* inChunks(
  bytes: Uint8Array,
  length = Math.max(1, bytes.length),
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) {
    const chunk = new Uint8Array(bytes.subarray(at, at + length));
    yield chunk;
    // A source may use its buffer again once more is asked for.
    chunk.fill(0xee);
  }
}
