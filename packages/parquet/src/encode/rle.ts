import type { ByteBuffer } from "../memory/byte-buffer.ts";
import { packBits } from "./bit-packing.ts";

/*
 * The RLE / bit-packing hybrid (Encodings.md, "Run Length Encoding / Bit-Packing Hybrid"). Each sequence is written either as
 * runs alone or as one bit-packed run, whichever is smaller: what a mixture would save, the page's compression saves as well.
 */

/** Dictionary indices as a data page holds them: the bit width in a byte, then the hybrid without its length. */
export function writeIndices(
  indices: Int32Array,
  from: number,
  to: number,
  width: number,
  out: ByteBuffer,
): void {
  out.byte(width);
  if (from === to) return;
  const valueBytes = (width + 7) >> 3;
  // A run takes the value and, in nearly all cases, a header of one or two bytes.
  const runLimit = Math.floor(((to - from) * width) / 8 / (valueBytes + 2));
  if (runLimit > 0 && countRuns(indices, from, to, runLimit) <= runLimit) {
    writeRuns(indices, from, to, valueBytes, out);
  } else {
    out.varint((((to - from + 7) >> 3) << 1) | 1);
    packBits(indices, from, to, width, out);
  }
}

/** Runs of equal indices; counting stops beyond `limit`. */
export function countRuns(indices: Int32Array, from: number, to: number, limit: number): number {
  let runs = 1;
  let previous = indices[from]!;
  for (let start = from; start < to && runs <= limit; start += 1024) {
    const end = Math.min(to, start + 1024);
    for (let i = start; i < end; i++) {
      const index = indices[i]!;
      if (index !== previous) runs++;
      previous = index;
    }
  }
  return runs;
}

function writeRuns(indices: Int32Array, from: number, to: number, valueBytes: number, out: ByteBuffer): void {
  let start = from;
  while (start < to) {
    const index = indices[start]!;
    let end = start + 1;
    while (end < to && indices[end] === index) end++;
    writeRun(index, end - start, valueBytes, out);
    start = end;
  }
}

function writeRun(value: number, count: number, valueBytes: number, out: ByteBuffer): void {
  out.varint(count * 2);
  for (let i = 0; i < valueBytes; i++) out.byte((value >>> (8 * i)) & 0xff);
}

/** A dictionary of one entry: every index is 0. */
export function writeZeroIndices(count: number, out: ByteBuffer): void {
  // Width 0 would do by the specification; arrow-cpp writes 1 here, which every reader takes.
  out.byte(1);
  if (count > 0) writeRun(0, count, 1, out);
}

/**
 * Definition levels of rows `from` to `to` of an optional column that is not nested, with the length before them, as a version
 * 1 data page holds them: 1 where the row has a value. `present`: the rows that have one.
 */
export function writeDefinitionLevels(
  bitmap: Uint8Array | null,
  from: number,
  to: number,
  present: number,
  out: ByteBuffer,
): void {
  const lengthAt = out.length;
  out.int32(0);
  const rows = to - from;
  if (bitmap === null || present === rows) writeRun(1, rows, 1, out);
  else if (present === 0) writeRun(0, rows, 1, out);
  else writeMixedLevels(bitmap, from, to, out);
  out.view.setInt32(lengthAt, out.length - lengthAt - 4, true);
}

function writeMixedLevels(bitmap: Uint8Array, from: number, to: number, out: ByteBuffer): void {
  const rows = to - from;
  const size = (rows + 7) >> 3;
  out.varint((size << 1) | 1);
  out.reserve(size);
  const start = out.length;
  copyBits(bitmap, from, rows, out);
  const runs = countBitRuns(out.bytes, start, rows);
  if (runs * 3 >= size) return;
  // The bits as copied tell where the runs end; the runs take less than a third of their place, before them.
  const bits = out.bytes.slice(start, start + size);
  out.length = start - varintLength((size << 1) | 1);
  writeBitRuns(bits, rows, out);
}

function varintLength(value: number): number {
  return Math.max(1, Math.ceil(bitLength(value) / 7));
}

function bitLength(value: number): number {
  return 32 - Math.clz32(value);
}

/** Appends `count` bits from bit `from` on, as whole bytes with zeros after the last bit. */
function copyBits(bitmap: Uint8Array, from: number, count: number, out: ByteBuffer): void {
  const size = (count + 7) >> 3;
  const first = from >> 3;
  const shift = from & 7;
  if (shift === 0) out.bytes.set(bitmap.subarray(first, first + size), out.length);
  else {
    for (let i = 0; i < size; i++) {
      out.bytes[out.length + i] =
        (bitmap[first + i]! >> shift) | ((bitmap[first + i + 1] ?? 0) << (8 - shift));
    }
  }
  out.length += size;
  if ((count & 7) !== 0) out.bytes[out.length - 1]! &= (1 << (count & 7)) - 1;
}

/** Changes between neighbouring bits, and one. */
function countBitRuns(bytes: Uint8Array, start: number, count: number): number {
  let runs = 1;
  let previous = bytes[start]! & 1;
  const whole = count >> 3;
  for (let i = 0; i < whole; i++) {
    const byte = bytes[start + i]!;
    runs += bitCounts[byte ^ (((byte << 1) | previous) & 0xff)]!;
    previous = byte >> 7;
  }
  const rest = count & 7;
  if (rest === 0) return runs;
  const byte = bytes[start + whole]!;
  return runs + bitCounts[(byte ^ ((byte << 1) | previous)) & ((1 << rest) - 1)]!;
}

function writeBitRuns(bits: Uint8Array, count: number, out: ByteBuffer): void {
  let start = 0;
  while (start < count) {
    const value = (bits[start >> 3]! >> (start & 7)) & 1;
    const whole = value === 1 ? 0xff : 0;
    let end = start + 1;
    while (end < count) {
      if ((end & 7) === 0 && bits[end >> 3] === whole && end + 8 <= count) end += 8;
      else if (((bits[end >> 3]! >> (end & 7)) & 1) === value) end++;
      else break;
    }
    writeRun(value, end - start, 1, out);
    start = end;
  }
}

/** Number of ones in bits `from` to `to`. */
export function countBits(bitmap: Uint8Array, from: number, to: number): number {
  let count = 0;
  let i = from;
  for (; i < to && (i & 7) !== 0; i++) count += (bitmap[i >> 3]! >> (i & 7)) & 1;
  for (; i + 8 <= to; i += 8) count += bitCounts[bitmap[i >> 3]!]!;
  for (; i < to; i++) count += (bitmap[i >> 3]! >> (i & 7)) & 1;
  return count;
}

/** Ones in each byte. */
const bitCounts = Uint8Array.from({ length: 256 }, (_, byte) => {
  let count = 0;
  for (let rest = byte; rest > 0; rest >>= 1) count += rest & 1;
  return count;
});
