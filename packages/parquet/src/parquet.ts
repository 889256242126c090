export { ipv4Text, ipv6Text, macText } from "./columns/address-text.ts";
export { BinaryBuilder } from "./columns/binary-builder.ts";
export type { ColumnBuilder } from "./columns/column-builder.ts";
export { ColumnGroup } from "./columns/column-group.ts";
export { AddressBuilder, EnumBuilder, StringBuilder } from "./columns/dictionary-builders.ts";
export { NullColumns } from "./columns/null-columns.ts";
export { BooleanBuilder, IntegerBuilder, LongBuilder, TimestampBuilder } from "./columns/number-builders.ts";
export type { Column, RowGroup, Validity } from "./columns/row-group.ts";
export { RowGroupBuilder, type SparseRowGroup } from "./columns/row-group-builder.ts";
export {
  type Bounds,
  type ColumnStatistics,
  compareUtf8,
  type GroupBounds,
  groupBounds,
} from "./columns/statistics.ts";
export type { ColumnDefinition, ColumnType, TableSchema } from "./columns/table-schema.ts";
export { CompressionCodec } from "./encode/format.ts";
export type { PageCompressor } from "./encode/page-compressor.ts";
export { type PagedWriterOptions, pagedParquetWriter } from "./encode/paged-writer.ts";
export { type NewObject, ParquetFile, type WrittenFile } from "./encode/parquet-file.ts";
export type { ByteSink, ParquetWriter, ParquetWriterFactory } from "./encode/parquet-writer.ts";
export { CompactWriter } from "./encode/thrift-compact.ts";
export { ByteBuffer } from "./memory/byte-buffer.ts";
export { giveBack } from "./memory/give-back.ts";
export type { NestedField } from "./nested/nested-schema.ts";
export { NestedWriter, type RowGroupCheck } from "./nested/nested-writer.ts";
export type { ChunkBytes, ColumnPage, ValueConverter } from "./read/column-pages.ts";
export { DamagedParquetError } from "./read/damaged-parquet.ts";
export {
  type ColumnChunk,
  type ParquetFooter,
  parseFooter,
  type RowGroupMetadata,
  TRAILER_BYTES,
} from "./read/footer.ts";
export type { PageDecompressors } from "./read/page-decompressors.ts";
export { openParquet, ParquetReader } from "./read/parquet-reader.ts";
export { isFlat, type ParquetField } from "./read/schema.ts";
