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
import { writePlainInt32 } from "./plain.ts";
import { presentInt32, SPARE } from "./present-values.ts";
import { writeIndices, writeZeroIndices } from "./rle.ts";

/** INT32 columns. One object for all of them, since a column is written before the next is looked at. */
export class IntegerChunk implements ChunkEncoder, SampledNumbers {
  readonly size = 4;
  encoding: Encoding = Encoding.PLAIN;
  dictionaryEntries = 0;
  count = 0;
  readonly #dictionary: NumberDictionary;
  readonly #delta: DeltaBinaryPacked;
  /** The values present: the column's own array where there is no null. */
  #values: Int32Array = new Int32Array(0);
  #gathered = new Int32Array(0);
  #min = 0;
  #max = 0;

  constructor(dictionary: NumberDictionary, delta: DeltaBinaryPacked) {
    this.#dictionary = dictionary;
    this.#delta = delta;
  }

  /** Looks at the column, which has a value, and chooses its encoding. */
  prepare(column: Column & { readonly kind: "integer" }, rows: number): void {
    this.#gather(column, rows);
    this.#findBounds();
    this.dictionaryEntries = 0;
    if (this.#min === this.#max) {
      this.dictionaryEntries = 1;
      this.#dictionary.firsts[0] = 0;
    } else {
      const limit = Math.min(MAX_NUMBER_ENTRIES, this.count >> 1);
      const dictionary = this.#dictionary;
      if (
        dictionary.encode(this.#values, this.count, this.#min, this.#max, limit) &&
        dictionaryPays(this, dictionary.indices, dictionary.entries)
      ) {
        this.dictionaryEntries = dictionary.entries;
      }
    }
    this.encoding = this.dictionaryEntries > 0 ? Encoding.RLE_DICTIONARY : encodingWithoutDictionary(this);
  }

  at(index: number): number {
    return this.#values[index]!;
  }

  pageEnd(_from: number, limit: number): number {
    return limit;
  }

  writeDictionary(out: ByteBuffer): void {
    const { firsts } = this.#dictionary;
    for (let entry = 0; entry < this.dictionaryEntries; entry++) out.int32(this.#values[firsts[entry]!]!);
  }

  writeValues({ first, last }: PageRange, out: ByteBuffer): void {
    if (this.encoding === Encoding.DELTA_BINARY_PACKED) this.#delta.int32(this.#values, first, last, out);
    else if (this.encoding === Encoding.PLAIN) writePlainInt32(this.#values, first, last, out);
    else if (this.dictionaryEntries === 1) writeZeroIndices(last - first, out);
    else writeIndices(this.#dictionary.indices, first, last, indexWidth(this.dictionaryEntries), out);
  }

  bounds(): Bounds {
    return { min: this.#min, max: this.#max };
  }

  encodedBounds(): EncodedBounds {
    return { min: int32Bytes(this.#min), max: int32Bytes(this.#max), isMinExact: true, isMaxExact: true };
  }

  #gather(column: Column & { readonly kind: "integer" }, rows: number): void {
    if (column.bitmap === null || column.nullCount === 0) {
      this.#values = column.values;
      this.count = rows;
      return;
    }
    if (this.#gathered.length < rows + SPARE) this.#gathered = new Int32Array(rows + SPARE);
    this.#values = this.#gathered;
    this.count = presentInt32(column.values, column.bitmap, rows, this.#gathered);
  }

  #findBounds(): void {
    const values = this.#values;
    let min = values[0]!;
    let max = min;
    for (let i = 1; i < this.count; i++) {
      const value = values[i]!;
      if (value < min) min = value;
      if (value > max) max = value;
    }
    this.#min = min;
    this.#max = max;
  }
}

function int32Bytes(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value, true);
  return bytes;
}
