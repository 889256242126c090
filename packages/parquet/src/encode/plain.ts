import type { ByteBuffer } from "../memory/byte-buffer.ts";
import { packBits } from "./bit-packing.ts";

/*
 * PLAIN (Encodings.md, "Plain"). Numbers lie in memory as they do in the file: every runtime that we run on is little-endian.
 */

/** Appends values `from` to `to` in PLAIN encoding: four little-endian bytes each. */
export function writePlainInt32(values: Int32Array, from: number, to: number, out: ByteBuffer): void {
  out.append(new Uint8Array(values.buffer, values.byteOffset + 4 * from, 4 * (to - from)));
}

/** 64-bit numbers given as halves, the low one first. */
export function writePlainInt64(halves: Int32Array, from: number, to: number, out: ByteBuffer): void {
  writePlainInt32(halves, 2 * from, 2 * to, out);
}

/** Values of 0 and 1, one bit each. */
export function writePlainBooleans(values: Int32Array, from: number, to: number, out: ByteBuffer): void {
  const end = out.length + ((to - from + 7) >> 3);
  packBits(values, from, to, 1, out);
  out.length = end;
}
