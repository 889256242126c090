import type { Frame } from "@deltacap/capture";

export interface ReadCount {
  /** Bytes read, each time they are read. */
  reads: number;
  /** Places in the buffer that were read although they are not the frame's. */
  readonly outside: number[];
}

/** Makes the frame count how often its bytes are read, and where outside of it. */
export function watchReads(frame: Frame): ReadCount {
  const count: ReadCount = { reads: 0, outside: [] };
  const first = frame.offset;
  const end = frame.offset + frame.capturedLength;
  frame.bytes = new Proxy(frame.bytes, {
    get(bytes, name) {
      const at = Number(name);
      count.reads++;
      if (!(at >= first && at < end)) count.outside.push(at);
      return bytes[at];
    },
  });
  return count;
}
