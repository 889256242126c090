import type { FileHandle } from "node:fs/promises";

const NEWLINE = 0x0a;

/** Bytes a read while a file's lines are looked through. */
const CHUNK_BYTES = 4 * 1024 * 1024;
/** Longest line that is kept; a longer one, such as a tail of zeros after a power loss, is passed over. */
const MAX_LINE_BYTES = 1024 * 1024;

/** Bytes read at first for one line: most are shorter. */
const LINE_BYTES = 512;

/**
 * Calls `onLine` for each complete line between the byte offsets `from` and `to`, in order: the line is bytes `start` to `end`
 * of `bytes`, valid during the call, and begins at byte `offset` of the file. Returns the offset behind the last line end.
 * Memory: two chunks, whatever the file's size.
 */
export async function forEachLine(
  file: FileHandle,
  from: number,
  to: number,
  onLine: (bytes: Buffer, start: number, end: number, offset: number) => void,
  chunkBytes = CHUNK_BYTES,
): Promise<number> {
  const chunk = Buffer.alloc(Math.min(chunkBytes, to - from));
  /** The beginning of a line whose end is not read yet; null while a line that is too long is passed over. */
  let carried: Buffer | null = Buffer.alloc(0);
  let carriedFrom = from;
  let behind = from;
  for (let position = from; position < to; ) {
    const { bytesRead } = await file.read(chunk, 0, Math.min(chunk.length, to - position), position);
    if (bytesRead === 0) break;
    const bytes = chunk.subarray(0, bytesRead);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      if (carried === null) carried = Buffer.alloc(0);
      else if (carried.length > 0) {
        const line = Buffer.concat([carried, bytes.subarray(0, end)]);
        onLine(line, 0, line.length, carriedFrom);
        carried = Buffer.alloc(0);
      } else onLine(bytes, start, end, position + start);
      start = end + 1;
      behind = position + start;
    }
    if (carried !== null && start < bytesRead) {
      if (carried.length === 0) carriedFrom = position + start;
      const length: number = carried.length + bytesRead - start;
      carried = length > MAX_LINE_BYTES ? null : Buffer.concat([carried, bytes.subarray(start)]);
    }
    position += bytesRead;
  }
  return behind;
}

/** Returns the line that begins at the byte offset, without its end; what is left of the file where no line end follows. */
export async function lineAt(file: FileHandle, offset: number): Promise<string> {
  for (let length = LINE_BYTES; ; length *= 8) {
    const bytes = Buffer.alloc(length);
    const { bytesRead } = await file.read(bytes, 0, length, offset);
    const end = bytes.subarray(0, bytesRead).indexOf(NEWLINE);
    if (end !== -1) return bytes.toString("utf8", 0, end);
    if (bytesRead < length || length > MAX_LINE_BYTES) return bytes.toString("utf8", 0, bytesRead);
  }
}
