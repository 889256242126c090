import type { Column } from "../columns/row-group.ts";
import type { ByteBuffer } from "../memory/byte-buffer.ts";
import type { ChunkEncoder, PageRange } from "./column-chunk.ts";
import type { DeltaBinaryPacked } from "./delta-binary-packed.ts";
import { Encoding } from "./format.ts";

/** More bytes in a page, of which one value has nearly all, are not copied into it: a packet of some link types has up to 128 MiB. */
const MAX_COPIED = 4 * 1024 * 1024;

/**
 * BYTE_ARRAY columns without a logical type, as DELTA_LENGTH_BYTE_ARRAY (Encodings.md, "Delta-length byte array"): a page's
 * values are one slice of the column's bytes behind their lengths, which the specification prefers to PLAIN for byte arrays.
 * Columns of frames have no statistics. One object for all columns, as {@link IntegerChunk}.
 */
export class BinaryChunk implements ChunkEncoder {
  readonly encoding = Encoding.DELTA_LENGTH_BYTE_ARRAY;
  readonly dictionaryEntries = 0;
  readonly #delta: DeltaBinaryPacked;
  readonly #pageBytes: number;
  #bytes: Uint8Array = new Uint8Array(0);
  #offsets: Int32Array = new Int32Array(0);
  #bitmap: Uint8Array | null = null;
  #lengths = new Int32Array(0);

  /** `pageBytes`: a page ends before it is larger, unless its first value is. */
  constructor(delta: DeltaBinaryPacked, pageBytes: number) {
    this.#delta = delta;
    this.#pageBytes = pageBytes;
  }

  prepare(column: Column & { readonly kind: "binary" }): void {
    this.#bytes = column.bytes;
    this.#offsets = column.offsets;
    this.#bitmap = column.nullCount === 0 ? null : column.bitmap;
  }

  pageEnd(from: number, limit: number): number {
    const offsets = this.#offsets;
    const greatest = offsets[from]! + this.#pageBytes;
    if (offsets[limit]! <= greatest) return limit;
    // The last row that ends within the page, by bisection: offsets never decrease.
    let low = from + 1;
    let high = limit;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (offsets[middle]! <= greatest) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  writeDictionary(): void {}

  writeValues({ fromRow, toRow }: PageRange, out: ByteBuffer): void {
    const offsets = this.#offsets;
    const bitmap = this.#bitmap;
    if (this.#lengths.length < toRow - fromRow) this.#lengths = new Int32Array(toRow - fromRow);
    const lengths = this.#lengths;
    let count = 0;
    for (let row = fromRow; row < toRow; row++) {
      if (bitmap !== null && ((bitmap[row >> 3]! >> (row & 7)) & 1) === 0) continue;
      lengths[count++] = offsets[row + 1]! - offsets[row]!;
    }
    this.#delta.int32(lengths, 0, count, out);
    const bytes = this.#bytesOf(fromRow, toRow);
    if (bytes.length <= MAX_COPIED) out.append(bytes);
  }

  longTail({ fromRow, toRow }: PageRange): Uint8Array | null {
    const bytes = this.#bytesOf(fromRow, toRow);
    return bytes.length > MAX_COPIED ? bytes : null;
  }

  #bytesOf(fromRow: number, toRow: number): Uint8Array {
    return this.#bytes.subarray(this.#offsets[fromRow], this.#offsets[toRow]);
  }

  bounds(): null {
    return null;
  }

  encodedBounds(): null {
    return null;
  }
}
