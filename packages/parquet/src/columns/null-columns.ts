import { ABSENT } from "./absent.ts";
import type { Column } from "./row-group.ts";
import type { ColumnType } from "./table-schema.ts";

/** Columns without a value. They share their arrays, which nobody writes to, and which grow to the most rows asked for. */
export class NullColumns {
  #zeros = new ArrayBuffer(0);
  #codes = new Int32Array(0);

  column(type: ColumnType, rows: number): Column {
    if (8 * (rows + 1) > this.#zeros.byteLength) this.#grow(rows);
    const zeros = this.#zeros;
    const validity = { nullCount: rows, bitmap: new Uint8Array(zeros, 0, (rows + 7) >> 3) };
    switch (type) {
      case "integer":
        return { kind: type, values: new Int32Array(zeros, 0, rows), ...validity };
      case "long":
      case "timestamp":
        return { kind: type, values: new BigInt64Array(zeros, 0, rows), ...validity };
      case "boolean":
        return { kind: type, values: new Uint8Array(zeros, 0, rows), ...validity };
      case "string":
        return { kind: type, codes: this.#codes.subarray(0, rows), dictionary: [], ...validity };
      case "binary":
        return {
          kind: type,
          bytes: new Uint8Array(0),
          offsets: new Int32Array(zeros, 0, rows + 1),
          ...validity,
        };
      case "date":
        throw new Error("a column of type date is the partition's, and in no file");
    }
  }

  #grow(rows: number): void {
    this.#zeros = new ArrayBuffer(8 * (rows + 1));
    this.#codes = new Int32Array(rows).fill(ABSENT);
  }
}
