import { createHash } from "node:crypto";
import type { Clock } from "./clock.ts";

/** One version of an object. */
export interface StoredObject {
  readonly key: string;
  readonly body: Buffer;
  /** With quotes, as S3 gives it. */
  readonly eTag: string;
  readonly versionId: string;
  readonly modifiedMs: number;
  readonly metadata: Readonly<Record<string, string>>;
}

interface Upload {
  readonly key: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly parts: Map<number, { readonly eTag: string; readonly body: Buffer }>;
}

/** S3's refusals that clients must tell apart. */
export class S3Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, detail = "") {
    super(`${code} ${detail}`);
    this.status = status;
    this.code = code;
  }
}

export interface PutConditions {
  readonly ifNoneMatch?: string | undefined;
  readonly ifMatch?: string | undefined;
}

/** Parts but the last have at least so many bytes. */
const MINIMUM_PART = 5 * 1024 * 1024;

/** Buckets in memory, with S3's rules. Every method is atomic: it never waits in between. */
export class S3Storage {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  createBucket(name: string): Bucket {
    const bucket = this.#buckets.get(name) ?? new Bucket(this.#clock);
    this.#buckets.set(name, bucket);
    return bucket;
  }

  bucket(name: string): Bucket {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) throw new S3Refusal(404, "NoSuchBucket", name);
    return bucket;
  }
}

export class Bucket {
  readonly #clock: Clock;
  /** Versions of each key, newest last; null is a delete marker. */
  readonly #objects = new Map<string, (StoredObject | null)[]>();
  readonly #uploads = new Map<string, Upload>();
  versioned = false;
  /** As new buckets have it. */
  encryption = "AES256";
  /** XML of its notification configuration. */
  notifications = "";
  #counter = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  current(key: string): StoredObject | null {
    return this.#objects.get(key)?.at(-1) ?? null;
  }

  version(key: string, versionId: string): StoredObject {
    const found = this.#objects.get(key)?.find((object) => object?.versionId === versionId);
    if (found === undefined || found === null) throw new S3Refusal(404, "NoSuchVersion", key);
    return found;
  }

  put(key: string, body: Uint8Array, metadata: Record<string, string>, conditions: PutConditions = {}) {
    this.#require(key, conditions);
    return this.#store(key, Buffer.from(body), quoted(md5(body)), metadata);
  }

  remove(key: string): void {
    if (!this.versioned) this.#objects.delete(key);
    else this.#objects.set(key, [...(this.#objects.get(key) ?? []), null]);
  }

  /** Removes for good. One that is not there is no error. */
  removeVersion(key: string, versionId: string): void {
    const versions = this.#objects.get(key) ?? [];
    this.#objects.set(
      key,
      versions.filter((object) => object?.versionId !== versionId),
    );
  }

  /** Versions of keys that begin so, by key, newest first, as S3 lists them. */
  versionsOf(prefix: string): { readonly object: StoredObject; readonly latest: boolean }[] {
    const keys = [...this.#objects.keys()].filter((key) => key.startsWith(prefix));
    keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    return keys.flatMap((key) =>
      (this.#objects.get(key) ?? [])
        .toReversed()
        .flatMap((object, i) => (object === null ? [] : [{ object, latest: i === 0 }])),
    );
  }

  /** Keys in the order of their UTF-8 bytes. */
  keys(): string[] {
    const present = [...this.#objects.keys()].filter((key) => this.current(key) !== null);
    return present.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }

  startUpload(key: string, metadata: Record<string, string>): string {
    const id = `upload-${++this.#counter}`;
    this.#uploads.set(id, { key, metadata, parts: new Map() });
    return id;
  }

  putPart(id: string, number: number, body: Buffer): string {
    const eTag = quoted(md5(body));
    this.#upload(id).parts.set(number, { eTag, body });
    return eTag;
  }

  completeUpload(id: string, parts: readonly { number: number; eTag: string }[], conditions: PutConditions) {
    const upload = this.#upload(id);
    this.#require(upload.key, conditions);
    const bodies = parts.map(({ number, eTag }, i) => {
      const part = upload.parts.get(number);
      if (part === undefined || part.eTag !== eTag) throw new S3Refusal(400, "InvalidPart", String(number));
      if (i + 1 < parts.length && part.body.length < MINIMUM_PART) {
        throw new S3Refusal(400, "EntityTooSmall", `part ${number} has ${part.body.length} bytes`);
      }
      return part;
    });
    this.#uploads.delete(id);
    const digests = Buffer.concat(bodies.map((part) => Buffer.from(part.eTag.replaceAll('"', ""), "hex")));
    const eTag = quoted(`${md5(digests)}-${bodies.length}`);
    return this.#store(upload.key, Buffer.concat(bodies.map((part) => part.body)), eTag, upload.metadata);
  }

  abortUpload(id: string): void {
    this.#upload(id);
    this.#uploads.delete(id);
  }

  /** Puts everything back as it is now, when the result is called. */
  snapshot(): () => void {
    const objects = [...this.#objects];
    return () => {
      this.#objects.clear();
      this.#uploads.clear();
      for (const [key, versions] of objects) this.#objects.set(key, versions);
    };
  }

  /** Uploads neither completed nor aborted: they cost money until a lifecycle rule removes them. */
  get openUploads(): number {
    return this.#uploads.size;
  }

  #upload(id: string): Upload {
    const upload = this.#uploads.get(id);
    if (upload === undefined) throw new S3Refusal(404, "NoSuchUpload", id);
    return upload;
  }

  #require(key: string, { ifNoneMatch, ifMatch }: PutConditions): void {
    const current = this.current(key);
    if (ifNoneMatch !== undefined && ifNoneMatch !== "*") throw new S3Refusal(501, "NotImplemented");
    if (ifNoneMatch === "*" && current !== null) throw new S3Refusal(412, "PreconditionFailed", key);
    if (ifMatch !== undefined && current === null) throw new S3Refusal(404, "NoSuchKey", key);
    if (ifMatch !== undefined && current?.eTag !== quoted(ifMatch.replaceAll('"', ""))) {
      throw new S3Refusal(412, "PreconditionFailed", key);
    }
  }

  #store(key: string, body: Buffer, eTag: string, metadata: Readonly<Record<string, string>>): StoredObject {
    const versionId = this.versioned ? `v${++this.#counter}` : "null";
    const object = { key, body, eTag, versionId, modifiedMs: this.#clock.now(), metadata };
    this.#objects.set(key, this.versioned ? [...(this.#objects.get(key) ?? []), object] : [object]);
    return object;
  }
}

function md5(bytes: Uint8Array): string {
  return createHash("md5").update(bytes).digest("hex");
}

function quoted(text: string): string {
  return `"${text}"`;
}
