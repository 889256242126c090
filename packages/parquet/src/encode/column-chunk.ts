import type { Bounds } from "../columns/statistics.ts";
import type { ByteBuffer } from "../memory/byte-buffer.ts";
import type { Encoding } from "./format.ts";

/** Least and greatest value as `Statistics` has them: PLAIN, without the length (parquet.thrift, "Statistics"). */
export interface EncodedBounds {
  readonly min: Uint8Array;
  /** Null where no value that is short enough is known to be as great as all. */
  readonly max: Uint8Array | null;
  readonly isMinExact: boolean;
  readonly isMaxExact: boolean;
}

/** Rows `fromRow` to `toRow`, whose values are the `first`th to the one before the `last`th of the chunk's present values. */
export interface PageRange {
  readonly fromRow: number;
  readonly toRow: number;
  readonly first: number;
  readonly last: number;
}

/** One column of one row group, looked at and ready to be written page by page. At least one value is not null. */
export interface ChunkEncoder {
  /** Of the data pages' values. */
  readonly encoding: Encoding;
  /** Entries of the dictionary page, 0 for none. */
  readonly dictionaryEntries: number;
  /** The row behind the last one of the page that begins with row `from`; more than `from`, at most `limit`. */
  pageEnd(from: number, limit: number): number;
  /** The dictionary page's body: entries in PLAIN encoding. */
  writeDictionary(out: ByteBuffer): void;
  /** A data page's values, without definition levels. */
  writeValues(page: PageRange, out: ByteBuffer): void;
  /** What `writeValues` leaves out of the page, which ends with it: bytes so many that they are not copied. */
  longTail?(page: PageRange): Uint8Array | null;
  /** Null where the file's statistics have none. */
  bounds(): Bounds | null;
  /** Null where the chunk's statistics have none. */
  encodedBounds(): EncodedBounds | null;
}
