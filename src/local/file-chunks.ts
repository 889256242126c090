import { type FileHandle, open } from "node:fs/promises";

/** Bytes a read: large enough that reading costs little beside decoding. */
const CHUNK = 1024 * 1024;

/**
 * A file's bytes in order. Every chunk lies in the same buffer and is overwritten by the next one: reading a large file makes
 * no garbage, which the collector would let pile up.
 */
export async function* fileChunks(path: string): AsyncGenerator<Uint8Array, void> {
  const buffer = new Uint8Array(CHUNK);
  let file: FileHandle | null = null;
  try {
    file = await open(path);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file?.close();
  }
}
