import { giveBack } from "./give-back.ts";

/** What a cleared buffer keeps at most: one huge value must not hold its memory for the rest of the process. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** Bytes being written, little-endian. Grows by doubling and keeps its memory when it is cleared, up to 16 MiB. */
export class ByteBuffer {
  /** The first {@link length} bytes are what was written. Replaced when the buffer grows. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Over the same memory as {@link bytes}. */
  view: DataView<ArrayBuffer>;
  length = 0;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
  }

  /** What was written; valid until the next write. */
  written(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
    if (this.bytes.length > MAX_KEPT_BYTES) this.#replace(new Uint8Array(MAX_KEPT_BYTES));
  }

  /** Makes room for `count` more bytes, so that they can be stored through `bytes` and `view`. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.written());
    this.#replace(grown);
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  int32(value: number): void {
    this.reserve(4);
    this.view.setInt32(this.length, value, true);
    this.length += 4;
  }

  /** ULEB128 of 0 to 2^53 - 1. */
  varint(value: number): void {
    this.reserve(8);
    let rest = value;
    while (rest > 0x7fff_ffff) {
      this.bytes[this.length++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    while (rest > 0x7f) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.bytes[this.length++] = rest;
  }

  /** Zigzag ULEB128 of a 64-bit two's complement number in halves; Thrift's and the delta encoding's signed numbers. */
  zigzag64(low: number, high: number): void {
    this.reserve(10);
    const sign = high >> 31;
    let restLow = ((low << 1) ^ sign) >>> 0;
    let restHigh = (((high << 1) | (low >>> 31)) ^ sign) >>> 0;
    while (restHigh !== 0) {
      this.bytes[this.length++] = (restLow & 0x7f) | 0x80;
      restLow = ((restLow >>> 7) | (restHigh << 25)) >>> 0;
      restHigh >>>= 7;
    }
    while (restLow > 0x7f) {
      this.bytes[this.length++] = (restLow & 0x7f) | 0x80;
      restLow >>>= 7;
    }
    this.bytes[this.length++] = restLow;
  }

  /** Zigzag ULEB128 of a 32-bit number. */
  zigzag32(value: number): void {
    this.zigzag64(value, value >> 31);
  }

  #replace(bytes: Uint8Array<ArrayBuffer>): void {
    giveBack(this.bytes);
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
  }
}
