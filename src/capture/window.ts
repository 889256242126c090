/** Thrown by the format parsers at the record that cannot be read; caught by the capture reader, nowhere else. */
export class Damaged extends Error {
  override readonly name = "Damaged";
  /** Byte position in the stream. */
  readonly offset: number;

  constructor(offset: number, reason: string) {
    super(reason);
    this.offset = offset;
  }
}

/**
 * The bytes of the stream that are at hand: `bytes[start]` to `bytes[end]`, of which `bytes[start]` is the first that is
 * not consumed. A parser consumes by moving `start`; where it needs more it sets `needed` and returns.
 */
export class Window {
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  start = 0;
  end = 0;
  /** No more bytes will come. */
  final = false;
  /** Bytes from `start` on without which parsing again is useless. */
  needed = 1;
  /** Bytes that were copied to join chunks: what tests count to see that the work is linear. */
  copied = 0;
  /** Stream position of `bytes[0]`. */
  #base = 0;
  /** Bytes still to be skipped that have not arrived. */
  #skip = 0;
  #buffer = new Uint8Array(0);

  /** Stream position of `start`. */
  get position(): number {
    return this.#base + this.start;
  }

  /** True when `length` bytes are at hand; otherwise notes that they are needed. */
  has(length: number): boolean {
    if (this.end - this.start >= length) return true;
    this.needed = length;
    return false;
  }

  /** Consumes `length` bytes, of which any number may be yet to come. */
  skip(length: number): void {
    const here = Math.min(length, this.end - this.start);
    this.start += here;
    this.#skip = length - here;
    this.needed = 1;
  }

  /** Bytes to be skipped that have not come. */
  get skipping(): number {
    return this.#skip;
  }

  /**
   * Appends a chunk. With nothing left over from before it is parsed where it lies; otherwise what is left is joined with
   * it in a buffer that at least doubles, so that a byte is copied a bounded number of times whatever the chunks.
   */
  push(chunk: Uint8Array): void {
    const skipped = Math.min(this.#skip, chunk.length);
    this.#skip -= skipped;
    const left = this.end - this.start;
    const position = this.position + skipped;
    const fresh = chunk.length - skipped;
    if (left === 0) {
      this.#look(chunk, skipped, chunk.length, position);
      return;
    }
    if (this.bytes !== this.#buffer || this.end + fresh > this.#buffer.length) {
      const roomy = this.#buffer.length >= (left + fresh) * 2;
      const buffer = roomy ? this.#buffer : new Uint8Array(Math.max(4096, (left + fresh) * 2));
      buffer.set(this.bytes.subarray(this.start, this.end));
      this.#buffer = buffer;
      this.copied += left;
      this.#look(buffer, 0, left, position);
    }
    this.#buffer.set(skipped > 0 ? chunk.subarray(skipped) : chunk, this.end);
    this.copied += fresh;
    this.end += fresh;
  }

  /** Called when all of a chunk was parsed that can be: keeps what is left, since the chunk is the caller's again. */
  settle(): void {
    const left = this.end - this.start;
    if (left === 0 || this.bytes === this.#buffer) return;
    if (this.#buffer.length < left * 2) this.#buffer = new Uint8Array(Math.max(4096, left * 2));
    this.#buffer.set(this.bytes.subarray(this.start, this.end));
    this.copied += left;
    this.#look(this.#buffer, 0, left, this.position);
  }

  #look(bytes: Uint8Array, start: number, end: number, positionOfStart: number): void {
    if (bytes !== this.bytes) this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.#base = positionOfStart - start;
  }
}
