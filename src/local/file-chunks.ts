import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { RetryableError } from "@deltacap/delta";

/** Bytes a read: large enough that reading costs little beside decoding. */
const CHUNK = 1024 * 1024;

/**
 * A file's bytes in order. Every chunk lies in the same buffer and is overwritten by the next one: reading a large file makes
 * no garbage, which the collector would let pile up.
 */
export async function* fileChunks(path: string): AsyncGenerator<Uint8Array, void> {
  yield* chunksOf(() => open(path));
}

/**
 * The same of a file that was found to be one before. Throws `RetryableError` where it is none any more: reading a pipe that took its
 * place would wait for a writer for ever, and no signal ends that.
 */
export async function* regularFileChunks(path: string): AsyncGenerator<Uint8Array, void> {
  yield* chunksOf(async () => {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if ((await file.stat()).isFile()) return file;
    await file.close();
    throw new RetryableError(`${path} is not a file any more: it was replaced. Run it again`);
  });
}

async function* chunksOf(opening: () => Promise<FileHandle>): AsyncGenerator<Uint8Array, void> {
  const buffer = new Uint8Array(CHUNK);
  let file: FileHandle | null = null;
  try {
    file = await opening();
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file?.close();
  }
}
