/**
 * Rows as typed columns, ready to be written: what the column builders give and a Parquet writer takes. Arrays belong to
 * the builders and are valid until their next store or `take`. A null row's value is unspecified; in codes it is -1.
 */
export interface RowGroup {
  readonly rows: number;
  /** In the order of the file's columns: the table's without the partition column. */
  readonly columns: readonly Column[];
}

/** Validity as Arrow and Parquet readers know it: bit i (least significant first) is 1 where row i has a value. */
export interface Validity {
  readonly nullCount: number;
  /** Null when `nullCount` is 0. */
  readonly bitmap: Uint8Array | null;
}

/** One column's values in memory, by kind; nulls have a value of no meaning. */
export type Column =
  | ({ readonly kind: "integer"; readonly values: Int32Array } & Validity)
  | ({ readonly kind: "long"; readonly values: BigInt64Array } & Validity)
  /** Microseconds since 1970 UTC. */
  | ({ readonly kind: "timestamp"; readonly values: BigInt64Array } & Validity)
  /** One byte a row, 0 or 1. */
  | ({ readonly kind: "boolean"; readonly values: Uint8Array } & Validity)
  /** Every dictionary entry is used by some row; entries stand in the order of their first use. */
  | ({
      readonly kind: "string";
      readonly codes: Int32Array;
      readonly dictionary: readonly string[];
    } & Validity)
  /** Row i is `bytes[offsets[i]]` to `bytes[offsets[i + 1]]`; a null row is empty. */
  | ({ readonly kind: "binary"; readonly bytes: Uint8Array; readonly offsets: Int32Array } & Validity);
