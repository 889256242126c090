import type { ByteSink } from "./parquet-writer.ts";

/** Bytes of each array that goes to the sink, but for the first and the last: a small file needs no large one. */
const CHUNK = 256 * 1024;
const FIRST_CHUNK = 32 * 1024;

/** Collects a file's bytes and hands them to the sink in arrays that are the sink's to keep. */
export class FileOutput {
  /** Bytes appended so far: the file position of what comes next. */
  offset = 0;
  readonly #sink: ByteSink;
  #full: Uint8Array[] = [];
  #chunk = new Uint8Array(0);
  #used = 0;

  constructor(sink: ByteSink) {
    this.#sink = sink;
  }

  /** Copies `bytes`. */
  append(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#used === this.#chunk.length) this.#newChunk();
      const count = Math.min(bytes.length - at, this.#chunk.length - this.#used);
      this.#chunk.set(bytes.subarray(at, at + count), this.#used);
      this.#used += count;
      at += count;
    }
    this.offset += bytes.length;
  }

  /** Whether {@link drain} has something to do. */
  get full(): boolean {
    return this.#full.length > 0;
  }

  /** Gives the sink every array that is full. */
  async drain(): Promise<void> {
    for (const chunk of this.#full) await this.#sink(chunk);
    this.#full = [];
  }

  /** Gives the sink all that is left. */
  async end(): Promise<void> {
    await this.drain();
    if (this.#used > 0) await this.#sink(this.#chunk.slice(0, this.#used));
    this.drop();
  }

  drop(): void {
    this.#full = [];
    this.#chunk = new Uint8Array(0);
    this.#used = 0;
  }

  #newChunk(): void {
    if (this.#used > 0) this.#full.push(this.#chunk);
    this.#chunk = new Uint8Array(this.offset === 0 ? FIRST_CHUNK : CHUNK);
    this.#used = 0;
  }
}
