import type { ByteBuffer } from "../memory/byte-buffer.ts";
import { bitWidth } from "./bit-packing.ts";

/** Values of a block and of each of its miniblocks: what parquet-java and arrow-cpp write. */
const BLOCK = 128;
const MINIBLOCK = 32;
const MINIBLOCKS = BLOCK / MINIBLOCK;

/**
 * DELTA_BINARY_PACKED (Encodings.md, "Delta Encoding"). All arithmetic wraps around at the physical type's width, as the
 * specification wants it: any sequence of values comes back.
 */
export class DeltaBinaryPacked {
  /** The block's deltas, then those less the least one. For 64 bits: the low halves. */
  readonly #deltas = new Int32Array(BLOCK);
  readonly #highs = new Int32Array(BLOCK);

  /** `values[from]` to `values[to - 1]` as INT32. */
  int32(values: Int32Array, from: number, to: number, out: ByteBuffer): void {
    writeHeader(to - from, out);
    if (from === to) out.byte(0);
    else out.zigzag32(values[from]!);
    const deltas = this.#deltas;
    for (let start = from + 1; start < to; start += BLOCK) {
      const count = Math.min(BLOCK, to - start);
      let previous = values[start - 1]!;
      let min = 0x7fffffff;
      for (let i = 0; i < count; i++) {
        const value = values[start + i]!;
        const delta = (value - previous) | 0;
        previous = value;
        deltas[i] = delta;
        if (delta < min) min = delta;
      }
      out.zigzag32(min);
      this.#writeMiniblocks(count, min, out);
    }
  }

  /** Values `from` to `to` of 64-bit numbers given as halves, the low one first, as INT64. */
  int64(halves: Int32Array, from: number, to: number, out: ByteBuffer): void {
    writeHeader(to - from, out);
    if (from === to) out.byte(0);
    else out.zigzag64(halves[2 * from]!, halves[2 * from + 1]!);
    for (let start = from + 1; start < to; start += BLOCK) {
      const count = Math.min(BLOCK, to - start);
      if (this.#smallDeltas(halves, start, count)) {
        let min = 0x7fffffff;
        for (let i = 0; i < count; i++) if (this.#deltas[i]! < min) min = this.#deltas[i]!;
        out.zigzag32(min);
        this.#writeMiniblocks(count, min, out);
      } else this.#writeWideBlock(count, out);
    }
  }

  /** Computes the block's deltas; whether all of them fit 32 bits. */
  #smallDeltas(halves: Int32Array, start: number, count: number): boolean {
    const deltas = this.#deltas;
    const highs = this.#highs;
    let low = halves[2 * start - 2]!;
    let high = halves[2 * start - 1]!;
    let large = 0;
    for (let i = 0; i < count; i++) {
      const nextLow = halves[2 * (start + i)]!;
      const nextHigh = halves[2 * (start + i) + 1]!;
      const delta = (nextLow - low) | 0;
      const borrow = nextLow >>> 0 < low >>> 0 ? 1 : 0;
      const highDelta = (nextHigh - high - borrow) | 0;
      deltas[i] = delta;
      highs[i] = highDelta;
      large |= highDelta ^ (delta >> 31);
      low = nextLow;
      high = nextHigh;
    }
    return large === 0;
  }

