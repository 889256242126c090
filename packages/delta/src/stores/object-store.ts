/** One object below the table's folder. */
export interface ObjectInfo {
  /** Relative to the table's folder, raw (not percent-encoded), `/` between segments. */
  readonly path: string;
  readonly size: number;
  /** Milliseconds since 1970, by the store's clock. */
  readonly modifiedMs: number;
}

/** An object being written. Nothing is visible under its path before `commit`. */
export interface ObjectWriter {
  /** Takes ownership of `chunk`. Resolves when the writer wants more. */
  write(chunk: Uint8Array): Promise<void>;
  /** Puts the object on condition that the path is free. `exists` is an outcome, not an error. */
  commit(): Promise<"created" | "exists">;
  /** Drops what was written. Never throws. */
  abort(): Promise<void>;
}

/**
 * The table's folder: flat keys, put-if-absent, listing in byte order of the keys. Every method throws
 * `RetryableError` when the store did not answer after the adapter's own attempts.
 */
export interface ObjectStore {
  create(path: string): ObjectWriter;
  /** Put-if-absent of a small object in one call. */
  putIfAbsent(path: string, body: Uint8Array): Promise<"created" | "exists">;
  /** Replaces whatever is there: only for hints (`_last_checkpoint`). */
  put(path: string, body: Uint8Array): Promise<void>;
  /** Null when there is no such object. */
  head(path: string): Promise<ObjectInfo | null>;
  /** Null when there is no such object. With a range: `length` bytes from `start`. */
  read(path: string, range?: { start: number; length: number }): Promise<Uint8Array | null>;
  /** Objects whose path begins with `prefix` and is greater than `startAfter`, in byte order. */
  list(prefix: string, startAfter?: string): AsyncIterable<ObjectInfo>;
  /** Removes objects; those that are not there count as removed. Neither converters nor committers call it. */
  remove(paths: readonly string[]): Promise<void>;
}
