/** Numbers of the Parquet format that this project writes, in the words of `parquet.thrift` (apache/parquet-format). */

export const PhysicalType = { BOOLEAN: 0, INT32: 1, INT64: 2, BYTE_ARRAY: 6 } as const;

/** Numbers of parquet.thrift. */
export const FieldRepetitionType = { REQUIRED: 0, OPTIONAL: 1, REPEATED: 2 } as const;

/** Superseded by LogicalType; still to be written beside it ("LogicalType annotations to replace ConvertedType"). */
export const ConvertedType = { UTF8: 0, MAP: 1, LIST: 3, TIMESTAMP_MICROS: 10 } as const;

/** Numbers of parquet.thrift, of the encodings that are written. */
export const Encoding = {
  PLAIN: 0,
  RLE: 3,
  DELTA_BINARY_PACKED: 5,
  DELTA_LENGTH_BYTE_ARRAY: 6,
  RLE_DICTIONARY: 8,
} as const;
/** Numbers of parquet.thrift, of the encodings that are written. */
export type Encoding = (typeof Encoding)[keyof typeof Encoding];

/** Numbers of parquet.thrift, of the codecs that are written. */
export const CompressionCodec = { UNCOMPRESSED: 0, GZIP: 2, ZSTD: 6 } as const;
/** Numbers of parquet.thrift, of the codecs that are written. */
export type CompressionCodec = (typeof CompressionCodec)[keyof typeof CompressionCodec];

/** Numbers of parquet.thrift, of the pages that are written. */
export const PageType = { DATA_PAGE: 0, DICTIONARY_PAGE: 2 } as const;

/** First and last four bytes of a file: `PAR1`. */
export const MAGIC = 0x31524150;
