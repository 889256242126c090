import type { EncodedBounds } from "./column-chunk.ts";
import type { Utf8Strings } from "./utf8-strings.ts";

/** A bound is cut here: long enough for the paths of objects, so that a query for one of them skips row groups. */
export const MAX_BOUND_BYTES = 256;

const utf8 = new TextEncoder();

/** Where the least and the greatest of some strings are. */
export interface BoundIndices {
  readonly min: number;
  readonly max: number;
}

/** Of at least one string, in the order of their bytes (parquet.thrift, "ColumnOrder": UTF8). */
export function boundIndices(strings: Utf8Strings): BoundIndices {
  let min = 0;
  let max = 0;
  for (let i = 1; i < strings.count; i++) {
    if (compareBytes(strings, i, min) < 0) min = i;
    else if (compareBytes(strings, i, max) > 0) max = i;
  }
  return { min, max };
}

/** The bounds as a chunk's statistics have them: long ones are cut. */
export function encodedStringBounds(strings: Utf8Strings, indices: BoundIndices): EncodedBounds {
  const minBytes = strings.at(indices.min);
  const maxBytes = strings.at(indices.max);
  return {
    min: minBytes.slice(0, cut(minBytes)),
    max: maxBytes.length <= MAX_BOUND_BYTES ? maxBytes.slice() : upperBound(maxBytes),
    isMinExact: minBytes.length <= MAX_BOUND_BYTES,
    isMaxExact: maxBytes.length <= MAX_BOUND_BYTES,
  };
}

function compareBytes({ bytes, offsets }: Utf8Strings, a: number, b: number): number {
  const startA = offsets[a]!;
  const startB = offsets[b]!;
  const lengthA = offsets[a + 1]! - startA;
  const lengthB = offsets[b + 1]! - startB;
  const length = Math.min(lengthA, lengthB);
  for (let i = 0; i < length; i++) {
    const difference = bytes[startA + i]! - bytes[startB + i]!;
    if (difference !== 0) return difference;
  }
  return lengthA - lengthB;
}

/** The greatest length up to the limit that ends between characters. */
function cut(bytes: Uint8Array): number {
  if (bytes.length <= MAX_BOUND_BYTES) return bytes.length;
  let length = MAX_BOUND_BYTES;
  while (isContinuation(bytes[length]!)) length--;
  return length;
}

/**
 * A string that sorts after every one with the prefix to which the value is cut: that prefix, its last character that can grow
 * increased and what follows dropped. Null when none can.
 */
function upperBound(bytes: Uint8Array): Uint8Array | null {
  const points = [...new TextDecoder().decode(bytes.subarray(0, cut(bytes)))];
  for (let last = points.length - 1; last >= 0; last--) {
    const point = points[last]!.codePointAt(0)!;
    if (point === 0x10ffff) continue;
    // Surrogates are no characters of UTF-8.
    const next = String.fromCodePoint(point === 0xd7ff ? 0xe000 : point + 1);
    const bound = utf8.encode(points.slice(0, last).join("") + next);
    if (bound.length <= MAX_BOUND_BYTES) return bound;
  }
  return null;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
