import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { RetryableError, readAhead } from "@deltacap/delta";
import {
  type ByteStream,
  IDLE_TIMEOUT,
  isNotFound,
  isPreconditionFailed,
  translated,
  withIdleTimeout,
} from "@deltacap/delta/aws";
import { GoneError, SupersededError } from "../errors.ts";
import type { CaptureSource, CaptureStore } from "../manifest/capture-store.ts";

/** Reads in a row that broke without a single new byte: then S3, not the connection, is the trouble. */
const FRUITLESS_READS = 4;
const PARALLEL_DELETES = 32;
const SHA256_BYTES = 32;

/** Fields of a capture that name one version of an object. */
type ObjectVersion = Pick<CaptureSource, "bucket" | "key" | "eTag" | "versionId">;

/**
 * Captures in S3. A read names the very version, and is taken up where it broke off. One reply never ends a capture's life: that
 * it is gone or was replaced is believed only when a HEAD request confirms it.
 */
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
      const reply = await this.#get(source, read);
      const before = read;
      let reason = "the reply ended early";
      if (typeof reply === "string") reason = reply;
      else {
        try {
          for await (const chunk of withIdleTimeout(reply, this.#idleTimeout)) {
            read += chunk.length;
            yield chunk;
          }
          if (read === source.size) return;
        } catch (error) {
          if (error instanceof Error) reason = error.message;
        }
      }
      fruitless = read > before ? 0 : fruitless + 1;
      if (fruitless === FRUITLESS_READS) {
        throw new RetryableError(
          `cannot read ${source.capture} beyond byte ${read} of ${source.size}: ${fruitless} reads broke (${reason}); it is tried again by its next delivery`,
        );
      }
    }
  }

  /** Milliseconds since 1970 of the version's upload; null where it is not there. */
  async modifiedMs(source: ObjectVersion): Promise<number | null> {
    return (await this.#head(source))?.modifiedMs ?? null;
  }

  async contentSha256(source: CaptureSource): Promise<string | null> {
    try {
      const { ETag, ChecksumSHA256, ChecksumType } = await this.#client.send(
        new HeadObjectCommand({
          Bucket: source.bucket,
          Key: source.key,
          ...versionOf(source),
          ChecksumMode: "ENABLED",
        }),
      );
      // A composite one is a hash of the parts' hashes.
      if (ETag?.replaceAll('"', "") !== source.eTag || ChecksumType !== "FULL_OBJECT") return null;
      const digest = Buffer.from(ChecksumSHA256 ?? "", "base64");
      return digest.length === SHA256_BYTES ? digest.toString("hex") : null;
    } catch (error) {
      // Reading it will show what happened to it.
      if (isNotFound(error)) return null;
      throw translated(error, `cannot look at ${source.capture}`);
    }
  }

  async exists(source: ObjectVersion): Promise<boolean> {
    const first = await this.#head(source);
    if (first?.eTag === source.eTag) return true;
    const second = await this.#head(source);
    if (second?.eTag !== source.eTag) return false;
    throw new RetryableError(
      `two HEAD requests for s3://${source.bucket}/${source.key} disagree: ${described(first)}, then ${described(second)}; it is tried again by the next run`,
    );
  }

  /**
   * Deletes captures, each on condition that it is the very version named: by its version where the bucket keeps them, else by
   * its eTag. Those that are gone or were replaced count as deleted. Cost: a request each, which S3 does not charge.
   */
  async remove(sources: readonly (ObjectVersion & Pick<CaptureSource, "capture">)[]): Promise<void> {
    for await (const _ of readAhead(sources, PARALLEL_DELETES, (source) => this.#delete(source)));
  }

  async #delete(source: ObjectVersion & Pick<CaptureSource, "capture">): Promise<void> {
    const { capture, bucket, key, eTag } = source;
    const which = source.versionId === undefined ? { IfMatch: `"${eTag}"` } : versionOf(source);
    try {
      await this.#client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key, ...which }));
    } catch (error) {
      if (!isNotFound(error) && !isPreconditionFailed(error))
        throw translated(error, `cannot delete ${capture}`);
    }
  }

  /**
   * The bytes from `start` on, on condition that it is still the version whose beginning was read; or why the reply is of no use,
   * where S3 still has that version.
   */
  async #get(source: CaptureSource, start: number): Promise<ByteStream | string> {
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
      if (isNotFound(error)) return await this.#confirm(source, "GET found nothing (HTTP 404)");
      if (isPreconditionFailed(error)) {
        return await this.#confirm(source, `GET found another eTag than ${source.eTag} (HTTP 412)`);
      }
      throw translated(error, `cannot read ${source.capture}`);
    }
    const body = output.Body as ByteStream;
    const problem = replyProblem(output, source.size, start);
    if (problem === null) return body;
    body.destroy();
    return await this.#confirm(source, problem);
  }

  /**
   * The second reading after a reply that speaks against the announced version. Throws when HEAD too finds it gone or replaced. Else
   * returns both readings: the first reply was wrong.
   */
  async #confirm(source: CaptureSource, first: string): Promise<string> {
    const found = await this.#head(source);
    if (found === null) {
      // A deleted version is replaced where the key has a newer one, which has an event of its own.
      const { versionId, ...key } = source;
      const successor = versionId === undefined ? null : await this.#head(key);
      const readings = `${first}, and HEAD found nothing either`;
      if (successor === null) throw new GoneError(`${source.capture} is gone: ${readings}`);
      throw new SupersededError(
        `${source.capture} was replaced: ${readings}; the key now has ${described(successor)}`,
      );
    }
    if (found.eTag !== undefined && found.eTag !== source.eTag) {
      throw new SupersededError(
        `${source.capture} was replaced: ${first}, and HEAD found ${described(found)} where its event announced eTag ${source.eTag}`,
      );
    }
    return `${first}, but HEAD found ${described(found)} and its event announced ${source.size} bytes`;
  }

  /** Null when there is no such version. */
  async #head(source: ObjectVersion): Promise<FoundVersion | null> {
    try {
      const { ETag, ContentLength, LastModified } = await this.#client.send(
        new HeadObjectCommand({ Bucket: source.bucket, Key: source.key, ...versionOf(source) }),
      );
      return { eTag: ETag?.replaceAll('"', ""), size: ContentLength, modifiedMs: LastModified?.getTime() };
    } catch (error) {
      if (isNotFound(error)) return null;
      throw translated(error, `cannot look at s3://${source.bucket}/${source.key}`);
    }
  }
}

/** What HEAD says of an object. */
interface FoundVersion {
  readonly eTag: string | undefined;
  readonly size: number | undefined;
  readonly modifiedMs: number | undefined;
}

function described(found: FoundVersion | null): string {
  return found === null ? "nothing" : `eTag ${found.eTag} with ${found.size} bytes`;
}

/** Why a reply does not hold exactly the bytes from `start` to the announced end; null when it does. */
function replyProblem(
  { ContentLength, ContentRange }: GetObjectCommandOutput,
  size: number,
  start: number,
): string | null {
  const expected = size - start;
  if (ContentLength !== expected) {
    return `GET from byte ${start} on was answered with ${ContentLength} bytes instead of ${expected}`;
  }
  const range = `bytes ${start}-${size - 1}/${size}`;
  if (start === 0 || ContentRange === range) return null;
  return `GET from byte ${start} on was answered with the range ${ContentRange} instead of ${range}`;
}

/** A bucket without versions knows only "null", which no request needs to name. */
function versionOf({ versionId }: Pick<CaptureSource, "versionId">): { VersionId?: string } {
  return versionId === undefined ? {} : { VersionId: versionId };
}
