import { ParquetDamage } from "./damaged-parquet.ts";

/** Values of a page that its prefixes may expand to: prefixes make a page's values far longer than its bytes. */
const MAX_EXPANDED_BYTES = 256 * 1024 * 1024;
const MAX_BLOCK_VALUES = 1024 * 1024;

/** Decodes `out.length` values of DELTA_BINARY_PACKED (Encodings.md) and returns where they end in the bytes. */
export function decodeDeltas(bytes: Uint8Array, at: number, out: Int32Array | BigInt64Array): number {
  const input = new DeltaInput(bytes, at);
  const { miniblocks, perMiniblock } = blockShape(input);
  const total = input.number();
  if (total !== out.length) {
    throw new ParquetDamage(`a page of ${out.length} values has ${total} delta-encoded ones`);
  }
  const first = input.zigzag();
  if (out.length === 0) return input.position;
  let value = first;
  let index = 0;
  out[index++] = out instanceof Int32Array ? Number(BigInt.asIntN(32, value)) : value;
  while (index < out.length) {
    const least = input.zigzag();
    const widths = input.take(miniblocks);
    for (const width of widths) {
      if (index === out.length) break;
      if (width > 64) throw new ParquetDamage(`deltas have ${width} bits, and at most 64 are possible`);
      const end = Math.min(index + perMiniblock, out.length);
      const read = input.packed(width);
      if (out instanceof Int32Array) {
        let last = out[index - 1]!;
        const step = Number(BigInt.asIntN(32, least));
        for (; index < end; index++) {
          last = (last + step + Number(read() & 0xffff_ffffn)) | 0;
          out[index] = last;
        }
      } else {
        for (; index < end; index++) {
          value = BigInt.asIntN(64, value + least + read());
          out[index] = value;
        }
      }
      input.passMiniblock(perMiniblock, width);
    }
  }
  return input.position;
}

function blockShape(input: DeltaInput): { miniblocks: number; perMiniblock: number } {
  const block = input.number();
  const miniblocks = input.number();
  const perMiniblock = block / miniblocks;
  if (block === 0 || block > MAX_BLOCK_VALUES || miniblocks === 0 || perMiniblock % 8 !== 0) {
    throw new ParquetDamage(`blocks of ${block} deltas have ${miniblocks} parts`);
  }
  return { miniblocks, perMiniblock };
}

/** Decodes `count` values of DELTA_LENGTH_BYTE_ARRAY. */
export function decodeDeltaLengths(bytes: Uint8Array, at: number, count: number): Uint8Array[] {
  const lengths = new Int32Array(count);
  let start = decodeDeltas(bytes, at, lengths);
  const values: Uint8Array[] = [];
  for (const length of lengths) {
    if (length < 0 || length > bytes.length - start) {
      throw new ParquetDamage(`a value has ${length} bytes, and its page ends after ${bytes.length - start}`);
    }
    values.push(bytes.subarray(start, start + length));
    start += length;
  }
  return values;
}

/** Decodes `count` values of DELTA_BYTE_ARRAY. */
export function decodePrefixes(bytes: Uint8Array, count: number): Uint8Array[] {
  const prefixes = new Int32Array(count);
  const suffixes = decodeDeltaLengths(bytes, decodeDeltas(bytes, 0, prefixes), count);
  let expanded = 0;
  let previous: Uint8Array = new Uint8Array(0);
  return suffixes.map((suffix, i) => {
    const prefix = prefixes[i]!;
    if (prefix < 0 || prefix > previous.length) {
      throw new ParquetDamage(`a value begins with ${prefix} bytes of one that has ${previous.length}`);
    }
    if (prefix > 0) {
      expanded += prefix + suffix.length;
      if (expanded > MAX_EXPANDED_BYTES) {
        throw new ParquetDamage(`a page's values have more than ${MAX_EXPANDED_BYTES} bytes`);
      }
      const value = new Uint8Array(prefix + suffix.length);
      value.set(previous.subarray(0, prefix));
      value.set(suffix, prefix);
      previous = value;
    } else previous = suffix;
    return previous;
  });
}

class DeltaInput {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  get position(): number {
    return Math.min(this.#at, this.#bytes.length);
  }

  number(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 28; scale *= 128) {
      const byte = this.#byte(this.#at++);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new ParquetDamage("a number of delta-encoded values has more than 32 bits");
  }

  zigzag(): bigint {
    let value = 0n;
    for (let shift = 0n; shift <= 63n; shift += 7n) {
      const byte = this.#byte(this.#at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
    }
    throw new ParquetDamage("a delta has more than 64 bits");
  }

  take(count: number): Uint8Array {
    if (count > this.#bytes.length - this.#at) throw this.#ended();
    const taken = this.#bytes.subarray(this.#at, this.#at + count);
    this.#at += count;
    return taken;
  }

  /** A function that gives the next value of `width` bits; the position stays. */
  packed(width: number): () => bigint {
    if (width === 0) return () => 0n;
    let at = this.#at;
    let bits = 0;
    let buffer = 0n;
    const mask = (1n << BigInt(width)) - 1n;
    return () => {
      for (; bits < width; bits += 8) buffer |= BigInt(this.#byte(at++)) << BigInt(bits);
      const value = buffer & mask;
      buffer >>= BigInt(width);
      bits -= width;
      return value;
    };
  }

  /** The padding of the last one may be missing. */
  passMiniblock(values: number, width: number): void {
    this.#at += (values * width) / 8;
  }

  #byte(at: number): number {
    const byte = this.#bytes[at];
    if (byte === undefined) throw this.#ended();
    return byte;
  }

  #ended(): ParquetDamage {
    return new ParquetDamage("a page ends within its delta-encoded values");
  }
}
