import { ParquetDamage } from "./damaged-parquet.ts";

/** Widths up to this fit into 32-bit operations together with the byte that is being added. */
const MAX_SHIFTED_WIDTH = 24;
const MAX_WIDTH = 32;

/**
 * Decodes runs and bit-packed groups (Encodings.md, "RLE") of `width` bits from `bytes` until `out` is full. Throws where the
 * bytes end before that, or a value is above `max`. Work is linear in `out` and `bytes`.
 */
export function decodeRunLengths(
  bytes: Uint8Array,
  width: number,
  max: number,
  out: Uint8Array | Uint32Array,
): void {
  if (width > MAX_WIDTH) throw new ParquetDamage(`values have ${width} bits, and at most 32 are possible`);
  const input = new BitInput(bytes);
  let seen = 0;
  while (seen < out.length) {
    const header = input.varint();
    // The last run may be longer than what is needed: groups are of eight.
    const length = Math.min(
      header & 1 ? Math.floor(header / 2) * 8 : Math.floor(header / 2),
      out.length - seen,
    );
    if (header & 1) input.unpack(width, out, seen, seen + length, max);
    else {
      const value = input.value(width);
      if (value > max) throw tooLarge(value, max);
      out.fill(value, seen, seen + length);
    }
    seen += length;
  }
}

function tooLarge(value: number, max: number): ParquetDamage {
  return new ParquetDamage(`a level or a dictionary index is ${value}, and at most ${max} is possible`);
}

class BitInput {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 28; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new ParquetDamage("the length of a run has more than 32 bits");
  }

  /** In whole bytes, the least first. */
  value(width: number): number {
    let value = 0;
    for (let bit = 0; bit < width; bit += 8) value += this.#byte() * 2 ** bit;
    return value;
  }

  /** Only the bytes that the values need must be there: some writers leave the padding out. Whole groups are passed over. */
  unpack(width: number, out: Uint8Array | Uint32Array, from: number, to: number, max: number): void {
    const start = this.#at;
    let bits = 0;
    let buffer = 0;
    const mask = 2 ** width;
    for (let i = from; i < to; i++) {
      if (width <= MAX_SHIFTED_WIDTH) {
        for (; bits < width; bits += 8) buffer |= this.#byte() << bits;
        out[i] = buffer & (mask - 1);
        buffer >>>= width;
      } else {
        for (; bits < width; bits += 8) buffer += this.#byte() * 2 ** bits;
        out[i] = buffer % mask;
        buffer = Math.floor(buffer / mask);
      }
      bits -= width;
      if (out[i]! > max) throw tooLarge(out[i]!, max);
    }
    this.#at = Math.min(start + Math.ceil((to - from) / 8) * width, this.#bytes.length);
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new ParquetDamage("a page ends within its levels or dictionary indices");
    this.#at++;
    return byte;
  }
}

/** Bits that values up to `max` need. */
export function bitWidth(max: number): number {
  return 32 - Math.clz32(max);
}
