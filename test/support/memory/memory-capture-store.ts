import { GoneError } from "../../../src/errors.ts";
import type { CaptureSource, CaptureStore } from "../../../src/manifest/capture-store.ts";
import { inChunks } from "../captures/read-packets.ts";

interface StoredCapture {
  readonly bytes: Uint8Array;
  /** Thrown once so many bytes were given. */
  failure: { readonly afterBytes: number; readonly error: Error } | null;
}

/** Captures in memory, announced by `put`; any of them can be made to fail or to go. */
export class MemoryCaptureStore implements CaptureStore {
  readonly #captures = new Map<string, StoredCapture>();
  /** Keys that were opened, in order. */
  readonly opened: string[] = [];
  /** SHA-256 that the store keeps of whole objects, by key. */
  readonly checksums = new Map<string, string>();

  /** Stores the capture and returns the source that an upload event would name. */
  put(key: string, bytes: Uint8Array, vehicleId: string | null = key.split("/")[0] ?? null): CaptureSource {
    this.#captures.set(key, { bytes, failure: null });
    return {
      capture: `s3://captures/${key}`,
      bucket: "captures",
      key,
      eTag: `etag-${key}`,
      size: bytes.length,
      vehicleId,
    };
  }

  /** Reading `key` throws `error` once `afterBytes` were given; null heals it. */
  fail(key: string, error: Error | null, afterBytes = 0): void {
    const capture = this.#captures.get(key);
    if (capture !== undefined) capture.failure = error === null ? null : { afterBytes, error };
  }

  remove(key: string): void {
    this.#captures.delete(key);
  }

  async *open(source: CaptureSource): AsyncIterable<Uint8Array> {
    this.opened.push(source.key);
    const capture = this.#captures.get(source.key);
    if (capture === undefined) throw new GoneError(`${source.capture} is gone`);
    const { bytes, failure } = capture;
    yield* inChunks(failure === null ? bytes : bytes.subarray(0, failure.afterBytes), 1000);
    if (failure !== null) throw failure.error;
  }

  async contentSha256(source: CaptureSource): Promise<string | null> {
    return this.checksums.get(source.key) ?? null;
  }

  async exists(source: Pick<CaptureSource, "key">): Promise<boolean> {
    return this.#captures.has(source.key);
  }
}
