import type { CaptureSource, CaptureStore } from "../manifest/capture-store.ts";

/** How much is read before it is needed. */
export interface ReadAheadLimits {
  /** Captures of at most so many bytes are read ahead; a larger one keeps its reader busy by itself. */
  readonly captureBytes: number;
  /** Bytes held or under way at once. */
  readonly totalBytes: number;
  /** Captures held or under way at once. */
  readonly captures: number;
}

/**
 * Opens captures that are read one after the other, and meanwhile reads the small ones that follow: a store takes tens of
 * milliseconds to answer, in which nothing would be decoded. Errors are thrown where their own capture is read.
 */
export class CaptureReadAhead {
  readonly #store: Pick<CaptureStore, "open">;
  readonly #sources: readonly CaptureSource[];
  readonly #limits: ReadAheadLimits;
  readonly #underWay = new Map<CaptureSource, Promise<readonly Uint8Array[]>>();
  /** Index of the source that is to be opened next, and of the one that is to be read ahead next. */
  #open = 0;
  #next = 0;
  #bytes = 0;

  /** `sources` in the order in which they will be opened; one may be left out. */
  constructor(store: Pick<CaptureStore, "open">, sources: readonly CaptureSource[], limits: ReadAheadLimits) {
    this.#store = store;
    this.#sources = sources;
    this.#limits = limits;
  }

  /** The capture's bytes, as its store gives them. */
  async *open(source: CaptureSource): AsyncIterable<Uint8Array> {
    while (this.#open < this.#sources.length && this.#sources[this.#open++] !== source);
    const underWay = this.#underWay.get(source);
    // One that had no room is read now; what follows it, ahead.
    this.#next = Math.max(this.#next, this.#open);
    this.#readOn();
    if (underWay === undefined) {
      return yield* this.#store.open(source);
    }
    try {
      yield* await underWay;
    } finally {
      this.#underWay.delete(source);
      this.#bytes -= source.size;
      this.#readOn();
    }
  }

  #readOn(): void {
    const { captureBytes, totalBytes, captures } = this.#limits;
    for (; this.#next < this.#sources.length; this.#next++) {
      const source = this.#sources[this.#next]!;
      if (source.size > captureBytes) continue;
      if (this.#underWay.size >= captures || this.#bytes + source.size > totalBytes) return;
      const underWay = this.#read(source);
      // Seen when its turn comes, or not at all where an earlier one ends the batch.
      underWay.catch(() => {});
      this.#underWay.set(source, underWay);
      this.#bytes += source.size;
    }
  }

  async #read(source: CaptureSource): Promise<readonly Uint8Array[]> {
    const chunks: Uint8Array[] = [];
    // A copy: a chunk is its reader's only until the next one is asked for.
    for await (const chunk of this.#store.open(source)) chunks.push(chunk.slice());
    return chunks;
  }
}
