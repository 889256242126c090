import type { Column } from "../columns/row-group.ts";
import type { ByteBuffer } from "../memory/byte-buffer.ts";
import type { ChunkEncoder, EncodedBounds, PageRange } from "./column-chunk.ts";
import { Encoding } from "./format.ts";
import { writePlainBooleans } from "./plain.ts";
import { presentBytes, SPARE } from "./present-values.ts";

/** BOOLEAN columns. One object for all columns, as {@link IntegerChunk}. */
export class BooleanChunk implements ChunkEncoder {
  readonly encoding = Encoding.PLAIN;
  readonly dictionaryEntries = 0;
  #values = new Int32Array(0);
  #hasFalse = false;
  #hasTrue = false;

  /** Looks at the column, which has a value. */
  prepare(column: Column & { readonly kind: "boolean" }, rows: number): void {
    if (this.#values.length < rows + SPARE) this.#values = new Int32Array(rows + SPARE);
    const values = this.#values;
    let count = rows;
    if (column.bitmap === null || column.nullCount === 0) {
      for (let row = 0; row < rows; row++) values[row] = column.values[row]!;
    } else count = presentBytes(column.values, column.bitmap, rows, values);
    let trues = 0;
    for (let i = 0; i < count; i++) trues += values[i]!;
    this.#hasTrue = trues > 0;
    this.#hasFalse = trues < count;
  }

  pageEnd(_from: number, limit: number): number {
    return limit;
  }

  writeDictionary(): void {}

  writeValues({ first, last }: PageRange, out: ByteBuffer): void {
    writePlainBooleans(this.#values, first, last, out);
  }

  bounds(): null {
    return null;
  }

  encodedBounds(): EncodedBounds {
    const min = new Uint8Array([this.#hasFalse ? 0 : 1]);
    const max = new Uint8Array([this.#hasTrue ? 1 : 0]);
    return { min, max, isMinExact: true, isMaxExact: true };
  }
}
