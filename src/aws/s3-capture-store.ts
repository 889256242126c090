import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { CaptureSource, CaptureStore } from "../capture/capture-store.ts";
import { RetryableError, SupersededError } from "../errors.ts";
import { readAhead } from "../manifest/read-ahead.ts";
import { isNotFound, isPreconditionFailed, translated } from "./errors.ts";

/** Milliseconds without a byte after which a read counts as broken. */
const IDLE_TIMEOUT = 15_000;
/** Reads in a row that broke without a single new byte: then S3, not the connection, is the trouble. */
const FRUITLESS_READS = 4;
const PARALLEL_DELETES = 32;

/** Captures in S3. A read names the very version, and is taken up where it broke off. */
export class S3CaptureStore implements CaptureStore {
  readonly #client: S3Client;
  readonly #idleTimeout: number;

  constructor(client: S3Client, { idleTimeout = IDLE_TIMEOUT }: { readonly idleTimeout?: number } = {}) {
    this.#client = client;
    this.#idleTimeout = idleTimeout;
  }

  async *open(source: CaptureSource): AsyncIterable<Uint8Array> {
    let read = 0;
    let fruitless = 0;
    while (true) {
      const body = await this.#get(source, read);
      const before = read;
      let broken: unknown = null;
      try {
        for await (const chunk of withIdleTimeout(body, this.#idleTimeout)) {
          read += chunk.length;
          yield chunk;
        }
      } catch (error) {
        broken = error;
      }
      if (read === source.size) return;
      fruitless = read > before ? 0 : fruitless + 1;
      if (fruitless === FRUITLESS_READS) {
        const reason = broken instanceof Error ? broken.message : "the reply ended early";
        throw new RetryableError(
          `cannot read ${source.capture} beyond byte ${read} of ${source.size}: ${fruitless} reads broke (${reason}); it is tried again by its next delivery`,
        );
      }
    }
  }

  async exists(source: Pick<CaptureSource, "bucket" | "key" | "eTag" | "versionId">): Promise<boolean> {
    try {
      const { ETag } = await this.#client.send(
        new HeadObjectCommand({ Bucket: source.bucket, Key: source.key, ...versionOf(source) }),
      );
      return ETag?.replaceAll('"', "") === source.eTag;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw translated(error, `cannot look at s3://${source.bucket}/${source.key}`);
    }
  }

  /**
   * Deletes captures, each on condition that it is the very version named: by its version where the bucket keeps them, else by
   * its eTag. Those that are gone or were replaced count as deleted. Cost: a request each, which S3 does not charge.
   */
  async remove(
    sources: readonly Pick<CaptureSource, "capture" | "bucket" | "key" | "eTag" | "versionId">[],
  ): Promise<void> {
    for await (const _ of readAhead(sources, PARALLEL_DELETES, (source) => this.#delete(source)));
  }

  async #delete(
    source: Pick<CaptureSource, "capture" | "bucket" | "key" | "eTag" | "versionId">,
  ): Promise<void> {
    const { capture, bucket, key, eTag } = source;
    const which = source.versionId === undefined ? { IfMatch: `"${eTag}"` } : versionOf(source);
    try {
      await this.#client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key, ...which }));
    } catch (error) {
      if (!isNotFound(error) && !isPreconditionFailed(error))
        throw translated(error, `cannot delete ${capture}`);
    }
  }

  /** The bytes from `start` on, on condition that it is still the version whose beginning was read. */
  async #get(source: CaptureSource, start: number): Promise<ByteStream> {
    let output: GetObjectCommandOutput;
    try {
      output = await this.#client.send(
        new GetObjectCommand({
          Bucket: source.bucket,
          Key: source.key,
          IfMatch: `"${source.eTag}"`,
          ...versionOf(source),
          ...(start === 0 ? {} : { Range: `bytes=${start}-` }),
        }),
      );
    } catch (error) {
      if (isNotFound(error)) throw new SupersededError(`${source.capture} is gone`);
      if (isPreconditionFailed(error)) {
        throw new SupersededError(`${source.capture} was replaced: its eTag is no longer ${source.eTag}`);
      }
      throw translated(error, `cannot read ${source.capture}`);
    }
    const body = output.Body as ByteStream;
    const expected = source.size - start;
    if (output.ContentLength !== expected) {
      body.destroy();
      throw new SupersededError(
        `${source.capture} has ${output.ContentLength} bytes from byte ${start} on where its event announced ${expected}`,
      );
    }
    return body;
  }
}

/** A bucket without versions knows only "null", which no request needs to name. */
function versionOf({ versionId }: Pick<CaptureSource, "versionId">): { VersionId?: string } {
  return versionId === undefined ? {} : { VersionId: versionId };
}

/** The SDK's body in Node. */
type ByteStream = AsyncIterable<Uint8Array> & { destroy(error?: Error): unknown };

/**
 * The stream's chunks; throws when none comes for so many milliseconds. Only waiting for S3 counts, not what the reader
 * does in between. The connection is closed when iteration ends, however it ends.
 */
async function* withIdleTimeout(body: ByteStream, ms: number): AsyncIterable<Uint8Array> {
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
