import type { Column } from "../columns/row-group.ts";
import type { Bounds } from "../columns/statistics.ts";
import type { ByteBuffer } from "../memory/byte-buffer.ts";
import type { ChunkEncoder, EncodedBounds, PageRange } from "./column-chunk.ts";
import type { DeltaBinaryPacked } from "./delta-binary-packed.ts";
import { Encoding } from "./format.ts";
import { indexWidth } from "./number-encoding.ts";
import { presentInt32, SPARE } from "./present-values.ts";
import { writeIndices, writeZeroIndices } from "./rle.ts";
import { type BoundIndices, boundIndices, encodedStringBounds } from "./string-bounds.ts";
import { Utf8Strings } from "./utf8-strings.ts";

type StringColumn = Column & { readonly kind: "string" };

/**
 * BYTE_ARRAY columns with the logical type STRING. They come as codes into a dictionary, and leave so, unless the dictionary is
 * so large that the values themselves take no more room. One object for all columns, as {@link IntegerChunk}.
 */
export class StringChunk implements ChunkEncoder {
  encoding: Encoding = Encoding.RLE_DICTIONARY;
  dictionaryEntries = 0;
  readonly #delta: DeltaBinaryPacked;
  readonly #pageBytes: number;
  readonly #maxDictionaryBytes: number;
  readonly #strings = new Utf8Strings();
  #column: StringColumn = {
    kind: "string",
    codes: new Int32Array(0),
    dictionary: [],
    nullCount: 0,
    bitmap: null,
  };
  /** Codes of the rows with a value: the column's own array where there is no null. */
  #codes: Int32Array = new Int32Array(0);
  #gathered = new Int32Array(0);
  #lengths = new Int32Array(0);
  /** Null where statistics have no bounds. */
  #bounds: BoundIndices | null = null;

  /** `pageBytes`: as {@link BinaryChunk} has it. `maxDictionaryBytes`: of a dictionary page. */
  constructor(delta: DeltaBinaryPacked, pageBytes: number, maxDictionaryBytes: number) {
    this.#delta = delta;
    this.#pageBytes = pageBytes;
    this.#maxDictionaryBytes = maxDictionaryBytes;
  }

  /** Looks at the column, which has a value, and chooses its encoding. */
  prepare(column: StringColumn, rows: number, hasBounds: boolean): void {
    this.#column = column;
    this.#strings.encode(column.dictionary);
    this.#bounds = hasBounds ? boundIndices(this.#strings) : null;
    let count = rows;
    if (column.nullCount === 0 || column.bitmap === null) this.#codes = column.codes;
    else {
      if (this.#gathered.length < rows + SPARE) this.#gathered = new Int32Array(rows + SPARE);
      this.#codes = this.#gathered;
      count = presentInt32(column.codes, column.bitmap, rows, this.#gathered);
    }
    const isDictionary = this.#dictionaryPays(count);
    this.dictionaryEntries = isDictionary ? column.dictionary.length : 0;
    this.encoding = isDictionary ? Encoding.RLE_DICTIONARY : Encoding.DELTA_LENGTH_BYTE_ARRAY;
  }

  pageEnd(from: number, limit: number): number {
    if (this.dictionaryEntries > 0) return limit;
    const { offsets } = this.#strings;
    const { codes, bitmap, nullCount } = this.#column;
    let bytes = 0;
    for (let row = from; row < limit; row++) {
      if (nullCount > 0 && bitmap !== null && ((bitmap[row >> 3]! >> (row & 7)) & 1) === 0) continue;
      bytes += offsets[codes[row]! + 1]! - offsets[codes[row]!]!;
      if (bytes > this.#pageBytes && row > from) return row;
    }
    return limit;
  }

  writeDictionary(out: ByteBuffer): void {
    const { bytes, offsets, count } = this.#strings;
    out.reserve(offsets[count]! + 4 * count);
    for (let entry = 0; entry < count; entry++) {
      const start = offsets[entry]!;
      const end = offsets[entry + 1]!;
      out.int32(end - start);
      appendShort(bytes, start, end, out);
    }
  }

  writeValues({ first, last }: PageRange, out: ByteBuffer): void {
    if (this.dictionaryEntries === 1) writeZeroIndices(last - first, out);
    else if (this.dictionaryEntries > 1) {
      writeIndices(this.#codes, first, last, indexWidth(this.dictionaryEntries), out);
    } else this.#writeStrings(first, last, out);
  }

  bounds(): Bounds | null {
    if (this.#bounds === null) return null;
    const { dictionary } = this.#column;
    return { min: dictionary[this.#bounds.min]!, max: dictionary[this.#bounds.max]! };
  }

  encodedBounds(): EncodedBounds | null {
    return this.#bounds === null ? null : encodedStringBounds(this.#strings, this.#bounds);
  }

  /** Compares with the values themselves, whose bytes are estimated by the entries' mean length. */
  #dictionaryPays(count: number): boolean {
    const entries = this.#strings.count;
    const bytes = this.#strings.offsets[entries]!;
    if (bytes + 4 * entries > this.#maxDictionaryBytes) return false;
    const indexBytes = (count * indexWidth(entries)) / 8;
    return entries < 256 || bytes + 4 * entries + indexBytes <= (bytes / entries + 2) * count;
  }

  #writeStrings(first: number, last: number, out: ByteBuffer): void {
    const { bytes, offsets } = this.#strings;
    const codes = this.#codes;
    if (this.#lengths.length < last - first) this.#lengths = new Int32Array(last - first);
    const lengths = this.#lengths;
    let total = 0;
    for (let i = first; i < last; i++) {
      const length = offsets[codes[i]! + 1]! - offsets[codes[i]!]!;
      lengths[i - first] = length;
      total += length;
    }
    this.#delta.int32(lengths, 0, last - first, out);
    out.reserve(total);
    for (let i = first; i < last; i++) appendShort(bytes, offsets[codes[i]!]!, offsets[codes[i]! + 1]!, out);
  }
}

/** Appends bytes to room that was reserved; a loop is faster than a call for the strings that dictionaries have. */
function appendShort(source: Uint8Array, start: number, end: number, out: ByteBuffer): void {
  const { bytes, length } = out;
  if (end - start > 64) bytes.set(source.subarray(start, end), length);
  else for (let i = start; i < end; i++) bytes[length + i - start] = source[i]!;
  out.length = length + end - start;
}
