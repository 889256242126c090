import { randomUUID } from "node:crypto";
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { RetryableError } from "../errors.ts";
import type { ObjectInfo, ObjectStore, ObjectWriter } from "../stores/object-store.ts";
import { isNotFound, isRangeOutside, translated } from "./errors.ts";
import { type ByteStream, IDLE_TIMEOUT, withIdleTimeout } from "./idle-timeout.ts";
import { conditionalPut, PUT_TOKEN } from "./s3-conditional-put.ts";
import { S3ObjectWriter } from "./s3-object-writer.ts";

/** Bytes of a part: each open file holds two, and S3 wants at least 5 MiB. */
const PART_BYTES = 8 * 1024 * 1024;
/** Attempts to read a body that breaks off; the SDK tries again only until the reply begins. */
const READ_ATTEMPTS = 4;
/** Objects that one call removes. */
const REMOVE_BATCH = 1000;

/** A table's folder: the keys of a bucket below a prefix. */
export class S3ObjectStore implements ObjectStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #root: string;
  readonly #idleTimeout: number;

  /** `prefix` without slashes at its ends. */
  constructor(
    client: S3Client,
    { bucket, prefix }: { readonly bucket: string; readonly prefix: string },
    { idleTimeout = IDLE_TIMEOUT }: { readonly idleTimeout?: number } = {},
  ) {
    this.#client = client;
    this.#idleTimeout = idleTimeout;
    this.#bucket = bucket;
    this.#root = `${prefix}/`;
  }

  create(path: string): ObjectWriter {
    return new S3ObjectWriter(this.#client, this.#target(path), PART_BYTES);
  }

  async putIfAbsent(path: string, body: Uint8Array): Promise<"created" | "exists"> {
    const token = randomUUID();
    const target = this.#target(path);
    const put = { ...target, Body: body, IfNoneMatch: "*", Metadata: { [PUT_TOKEN]: token } };
    return await conditionalPut(this.#client, target, token, () =>
      this.#client.send(new PutObjectCommand(put)),
    );
  }

  async put(path: string, body: Uint8Array): Promise<void> {
    try {
      await this.#client.send(new PutObjectCommand({ ...this.#target(path), Body: body }));
    } catch (error) {
      throw translated(error, `cannot put ${this.#uri(path)}`);
    }
  }

  async head(path: string): Promise<ObjectInfo | null> {
    try {
      const { ContentLength, LastModified } = await this.#client.send(
        new HeadObjectCommand(this.#target(path)),
      );
      return { path, size: required(ContentLength), modifiedMs: required(LastModified).getTime() };
    } catch (error) {
      // Only this answer says "absent": any other failure says nothing.
      if (isNotFound(error)) return null;
      throw translated(error, `cannot look at ${this.#uri(path)}`);
    }
  }

  async read(path: string, range?: { start: number; length: number }): Promise<Uint8Array | null> {
    if (range?.length === 0) return (await this.head(path)) === null ? null : new Uint8Array();
    // Also of a whole object: only a reply to a range states the object's length a second time.
    const Range = `bytes=${range?.start ?? 0}-${range === undefined ? "" : range.start + range.length - 1}`;
    for (let attempt = 1; ; attempt++) {
      let output: GetObjectCommandOutput;
      try {
        output = await this.#client.send(new GetObjectCommand({ ...this.#target(path), Range }));
      } catch (error) {
        if (isNotFound(error)) return null;
        if (isRangeOutside(error)) return new Uint8Array();
        throw translated(error, `cannot read ${this.#uri(path)}`);
      }
      try {
        const expected = expectedLength(output, range);
        return await wholeBody(required(output.Body) as ByteStream, expected, this.#idleTimeout);
      } catch (error) {
        if (attempt < READ_ATTEMPTS) continue;
        const reason = error instanceof Error ? error.message : String(error);
        throw new RetryableError(
          `cannot read ${this.#uri(path)}: the reply broke ${attempt} times: ${reason}`,
        );
      }
    }
  }

  async *list(prefix: string, startAfter = ""): AsyncIterable<ObjectInfo> {
    const first = startAfter === "" ? {} : { StartAfter: this.#root + startAfter };
    let token: string | undefined;
    do {
      let page: ListObjectsV2CommandOutput;
      try {
        page = await this.#client.send(
          new ListObjectsV2Command({
            Bucket: this.#bucket,
            Prefix: this.#root + prefix,
            ...(token === undefined ? first : { ContinuationToken: token }),
          }),
        );
      } catch (error) {
        throw translated(error, `cannot list ${this.#uri(prefix)}`);
      }
      for (const { Key, Size, LastModified } of page.Contents ?? []) {
        const path = required(Key).slice(this.#root.length);
        yield { path, size: required(Size), modifiedMs: required(LastModified).getTime() };
      }
      token = page.IsTruncated ? required(page.NextContinuationToken) : undefined;
    } while (token !== undefined);
  }

  async remove(paths: readonly string[]): Promise<void> {
    for (let at = 0; at < paths.length; at += REMOVE_BATCH) {
      const Objects = paths.slice(at, at + REMOVE_BATCH).map((path) => ({ Key: this.#root + path }));
      try {
        const { Errors } = await this.#client.send(
          new DeleteObjectsCommand({ Bucket: this.#bucket, Delete: { Objects, Quiet: true } }),
        );
        const failed = Errors?.[0];
        if (failed !== undefined) {
          throw new RetryableError(
            `cannot remove ${Errors?.length} of ${Objects.length} objects, s3://${this.#bucket}/${failed.Key} among them: ${failed.Code}`,
          );
        }
      } catch (error) {
        throw translated(error, `cannot remove ${Objects.length} objects below ${this.#uri("")}`);
      }
    }
  }

  #target(path: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#root + path };
  }

  #uri(path: string): string {
    return `s3://${this.#bucket}/${this.#root}${path}`;
  }
}

/**
 * Bytes that the reply's body must have. Throws for a reply to a range that holds another range: its `Content-Range` says what the
 * object has there, so that a short reply is not taken for a short object.
 */
function expectedLength(
  { Body, ContentRange }: GetObjectCommandOutput,
  range: { start: number; length: number } | undefined,
): number {
  const [, start, end, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(ContentRange ?? "")?.map(Number) ?? [];
  const first = range?.start ?? 0;
  const last =
    Math.min(range === undefined ? Number.POSITIVE_INFINITY : first + range.length, total ?? 0) - 1;
  if (start === first && end === last) return last - first + 1;
  // Unread, it would keep its connection.
  (Body as { destroy?: () => unknown } | undefined)?.destroy?.();
  const asked =
    range === undefined ? "the whole object was" : `bytes ${first}-${first + range.length - 1} were`;
  throw new RetryableError(`${asked} asked for, and the reply has ${ContentRange ?? "no range"}`);
}

/** Throws `RetryableError` when the body has another length, or stalls. */
async function wholeBody(body: ByteStream, length: number, idleTimeout: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let read = 0;
  for await (const chunk of withIdleTimeout(body, idleTimeout)) {
    if (chunk.length > length - read) throw new RetryableError(`more than ${length} bytes came`);
    bytes.set(chunk, read);
    read += chunk.length;
  }
  if (read === length) return bytes;
  throw new RetryableError(`${read} of ${length} bytes came`);
}

/** What S3 always sends, and the SDK's types call optional. */
function required<T>(value: T | undefined): T {
  if (value === undefined) throw new RetryableError("S3's reply lacks what every reply has");
  return value;
}
