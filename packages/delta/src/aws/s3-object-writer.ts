import { randomUUID } from "node:crypto";
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import type { ObjectWriter } from "../stores/object-store.ts";
import { translated } from "./errors.ts";
import { conditionalPut, PUT_TOKEN } from "./s3-conditional-put.ts";

interface Upload {
  readonly id: string;
  readonly parts: CompletedPart[];
}

/**
 * One object being written: in a single put while it fits into one part, in parts otherwise. Holds at most two parts in
 * memory, the one under way and the one that fills, and the chunk just given.
 *
 * A process that dies leaves its parts behind: a lifecycle rule for incomplete uploads removes them.
 */
export class S3ObjectWriter implements ObjectWriter {
  readonly #client: S3Client;
  readonly #target: { readonly Bucket: string; readonly Key: string };
  readonly #partBytes: number;
  readonly #token = randomUUID();
  #chunks: Uint8Array[] = [];
  #buffered = 0;
  #upload: Upload | null = null;
  /** The part under way. */
  #sending: Promise<void> = Promise.resolve();

  constructor(
    client: S3Client,
    target: { readonly Bucket: string; readonly Key: string },
    partBytes: number,
  ) {
    this.#client = client;
    this.#target = target;
    this.#partBytes = partBytes;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    while (this.#buffered > this.#partBytes) await this.#startPart(this.#take(this.#partBytes));
  }

  async commit(): Promise<"created" | "exists"> {
    const rest = this.#take(this.#buffered);
    if (this.#upload === null) {
      const put = { ...this.#target, Body: rest, IfNoneMatch: "*", Metadata: { [PUT_TOKEN]: this.#token } };
      return await this.#put(() => this.#client.send(new PutObjectCommand(put)));
    }
    await this.#startPart(rest);
    await this.#sending;
    const complete = {
      ...this.#target,
      UploadId: this.#upload.id,
      MultipartUpload: { Parts: this.#upload.parts },
      IfNoneMatch: "*",
    };
    const outcome = await this.#put(() => this.#client.send(new CompleteMultipartUploadCommand(complete)));
    if (outcome === "exists") await this.abort();
    return outcome;
  }

  async abort(): Promise<void> {
    this.#chunks = [];
    this.#buffered = 0;
    // A part under way would survive the upload's end.
    await this.#sending.catch(() => {});
    if (this.#upload === null) return;
    const upload = { ...this.#target, UploadId: this.#upload.id };
    this.#upload = null;
    await this.#client.send(new AbortMultipartUploadCommand(upload)).catch(() => {});
  }

  #put(send: () => Promise<unknown>): Promise<"created" | "exists"> {
    return conditionalPut(this.#client, this.#target, this.#token, send);
  }

  /** Waits for the part before; the new one is under way when this resolves. */
  async #startPart(body: Uint8Array): Promise<void> {
    await this.#sending;
    this.#upload ??= await this.#begin();
    const upload = this.#upload;
    const number = upload.parts.length + 1;
    const part: CompletedPart = { PartNumber: number };
    upload.parts.push(part);
    this.#sending = this.#sendPart(upload.id, part, body);
    // The next wait throws a failure.
    this.#sending.catch(() => {});
  }

  async #sendPart(id: string, part: CompletedPart, body: Uint8Array): Promise<void> {
    const { Bucket, Key } = this.#target;
    try {
      const command = { Bucket, Key, UploadId: id, PartNumber: part.PartNumber, Body: body };
      const { ETag, ChecksumCRC32 } = await this.#client.send(new UploadPartCommand(command));
      part.ETag = ETag;
      if (ChecksumCRC32 !== undefined) part.ChecksumCRC32 = ChecksumCRC32;
    } catch (error) {
      throw translated(error, `cannot put part ${part.PartNumber} of s3://${Bucket}/${Key}`);
    }
  }

  async #begin(): Promise<Upload> {
    const { Bucket, Key } = this.#target;
    try {
      const create = { Bucket, Key, Metadata: { [PUT_TOKEN]: this.#token } };
      const { UploadId } = await this.#client.send(new CreateMultipartUploadCommand(create));
      if (UploadId === undefined)
        throw new Error(`S3 began an upload of s3://${Bucket}/${Key} without an id`);
      return { id: UploadId, parts: [] };
    } catch (error) {
      throw translated(error, `cannot begin the upload of s3://${Bucket}/${Key}`);
    }
  }

  /** The first `size` buffered bytes, copied together where they lie in several chunks. */
  #take(size: number): Uint8Array {
    const taken: Uint8Array[] = [];
    let missing = size;
    while (missing > 0) {
      const chunk = this.#chunks.shift()!;
      taken.push(chunk.subarray(0, missing));
      if (chunk.length > missing) this.#chunks.unshift(chunk.subarray(missing));
      missing -= Math.min(missing, chunk.length);
    }
    this.#buffered -= size;
    return taken.length === 1 ? taken[0]! : Buffer.concat(taken, size);
  }
}