  /** Widths and bodies of a block whose deltas fit 32 bits; so do their distances from the least. */
  #writeMiniblocks(count: number, min: number, out: ByteBuffer): void {
    const deltas = this.#deltas;
    out.reserve(MINIBLOCKS + BLOCK * 4);
    const widthsAt = out.length;
    out.bytes.fill(0, widthsAt, widthsAt + MINIBLOCKS);
    out.length += MINIBLOCKS;
    for (let start = 0; start < count; start += MINIBLOCK) {
      const end = Math.min(count, start + MINIBLOCK);
      let all = 0;
      for (let i = start; i < end; i++) {
        const rest = (deltas[i]! - min) | 0;
        deltas[i] = rest;
        all |= rest;
      }
      const width = bitWidth(all);
      out.bytes[widthsAt + start / MINIBLOCK] = width;
      if (width === 0) continue;
      for (let i = end; i < start + MINIBLOCK; i++) deltas[i] = 0;
      packMiniblock(deltas, start, width, out);
    }
  }

  /** A block with deltas of more than 32 bits. */
  #writeWideBlock(count: number, out: ByteBuffer): void {
    const lows = this.#deltas;
    const highs = this.#highs;
    let min = 0;
    for (let i = 1; i < count; i++) {
      const isLess =
        highs[i]! < highs[min]! || (highs[i] === highs[min] && lows[i]! >>> 0 < lows[min]! >>> 0);
      if (isLess) min = i;
    }
    const minLow = lows[min]!;
    const minHigh = highs[min]!;
    out.zigzag64(minLow, minHigh);
    out.reserve(MINIBLOCKS + BLOCK * 8 + 8);
    const widthsAt = out.length;
    out.bytes.fill(0, widthsAt, widthsAt + MINIBLOCKS);
    out.length += MINIBLOCKS;
    for (let start = 0; start < count; start += MINIBLOCK) {
      const end = Math.min(count, start + MINIBLOCK);
      let allLow = 0;
      let allHigh = 0;
      for (let i = start; i < end; i++) {
        const borrow = lows[i]! >>> 0 < minLow >>> 0 ? 1 : 0;
        lows[i] = (lows[i]! - minLow) | 0;
        highs[i] = (highs[i]! - minHigh - borrow) | 0;
        allLow |= lows[i]!;
        allHigh |= highs[i]!;
      }
      const width = allHigh !== 0 ? 32 + bitWidth(allHigh) : bitWidth(allLow);
      out.bytes[widthsAt + start / MINIBLOCK] = width;
      if (width === 0) continue;
      for (let i = end; i < start + MINIBLOCK; i++) {
        lows[i] = 0;
        highs[i] = 0;
      }
      if (width <= 32) packMiniblock(lows, start, width, out);
      else packWideMiniblock(lows, highs, start, width, out);
    }
  }
}

function writeHeader(count: number, out: ByteBuffer): void {
  out.varint(BLOCK);
  out.varint(MINIBLOCKS);
  out.varint(count);
}

/** 32 values at `width` bits are `width` words exactly. The caller has reserved room. */
function packMiniblock(values: Int32Array, start: number, width: number, out: ByteBuffer): void {
  const { view } = out;
  let offset = out.length;
  let word = 0;
  let filled = 0;
  for (let i = start; i < start + MINIBLOCK; i++) {
    const value = values[i]!;
    word |= value << filled;
    filled += width;
    if (filled >= 32) {
      view.setInt32(offset, word, true);
      offset += 4;
      filled -= 32;
      word = filled === 0 ? 0 : value >>> (width - filled);
    }
  }
  out.length = offset;
}

/** As {@link packMiniblock}, with 33 to 64 bits. */
function packWideMiniblock(
  lows: Int32Array,
  highs: Int32Array,
  start: number,
  width: number,
  out: ByteBuffer,
): void {
  const { view } = out;
  const highWidth = width - 32;
  let offset = out.length;
  let word = 0;
  let filled = 0;
  for (let i = start; i < start + MINIBLOCK; i++) {
    const low = lows[i]!;
    const high = highs[i]!;
    view.setInt32(offset, word | (low << filled), true);
    offset += 4;
    word = filled === 0 ? 0 : low >>> (32 - filled);
    word |= high << filled;
    filled += highWidth;
    if (filled >= 32) {
      view.setInt32(offset, word, true);
      offset += 4;
      filled -= 32;
      word = filled === 0 ? 0 : high >>> (highWidth - filled);
    }
  }
  out.length = offset;
}
