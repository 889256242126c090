import { ThriftReader } from "./thrift-reader.ts";

/** By number (parquet.thrift, "PageType"). */
export const PageType = { DATA: 0, INDEX: 1, DICTIONARY: 2, DATA_V2: 3 } as const;

/** By number (parquet.thrift, "Encoding"). */
export const Encoding = {
  PLAIN: 0,
  PLAIN_DICTIONARY: 2,
  RLE: 3,
  BIT_PACKED: 4,
  DELTA_BINARY_PACKED: 5,
  DELTA_LENGTH_BYTE_ARRAY: 6,
  DELTA_BYTE_ARRAY: 7,
  RLE_DICTIONARY: 8,
  BYTE_STREAM_SPLIT: 9,
} as const;

/** A page's header, checked against the chunk's length. */
export interface PageHeader {
  readonly type: number;
  /** Where the page's bytes begin in the chunk. */
  readonly start: number;
  readonly compressedBytes: number;
  readonly uncompressedBytes: number;
  readonly values: number;
  readonly encoding: number;
  readonly definitionEncoding: number;
  readonly repetitionEncoding: number;
  /** Version 2 only: bytes of levels before the values, never compressed. */
  readonly definitionBytes: number;
  readonly repetitionBytes: number;
  readonly isCompressed: boolean;
}

/**
 * Reads the header at `at` of a column chunk, whose first byte is at `base` of the file. No count is negative, and the page lies
 * in the chunk.
 */
export function readPageHeader(chunk: Uint8Array, base: number, at: number): PageHeader {
  const thrift = new ThriftReader(chunk, base, at);
  const read: { -readonly [Key in keyof PageHeader]: PageHeader[Key] } = {
    type: -1,
    start: 0,
    compressedBytes: -1,
    uncompressedBytes: -1,
    values: -1,
    encoding: -1,
    definitionEncoding: Encoding.RLE,
    repetitionEncoding: Encoding.RLE,
    definitionBytes: 0,
    repetitionBytes: 0,
    isCompressed: true,
  };
  thrift.root((field) => {
    if (field === 1) read.type = thrift.int();
    else if (field === 2) read.uncompressedBytes = thrift.int();
    else if (field === 3) read.compressedBytes = thrift.int();
    else if (field === 5 || field === 7) {
      thrift.struct((member) => {
        if (member === 1) read.values = thrift.int();
        else if (member === 2) read.encoding = thrift.int();
        else if (field === 5 && member === 3) read.definitionEncoding = thrift.int();
        else if (field === 5 && member === 4) read.repetitionEncoding = thrift.int();
      });
    } else if (field === 8) {
      thrift.struct((member) => {
        if (member === 1) read.values = thrift.int();
        else if (member === 4) read.encoding = thrift.int();
        else if (member === 5) read.definitionBytes = thrift.int();
        else if (member === 6) read.repetitionBytes = thrift.int();
        else if (member === 7) read.isCompressed = thrift.boolean();
      });
    }
  });
  read.start = thrift.position;
  const { compressedBytes, uncompressedBytes, definitionBytes, repetitionBytes, values, type } = read;
  const left = chunk.length - read.start;
  if (compressedBytes < 0 || compressedBytes > left || uncompressedBytes < 0) {
    throw thrift.damage(
      `a page has ${compressedBytes} bytes, ${uncompressedBytes} decompressed, and its column ends after ${left}`,
    );
  }
  if (type !== PageType.INDEX && values < 0) throw thrift.damage(`a page has ${values} values`);
  const levelBytes = definitionBytes + repetitionBytes;
  if (
    definitionBytes < 0 ||
    repetitionBytes < 0 ||
    levelBytes > Math.min(compressedBytes, uncompressedBytes)
  ) {
    throw thrift.damage(`a page of ${compressedBytes} bytes has levels of ${levelBytes}`);
  }
  return read;
}
