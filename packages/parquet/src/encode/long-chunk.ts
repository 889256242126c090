import type { Column } from "../columns/row-group.ts";
import type { Bounds } from "../columns/statistics.ts";
import type { ByteBuffer } from "../memory/byte-buffer.ts";
import type { ChunkEncoder, EncodedBounds, PageRange } from "./column-chunk.ts";
import type { DeltaBinaryPacked } from "./delta-binary-packed.ts";
import { Encoding } from "./format.ts";
import type { NumberDictionary } from "./number-dictionary.ts";
import {
  dictionaryPays,
  encodingWithoutDictionary,
  indexWidth,
  MAX_NUMBER_ENTRIES,
  type SampledNumbers,
} from "./number-encoding.ts";
import { writePlainInt64 } from "./plain.ts";
import { presentHalves, SPARE } from "./present-values.ts";
import { writeIndices, writeZeroIndices } from "./rle.ts";

type LongColumn = Column & { readonly kind: "long" | "timestamp" };

/**
 * INT64 columns: longs and timestamps. Values are worked on as 32-bit halves, since each BigInt would be an object. One object
 * for all columns, as {@link IntegerChunk}.
 */
export class LongChunk implements ChunkEncoder, SampledNumbers {
  readonly size = 8;
  encoding: Encoding = Encoding.PLAIN;
  dictionaryEntries = 0;
  count = 0;
  readonly #dictionary: NumberDictionary;
  readonly #delta: DeltaBinaryPacked;
  /** Halves of the values present, the low one first: over the column's own array where there is no null. */
  #halves: Int32Array = new Int32Array(0);
  #gathered = new Int32Array(0);
  /** Where the least and the greatest value are. */
  #min = 0;
  #max = 0;
  /** Keys of the dictionary: distances from the least value where they fit, else the halves apart. */
  #lows = new Int32Array(0);
  #highs = new Int32Array(0);

  constructor(dictionary: NumberDictionary, delta: DeltaBinaryPacked) {
    this.#dictionary = dictionary;
    this.#delta = delta;
  }

  /** Looks at the column, which has a value, and chooses its encoding. */
  prepare(column: LongColumn, rows: number): void {
    this.#gather(column, rows);
    this.#findBounds();
    this.dictionaryEntries = 0;
    const distance = this.#distance(this.#max);
    if (distance === 0) {
      this.dictionaryEntries = 1;
      this.#dictionary.firsts[0] = 0;
    } else if (this.#encodeDictionary(distance)) {
      if (dictionaryPays(this, this.#dictionary.indices, this.#dictionary.entries)) {
        this.dictionaryEntries = this.#dictionary.entries;
      }
    }
    this.encoding = this.dictionaryEntries > 0 ? Encoding.RLE_DICTIONARY : encodingWithoutDictionary(this);
  }

  at(index: number): number {
    return this.#halves[2 * index + 1]! * 0x1_0000_0000 + (this.#halves[2 * index]! >>> 0);
  }

  pageEnd(_from: number, limit: number): number {
    return limit;
  }

  writeDictionary(out: ByteBuffer): void {
    const { firsts } = this.#dictionary;
    for (let entry = 0; entry < this.dictionaryEntries; entry++) {
      out.int32(this.#halves[2 * firsts[entry]!]!);
      out.int32(this.#halves[2 * firsts[entry]! + 1]!);
    }
  }

  writeValues({ first, last }: PageRange, out: ByteBuffer): void {
    if (this.encoding === Encoding.DELTA_BINARY_PACKED) this.#delta.int64(this.#halves, first, last, out);
    else if (this.encoding === Encoding.PLAIN) writePlainInt64(this.#halves, first, last, out);
    else if (this.dictionaryEntries === 1) writeZeroIndices(last - first, out);
    else writeIndices(this.#dictionary.indices, first, last, indexWidth(this.dictionaryEntries), out);
  }

  bounds(): Bounds {
    return { min: this.#value(this.#min), max: this.#value(this.#max) };
  }

  encodedBounds(): EncodedBounds {
    return { min: this.#bytes(this.#min), max: this.#bytes(this.#max), isMinExact: true, isMaxExact: true };
  }

  #gather(column: LongColumn, rows: number): void {
    const halves = new Int32Array(column.values.buffer, column.values.byteOffset, 2 * rows);
    if (column.bitmap === null || column.nullCount === 0) {
      this.#halves = halves;
      this.count = rows;
      return;
    }
    const room = 2 * (rows + SPARE);
    if (this.#gathered.length < room) this.#gathered = new Int32Array(room);
    this.#halves = this.#gathered;
    this.count = presentHalves(halves, column.bitmap, rows, this.#gathered);
  }

  #findBounds(): void {
    const halves = this.#halves;
    let min = 0;
    let max = 0;
    let minLow = halves[0]! >>> 0;
    let minHigh = halves[1]!;
    let maxLow = minLow;
    let maxHigh = minHigh;
    for (let i = 1; i < this.count; i++) {
      const low = halves[2 * i]! >>> 0;
      const high = halves[2 * i + 1]!;
      if (high < minHigh || (high === minHigh && low < minLow)) {
        min = i;
        minLow = low;
        minHigh = high;
      } else if (high > maxHigh || (high === maxHigh && low > maxLow)) {
        max = i;
        maxLow = low;
        maxHigh = high;
      }
    }
    this.#min = min;
    this.#max = max;
  }

  /** How far the value is from the least one: exact up to 2^53. */
  #distance(index: number): number {
    const highs = this.#halves[2 * index + 1]! - this.#halves[2 * this.#min + 1]!;
    return highs * 0x1_0000_0000 + (this.#halves[2 * index]! >>> 0) - (this.#halves[2 * this.#min]! >>> 0);
  }

  #encodeDictionary(greatestDistance: number): boolean {
    const { count } = this;
    const halves = this.#halves;
    if (this.#lows.length < count) this.#lows = new Int32Array(count);
    const lows = this.#lows;
    const limit = Math.min(MAX_NUMBER_ENTRIES, count >> 1);
    if (greatestDistance <= 0x7fff_ffff) {
      const least = halves[2 * this.#min]!;
      for (let i = 0; i < count; i++) lows[i] = (halves[2 * i]! - least) | 0;
      return this.#dictionary.encode(lows, count, 0, greatestDistance, limit);
    }
    if (this.#highs.length < count) this.#highs = new Int32Array(count);
    const highs = this.#highs;
    for (let i = 0; i < count; i++) {
      lows[i] = halves[2 * i]!;
      highs[i] = halves[2 * i + 1]!;
    }
    return this.#dictionary.encodeWide(lows, highs, count, limit);
  }

  #value(index: number): bigint {
    return (BigInt(this.#halves[2 * index + 1]!) << 32n) | BigInt(this.#halves[2 * index]! >>> 0);
  }

  #bytes(index: number): Uint8Array {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigInt64(0, this.#value(index), true);
    return bytes;
  }
}
