import { RetryableError } from "../errors.ts";

/** The SDK's body in Node. */
export type ByteStream = AsyncIterable<Uint8Array> & { destroy(error?: Error): unknown };

/** Milliseconds without a byte after which a read counts as stalled. */
export const IDLE_TIMEOUT = 5_000;

/**
 * The stream's chunks; throws when none comes for so many milliseconds. Only waiting for S3 counts, not what the reader
 * does in between. The connection is closed when iteration ends, however it ends.
 */
export async function* withIdleTimeout(body: ByteStream, ms: number): AsyncIterable<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  try {
    while (true) {
      const timer = setTimeout(() => body.destroy(new RetryableError(`no byte came for ${ms} ms`)), ms);
      let next: IteratorResult<Uint8Array>;
      try {
        next = await chunks.next();
      } finally {
        clearTimeout(timer);
      }
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    body.destroy();
  }
}
