import { ParquetDamage } from "./damaged-parquet.ts";
import { columnsOf, type ParquetField, readSchemaElement, schemaTree } from "./schema.ts";
import { ThriftReader } from "./thrift-reader.ts";

/** By number (parquet.thrift, "CompressionCodec"). */
const CODECS = ["UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"] as const;

/** Bounds and nulls of a column chunk as its writer states them. Bounds are bytes of the physical type. */
export interface ChunkStatistics {
  readonly nullCount: number | null;
  readonly min: Uint8Array | null;
  readonly max: Uint8Array | null;
  /** Fields `min` and `max`, which older writers order by signed bytes. */
  readonly oldMin: Uint8Array | null;
  readonly oldMax: Uint8Array | null;
}

/** What a footer says of one column of a row group; every offset and length was checked against the file. */
export interface ColumnChunk {
  readonly field: ParquetField;
  readonly codec: string;
  /** Levels and values, nulls included. */
  readonly values: number;
  readonly uncompressedBytes: number;
  readonly compressedBytes: number;
  readonly dataPageOffset: number;
  readonly dictionaryPageOffset: number | null;
  readonly statistics: ChunkStatistics | null;
}

/** What a footer says of a row group. */
export interface RowGroupMetadata {
  readonly rows: number;
  /** In the order of the schema's columns. */
  readonly columns: readonly ColumnChunk[];
}

/** A file's metadata, checked against itself and the file's length. */
export interface ParquetFooter {
  readonly rows: number;
  /** Top-level columns. */
  readonly fields: readonly ParquetField[];
  readonly rowGroups: readonly RowGroupMetadata[];
}

const MAGIC = 0x31_52_41_50;
const ENCRYPTED_MAGIC = 0x45_52_41_50;
/** Length and magic number at the end of the file. */
export const TRAILER_BYTES = 8;
/** The magic number at the beginning. */
const HEADER_BYTES = 4;
/** Footers of our files have some 100 KiB; those of a thousand columns and a hundred row groups some 10 MiB. */
const MAX_FOOTER_BYTES = 64 * 1024 * 1024;
/** More than any writer puts into one row group. */
const MAX_ROW_GROUP_VALUES = 64 * 1024 * 1024;
/** A chunk is decompressed page by page; no writer makes larger ones. */
const MAX_CHUNK_BYTES = 2 ** 31;

/** Length of the footer in a file of `size` bytes, by its last eight. */
export function footerLength(trailer: Uint8Array, size: number): number {
  const view = new DataView(trailer.buffer, trailer.byteOffset, trailer.byteLength);
  const magic = view.getUint32(4, true);
  if (magic === ENCRYPTED_MAGIC) throw new ParquetDamage("the footer is encrypted", size - 4);
  if (magic !== MAGIC) throw new ParquetDamage("the file does not end with PAR1", size - 4);
  const length = view.getUint32(0, true);
  const most = Math.min(size - TRAILER_BYTES - HEADER_BYTES, MAX_FOOTER_BYTES);
  if (length > most) {
    throw new ParquetDamage(
      `the footer has ${length} bytes, and at most ${most} are possible`,
      size - TRAILER_BYTES,
    );
  }
  return length;
}

/**
 * Reads the footer, whose first byte is at `offset` of the file. Lists and counts agree with one another afterwards; offsets are
 * as the file states them: see {@link requireWithin}.
 */
export function parseFooter(bytes: Uint8Array, offset: number): ParquetFooter {
  const thrift = new ThriftReader(bytes, offset);
  const elements: ReturnType<typeof readSchemaElement>[] = [];
  const rowGroups: RowGroupMetadata[] = [];
  const read: { rows: number | null; fields: ParquetField[] | null } = { rows: null, fields: null };
  let columns: ParquetField[] = [];
  thrift.root((field) => {
    if (field === 2) {
      if (read.fields !== null) throw thrift.damage("the footer has two schemas");
      thrift.list(() => void elements.push(readSchemaElement(thrift)));
      read.fields = located(thrift, () => schemaTree(elements));
      columns = read.fields.flatMap(columnsOf);
    } else if (field === 3) read.rows = count(thrift, "rows of the file");
    else if (field === 4) {
      if (read.fields === null) throw thrift.damage("the footer lists row groups before its schema");
      thrift.list(() => void rowGroups.push(readRowGroup(thrift, columns)));
    }
  });
  const { rows, fields } = read;
  if (fields === null) throw thrift.damage("the footer has no schema");
  const sum = rowGroups.reduce((total, group) => total + group.rows, 0);
  if (rows !== sum) throw thrift.damage(`the footer states ${rows} rows, and its row groups have ${sum}`);
  return { rows: sum, fields, rowGroups };
}

/** Throws where a column chunk is not between the file's magic number and its footer, or has more entries than `maxValues`. */
export function requireWithin(
  { rowGroups }: ParquetFooter,
  { footerOffset, maxValues }: { readonly footerOffset: number; readonly maxValues: number },
): void {
  for (const [index, { columns }] of rowGroups.entries()) {
    for (const chunk of columns) {
      const name = `column ${chunk.field.path.join(".")} of row group ${index}`;
      const { start, end } = chunkRange(chunk);
      if (start < HEADER_BYTES || end > footerOffset) {
        throw new ParquetDamage(
          `${name} has the bytes ${start} to ${end}, and the columns end at ${footerOffset}`,
          footerOffset,
        );
      }
      if (chunk.values > maxValues) {
        throw new ParquetDamage(`${name} has ${chunk.values} values in ${end - start} bytes`, footerOffset);
      }
    }
  }
}

