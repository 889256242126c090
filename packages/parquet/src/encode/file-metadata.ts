import type { ColumnDefinition, ColumnType } from "../columns/table-schema.ts";
import type { ByteBuffer } from "../memory/byte-buffer.ts";
import type { EncodedBounds } from "./column-chunk.ts";
import {
  type CompressionCodec,
  ConvertedType,
  Encoding,
  FieldRepetitionType,
  PageType,
  PhysicalType,
} from "./format.ts";
import { CompactWriter } from "./thrift-compact.ts";

/** What the footer says of one column of one row group. Offsets are from the file's beginning; sizes include page headers. */
export interface ChunkMetadata {
  readonly codec: CompressionCodec;
  readonly encoding: Encoding;
  readonly rows: number;
  readonly nullCount: number;
  readonly bounds: EncodedBounds | null;
  readonly uncompressedSize: number;
  readonly compressedSize: number;
  /** Null where there is no dictionary page; else it begins the chunk. */
  readonly dictionaryPageOffset: number | null;
  readonly dataPageOffset: number;
  readonly dataPages: number;
}

/** What the footer says of a row group that was written. */
export interface RowGroupMetadata {
  readonly rows: number;
  readonly columns: readonly ChunkMetadata[];
}

interface FileMetadata {
  readonly columns: readonly ColumnDefinition[];
  readonly rowGroups: readonly RowGroupMetadata[];
  readonly createdBy: string;
}

/** Appends the file's metadata (parquet.thrift, "FileMetaData"), without its length and the magic number. */
export function writeFileMetadata({ columns, rowGroups, createdBy }: FileMetadata, out: ByteBuffer): void {
  const thrift = new CompactWriter(out);
  thrift.struct(() => {
    // "writers should always populate 1 for version"
    thrift.i32(1, 1);
    // The root stands before the columns.
    thrift.structList(2, [null, ...columns], (column) => {
      if (column === null) {
        thrift.string(4, "schema");
        thrift.i32(5, columns.length);
      } else writeSchemaElement(thrift, column);
    });
    thrift.i64(
      3,
      rowGroups.reduce((sum, group) => sum + group.rows, 0),
    );
    let position = 0;
    thrift.structList(4, rowGroups, (group) => {
      writeRowGroup(thrift, columns, group, position++);
    });
    thrift.string(6, createdBy);
    // TYPE_ORDER for each column: without it nobody may use the bounds.
    thrift.structList(7, columns, () => thrift.structField(1, () => {}));
  });
}

/** The physical type that stores a column type. */
export function physicalType(type: ColumnType): (typeof PhysicalType)[keyof typeof PhysicalType] {
  switch (type) {
    case "integer":
      return PhysicalType.INT32;
    case "long":
    case "timestamp":
      return PhysicalType.INT64;
    case "boolean":
      return PhysicalType.BOOLEAN;
    case "string":
    case "binary":
      return PhysicalType.BYTE_ARRAY;
    case "date":
      throw new Error("a column of type date cannot be written: dates are partition values only");
  }
}

/** LogicalTypes.md, "STRING" and "TIMESTAMP"; the converted type stands beside them for older readers. */
function writeSchemaElement(thrift: CompactWriter, { name, type }: ColumnDefinition): void {
  thrift.i32(1, physicalType(type));
  thrift.i32(3, FieldRepetitionType.OPTIONAL);
  thrift.string(4, name);
  if (type === "string") {
    thrift.i32(6, ConvertedType.UTF8);
    thrift.structField(10, () => thrift.structField(1, () => {}));
  } else if (type === "timestamp") {
    thrift.i32(6, ConvertedType.TIMESTAMP_MICROS);
    thrift.structField(10, () =>
      thrift.structField(8, () => {
        // isAdjustedToUTC, and the unit MICROS.
        thrift.bool(1, true);
        thrift.structField(2, () => thrift.structField(2, () => {}));
      }),
    );
  }
}

function writeRowGroup(
  thrift: CompactWriter,
  columns: readonly ColumnDefinition[],
  group: RowGroupMetadata,
  position: number,
): void {
  thrift.structList(1, group.columns, (chunk, i) => {
    // file_offset: "Writers should set this field to 0 if no ColumnMetaData has been written outside the footer."
    thrift.i64(2, 0);
    thrift.structField(3, () => writeColumnMetadata(thrift, columns[i]!, chunk));
  });
  thrift.i64(
    2,
    group.columns.reduce((sum, chunk) => sum + chunk.uncompressedSize, 0),
  );
  thrift.i64(3, group.rows);
  const first = group.columns[0];
  if (first !== undefined) thrift.i64(5, first.dictionaryPageOffset ?? first.dataPageOffset);
  thrift.i64(
    6,
    group.columns.reduce((sum, chunk) => sum + chunk.compressedSize, 0),
  );
  // The field is 16 bits wide and optional.
  if (position <= 0x7fff) thrift.i16(7, position);
}

function writeColumnMetadata(thrift: CompactWriter, column: ColumnDefinition, chunk: ChunkMetadata): void {
  const hasDictionary = chunk.dictionaryPageOffset !== null;
  const encodings = new Set<Encoding>([Encoding.RLE, chunk.encoding]);
  if (hasDictionary) encodings.add(Encoding.PLAIN);
  thrift.i32(1, physicalType(column.type));
  thrift.i32List(
    2,
    [...encodings].sort((a, b) => a - b),
  );
  thrift.stringList(3, [column.name]);
  thrift.i32(4, chunk.codec);
  thrift.i64(5, chunk.rows);
  thrift.i64(6, chunk.uncompressedSize);
  thrift.i64(7, chunk.compressedSize);
  thrift.i64(9, chunk.dataPageOffset);
  if (chunk.dictionaryPageOffset !== null) thrift.i64(11, chunk.dictionaryPageOffset);
  thrift.structField(12, () => writeStatistics(thrift, chunk));
  // Tells readers that every page has dictionary indices, so that they may filter by the dictionary.
  const pages = [{ type: PageType.DATA_PAGE as number, encoding: chunk.encoding, count: chunk.dataPages }];
  if (hasDictionary) pages.unshift({ type: PageType.DICTIONARY_PAGE, encoding: Encoding.PLAIN, count: 1 });
  thrift.structList(13, pages, ({ type, encoding, count }) => {
    thrift.i32(1, type);
    thrift.i32(2, encoding);
    thrift.i32(3, count);
  });
}

function writeStatistics(thrift: CompactWriter, { nullCount, bounds }: ChunkMetadata): void {
  thrift.i64(3, nullCount);
  if (bounds === null) return;
  if (bounds.max !== null) thrift.binary(5, bounds.max);
  thrift.binary(6, bounds.min);
  if (bounds.max !== null) thrift.bool(7, bounds.isMaxExact);
  thrift.bool(8, bounds.isMinExact);
}
