import { bitWidth } from "./bit-packing.ts";
import { Encoding } from "./format.ts";
import { countRuns } from "./rle.ts";

/** Entries of a dictionary of numbers; its page takes at most 512 KB. */
export const MAX_NUMBER_ENTRIES = 65_536;

/** Blocks of {@link SAMPLE_BLOCK} neighbours by which the size of the delta encoding is judged. */
const SAMPLE_BLOCKS = 8;
const SAMPLE_BLOCK = 128;
/** Least delta and bit widths of a block, for each of its values. */
const DELTA_OVERHEAD_BITS = 0.4;

/**
 * Bits of each dictionary index. Measured on 131,072 rows of two traffic mixes, zstd level 1: 8 bits instead of 5 to 7 give the
 * compression whole bytes to find (6 % smaller, as fast), as 4 instead of 3 do; from 9 on the exact width is as small and takes
 * half the time.
 */
export function indexWidth(entries: number): number {
  const width = Math.max(1, bitWidth(entries - 1));
  if (width === 3) return 4;
  return width > 4 && width < 8 ? 8 : width;
}

/** A column's values as they are judged: `at(i)` for 0 to `count` - 1, precise enough for bit widths. */
export interface SampledNumbers {
  readonly count: number;
  /** Bytes of a value in PLAIN encoding. */
  readonly size: 4 | 8;
  at(index: number): number;
}

/** What the values of a chunk that no dictionary suits are written as. */
export function encodingWithoutDictionary(
  values: SampledNumbers,
): typeof Encoding.DELTA_BINARY_PACKED | typeof Encoding.PLAIN {
  return deltaBits(values) < values.size * 8 * 0.95 ? Encoding.DELTA_BINARY_PACKED : Encoding.PLAIN;
}

/** Whether the dictionary is worth it beside the delta encoding. Its indices shrink further when they are compressed, deltas hardly. */
export function dictionaryPays(values: SampledNumbers, indices: Int32Array, entries: number): boolean {
  const { count } = values;
  const runBits = (16 + indexWidth(entries)) * countRuns(indices, 0, count, count >> 4);
  const bits = Math.min(count * indexWidth(entries), runBits) + entries * values.size * 8;
  return bits <= 2 * count * deltaBits(values);
}

/** Bits a value would take in DELTA_BINARY_PACKED, by a sample. */
function deltaBits(values: SampledNumbers): number {
  const blocks = Math.min(SAMPLE_BLOCKS, Math.ceil(values.count / SAMPLE_BLOCK));
  let bits = 0;
  for (let block = 0; block < blocks; block++) {
    const start = Math.floor((block * Math.max(0, values.count - SAMPLE_BLOCK)) / Math.max(1, blocks - 1));
    const end = Math.min(values.count, start + SAMPLE_BLOCK);
    let least = Number.POSITIVE_INFINITY;
    let greatest = Number.NEGATIVE_INFINITY;
    for (let i = start + 1; i < end; i++) {
      const delta = values.at(i) - values.at(i - 1);
      least = Math.min(least, delta);
      greatest = Math.max(greatest, delta);
    }
    if (greatest > least) bits += Math.ceil(Math.log2(greatest - least + 1));
  }
  return bits / blocks + DELTA_OVERHEAD_BITS;
}