/** The bytes of all pages of a chunk. */
export function chunkRange({ dataPageOffset, dictionaryPageOffset, compressedBytes }: ColumnChunk): {
  readonly start: number;
  readonly end: number;
} {
  const start = Math.min(dataPageOffset, dictionaryPageOffset ?? dataPageOffset);
  return { start, end: start + compressedBytes };
}

/** Damage that is found after reading has this place. */
function located<T>(thrift: ThriftReader, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw error instanceof ParquetDamage ? thrift.damage(error.message) : error;
  }
}

function count(thrift: ThriftReader, what: string): number {
  const value = thrift.long();
  if (value < 0) throw thrift.damage(`the number of ${what} is ${value}`);
  return value;
}

function readRowGroup(thrift: ThriftReader, fields: readonly ParquetField[]): RowGroupMetadata {
  const columns: ColumnChunk[] = [];
  const read: { rows: number | null } = { rows: null };
  thrift.struct((field) => {
    if (field === 1) {
      thrift.list((index) => {
        const column = fields[index];
        if (column === undefined) throw thrift.damage(`a row group has more than ${fields.length} columns`);
        columns.push(readColumnChunk(thrift, column));
      });
    } else if (field === 3) read.rows = count(thrift, "rows of a row group");
  });
  const { rows } = read;
  if (columns.length !== fields.length) {
    throw thrift.damage(`a row group has ${columns.length} columns, and the schema ${fields.length}`);
  }
  if (rows === null || rows > MAX_ROW_GROUP_VALUES) {
    throw thrift.damage(`a row group has ${rows} rows, and at most ${MAX_ROW_GROUP_VALUES} are read`);
  }
  for (const { field, values } of columns) {
    const isRight = field.maxRepetition === 0 ? values === rows : values >= rows;
    if (!isRight || values > MAX_ROW_GROUP_VALUES) {
      throw thrift.damage(
        `column ${field.path.join(".")} has ${values} values in a row group of ${rows} rows`,
      );
    }
  }
  return { rows, columns };
}

function readColumnChunk(thrift: ThriftReader, field: ParquetField): ColumnChunk {
  const read: { chunk: ColumnChunk | null } = { chunk: null };
  thrift.struct((member) => {
    if (member === 1) throw thrift.damage("a column chunk is in another file");
    if (member === 3) read.chunk = readColumnMetadata(thrift, field);
  });
  if (read.chunk === null) throw thrift.damage("a column chunk has no metadata: is the file encrypted?");
  return read.chunk;
}

function readColumnMetadata(thrift: ThriftReader, field: ParquetField): ColumnChunk {
  const name = field.path.join(".");
  const read: { -readonly [Key in keyof ColumnChunk]?: ColumnChunk[Key] } = {};
  const path: string[] = [];
  thrift.struct((member) => {
    if (member === 3) thrift.list(() => void path.push(new TextDecoder().decode(thrift.binary())));
    else if (member === 4) read.codec = codecName(thrift.int());
    else if (member === 5) read.values = count(thrift, `values of column ${name}`);
    else if (member === 6) read.uncompressedBytes = count(thrift, `bytes of column ${name}`);
    else if (member === 7) read.compressedBytes = count(thrift, `bytes of column ${name}`);
    else if (member === 9) read.dataPageOffset = count(thrift, "a page's offset");
    // 0 stands for none: the magic number is there.
    else if (member === 11) read.dictionaryPageOffset = count(thrift, "a page's offset") || null;
    else if (member === 12) read.statistics = readStatistics(thrift);
  });
  const { codec, values, uncompressedBytes, compressedBytes, dataPageOffset } = read;
  if (path.length !== field.path.length || path.some((part, i) => part !== field.path[i])) {
    throw thrift.damage(`a row group has the column ${path.join(".")} where the schema has ${name}`);
  }
  if (
    codec === undefined ||
    values === undefined ||
    uncompressedBytes === undefined ||
    compressedBytes === undefined ||
    dataPageOffset === undefined
  ) {
    throw thrift.damage(`the footer does not say where column ${name} is`);
  }
  if (uncompressedBytes > MAX_CHUNK_BYTES || compressedBytes > MAX_CHUNK_BYTES) {
    throw thrift.damage(
      `column ${name} has ${uncompressedBytes} bytes, and at most ${MAX_CHUNK_BYTES} are read`,
    );
  }
  const { dictionaryPageOffset = null, statistics = null } = read;
  return {
    field,
    codec,
    values,
    uncompressedBytes,
    compressedBytes,
    dataPageOffset,
    dictionaryPageOffset,
    statistics,
  };
}

function codecName(number: number): string {
  return CODECS[number] ?? `codec ${number}`;
}

function readStatistics(thrift: ThriftReader): ChunkStatistics {
  const read: { -readonly [Key in keyof ChunkStatistics]: ChunkStatistics[Key] } = {
    nullCount: null,
    min: null,
    max: null,
    oldMin: null,
    oldMax: null,
  };
  thrift.struct((field) => {
    if (field === 1) read.oldMax = thrift.binary().slice();
    else if (field === 2) read.oldMin = thrift.binary().slice();
    else if (field === 3) read.nullCount = thrift.long();
    else if (field === 5) read.max = thrift.binary().slice();
    else if (field === 6) read.min = thrift.binary().slice();
  });
  const isCount = read.nullCount !== null && read.nullCount >= 0;
  return { ...read, nullCount: isCount ? read.nullCount : null };
}
