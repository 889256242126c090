import { giveBack } from "./give-back.ts";

/** Thrown by the format parsers at the record that cannot be read; caught by the capture reader, nowhere else. */
export class Damaged extends Error {
  override readonly name = "Damaged";
  /** Byte position in the stream where the record begins. */
  readonly offset: number;

  constructor(offset: number, reason: string) {
    super(reason);
    this.offset = offset;
  }
}

const SMALLEST_BUFFER = 4096;
/** A larger buffer is given back once its record is parsed: few records are so large, and one may have 128 MiB. */
const LARGEST_KEPT = 1 << 20;

/** Parses what the window holds; false when reading on is useless. Returns only when more bytes than there are are needed. */
export type Parse = () => boolean;

/**
 * The bytes of the stream that are at hand, `bytes[start]` to `bytes[end - 1]`; `bytes[start]` is the first not consumed.
 * A parser consumes by moving `start`; where it needs more it sets `needed` and returns.
 *
 * Records are parsed where they lie in the caller's chunk. Only a record that a chunk's end cuts is copied, and only up to
 * its own end: each byte is copied a bounded number of times whatever the chunks, and parsing is tried again only once
 * `needed` bytes are there.
 */
export class Window {
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  start = 0;
  end = 0;
  /** No more bytes will come. */
  final = false;
  /** Bytes from `start` on without which parsing again is useless; at least 1. */
  needed = 1;
  /** Bytes that were copied to join chunks, and calls of the parser: what tests count to see that work is linear. */
  copied = 0;
  parsed = 0;
  /** Stream position of `bytes[0]`. */
  #origin = 0;
  /** Stream position of the first byte that is neither consumed nor skipped. */
  #position = 0;
  /** Bytes to be skipped that have not come. */
  #skip = 0;
  /** The beginning of a record that a chunk's end has cut. */
  #held = new Uint8Array(SMALLEST_BUFFER);
  #heldView = new DataView(this.#held.buffer);
  #heldLength = 0;

  /** Stream position of `bytes[at]`. */
  positionOf(at: number): number {
    return this.#origin + at;
  }

  /** Bytes that shall be skipped and have not come: more than 0 at the stream's end means that it was cut. */
  get skipping(): number {
    return this.#skip;
  }

  /** True when `length` bytes are at hand; otherwise notes that they are needed. */
  has(length: number): boolean {
    if (this.end - this.start >= length) return true;
    this.needed = length;
    return false;
  }

  /** Consumes `length` bytes, of which any number may be yet to come: they are never held. */
  skip(length: number): void {
    const here = Math.min(length, this.end - this.start);
    this.start += here;
    this.#skip = length - here;
  }

  /** Calls `parse` on all that can be parsed now that `chunk` is there, until it returns false. The chunk is not kept. */
  push(chunk: Uint8Array, parse: Parse): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, chunk.length - at);
        this.#skip -= skipped;
        this.#position += skipped;
        at += skipped;
      } else if (this.#heldLength > 0) {
        const missing = Math.min(this.needed - this.#heldLength, chunk.length - at);
        this.#hold(chunk.subarray(at, at + missing));
        at += missing;
        if (this.#heldLength >= this.needed && !this.#parseHeld(parse)) return;
      } else {
        // Sinks get a plain array even of a Node Buffer, whose `slice` would not copy.
        this.bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
        this.view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length);
        if (!this.#parse(at, chunk.length, parse)) return;
        at = this.start;
        if (at < chunk.length) {
          this.#hold(chunk.subarray(at));
          return;
        }
      }
    }
  }

  /** Parses what is held once more, with `final` set. */
  finish(parse: Parse): void {
    this.final = true;
    this.#parseHeld(parse);
  }

  #parseHeld(parse: Parse): boolean {
    this.bytes = this.#held;
    this.view = this.#heldView;
    const more = this.#parse(0, this.#heldLength, parse);
    // What is left belongs to the next record: a few bytes that were looked at to tell what begins.
    const left = this.#held.subarray(this.start, this.#heldLength);
    this.#heldLength = left.length;
    if (this.#held.length > LARGEST_KEPT && left.length <= SMALLEST_BUFFER) this.#giveBack(left);
    else this.#held.copyWithin(0, this.start, this.start + left.length);
    return more;
  }

  /** How many bytes the buffer for records that a chunk's end cuts has. */
  get heldCapacity(): number {
    return this.#held.length;
  }

  #giveBack(left: Uint8Array): void {
    const large = this.#held;
    this.#held = new Uint8Array(SMALLEST_BUFFER);
    this.#held.set(left);
    giveBack(large);
    this.#heldView = new DataView(this.#held.buffer);
    this.bytes = this.#held;
    this.view = this.#heldView;
  }

  #parse(start: number, end: number, parse: Parse): boolean {
    this.#origin = this.#position - start;
    this.start = start;
    this.end = end;
    this.needed = 1;
    this.parsed++;
    const more = parse();
    this.#position = this.positionOf(this.start);
    if (more && !this.final && this.end - this.start >= this.needed) {
      throw new Error(
        `a parser stopped at ${this.#position} with all ${this.needed} bytes there that it needs`,
      );
    }
    return more;
  }

  #hold(bytes: Uint8Array): void {
    const length = this.#heldLength + bytes.length;
    if (length > this.#held.length) {
      const larger = new Uint8Array(Math.max(length, Math.min(this.needed, 2 * length)));
      larger.set(this.#held.subarray(0, this.#heldLength));
      this.copied += this.#heldLength;
      giveBack(this.#held);
      this.#held = larger;
      this.#heldView = new DataView(larger.buffer);
    }
    this.#held.set(bytes, this.#heldLength);
    this.copied += bytes.length;
    this.#heldLength = length;
  }
}
