import type { Column, RowGroup } from "../columns/row-group.ts";
import type { Bounds, GroupBounds } from "../columns/statistics.ts";
import type { ColumnDefinition } from "../columns/table-schema.ts";
import { ByteBuffer } from "../memory/byte-buffer.ts";
import { BinaryChunk } from "./binary-chunk.ts";
import { BooleanChunk } from "./boolean-chunk.ts";
import { ChunkWriter } from "./chunk-writer.ts";
import type { ChunkEncoder } from "./column-chunk.ts";
import { DeltaBinaryPacked } from "./delta-binary-packed.ts";
import { physicalType, type RowGroupMetadata, writeFileMetadata } from "./file-metadata.ts";
import { FileOutput } from "./file-output.ts";
import { MAGIC } from "./format.ts";
import { IntegerChunk } from "./integer-chunk.ts";
import { LongChunk } from "./long-chunk.ts";
import { NumberDictionary } from "./number-dictionary.ts";
import { MAX_NUMBER_ENTRIES } from "./number-encoding.ts";
import type { PageCompressor } from "./page-compressor.ts";
import type { ByteSink, ParquetWriter, ParquetWriterFactory } from "./parquet-writer.ts";
import { StringChunk } from "./string-chunk.ts";

/** How pages are cut and compressed. */
export interface PagedWriterOptions {
  /** Null: no page is compressed. */
  readonly compressor: PageCompressor | null;
  /** The most rows of a page. */
  readonly pageRows?: number;
  /** A page of byte arrays ends before it holds more, unless its first value does. */
  readonly pageBytes?: number;
  /** The most bytes of a dictionary of strings; columns with more are written without one. */
  readonly dictionaryBytes?: number;
}

const MiB = 1024 * 1024;
/** Numbers take at most 1 MiB of a page at so many rows; that is what readers are used to. */
const defaults = { pageRows: 131_072, pageBytes: MiB, dictionaryBytes: MiB };

/**
 * `<application> version <version>` as readers parse it (parquet.thrift, "created_by"); the version is that of this writer, to
 * be raised when it writes other bytes for the same rows.
 */
const CREATED_BY = "deltacap version 1.0.0";

/**
 * Writes Parquet from typed columns: pages by the encoding that suits each column, one call of the compressor a page. The same
 * rows give the same bytes. Pages and row groups have no index: nearly all chunks are one page, which statistics select as well.
 *
 * Memory: a page and the working arrays of one row group, shared by the files of this factory, beside what the sink keeps.
 */
export function pagedParquetWriter(options: PagedWriterOptions): ParquetWriterFactory {
  const limits = { ...defaults, ...options };
  const idle: Encoders[] = [];
  return (columns, sink) => new PagedWriter(columns, sink, limits, idle);
}

type Limits = Required<PagedWriterOptions>;

class PagedWriter implements ParquetWriter {
  readonly #columns: readonly ColumnDefinition[];
  readonly #output: FileOutput;
  readonly #limits: Limits;
  /** Working arrays that no file is using. */
  readonly #idle: Encoders[];
  readonly #rowGroups: RowGroupMetadata[] = [];

  constructor(columns: readonly ColumnDefinition[], sink: ByteSink, limits: Limits, idle: Encoders[]) {
    // Refuses a type that no column of a file has, before anything is written.
    for (const column of columns) physicalType(column.type);
    this.#columns = columns;
    this.#output = new FileOutput(sink);
    this.#limits = limits;
    this.#idle = idle;
  }

  async write(group: RowGroup): Promise<GroupBounds> {
    if (group.rows === 0) return [];
    checkGroup(this.#columns, group);
    if (this.#rowGroups.length === 0) this.#output.append(magic());
    const encoders = this.#idle.pop() ?? new Encoders(this.#limits);
    try {
      const columns = [];
      const bounds: (Bounds | null)[] = [];
      for (const [i, column] of group.columns.entries()) {
        const encoder = encoders.prepare(column, group.rows, this.#columns[i]!);
        bounds.push(encoder === null ? null : encoder.bounds());
        columns.push(
          encoder === null
            ? await encoders.chunks.writeNulls(group.rows, this.#output)
            : await encoders.chunks.write(encoder, column, group.rows, this.#output),
        );
        if (this.#output.full) await this.#output.drain();
      }
      this.#rowGroups.push({ rows: group.rows, columns });
      return bounds;
    } finally {
      this.#idle.push(encoders);
    }
  }

  async finish(): Promise<void> {
    if (this.#rowGroups.length === 0) {
      throw new Error("a Parquet file needs at least one row group before finish()");
    }
    const footer = new ByteBuffer(16 * 1024);
    writeFileMetadata({ columns: this.#columns, rowGroups: this.#rowGroups, createdBy: CREATED_BY }, footer);
    footer.int32(footer.length);
    this.#output.append(footer.written());
    this.#output.append(magic());
    await this.#output.end();
  }

  async abort(): Promise<void> {
    this.#output.drop();
  }
}

/** The encoder of each kind of column, with its working arrays: for one row group at a time. */
class Encoders {
  readonly chunks: ChunkWriter;
  readonly #integer: IntegerChunk;
  readonly #long: LongChunk;
  readonly #boolean = new BooleanChunk();
  readonly #string: StringChunk;
  readonly #binary: BinaryChunk;

  constructor({ compressor, pageRows, pageBytes, dictionaryBytes }: Limits) {
    const dictionary = new NumberDictionary(MAX_NUMBER_ENTRIES);
    const delta = new DeltaBinaryPacked();
    this.chunks = new ChunkWriter(compressor, pageRows);
    this.#integer = new IntegerChunk(dictionary, delta);
    this.#long = new LongChunk(dictionary, delta);
    this.#string = new StringChunk(delta, pageBytes, dictionaryBytes);
    this.#binary = new BinaryChunk(delta, pageBytes);
  }

  /** The column's encoder, ready to write it; null where every value is null. */
  prepare(column: Column, rows: number, definition: ColumnDefinition): ChunkEncoder | null {
    if (column.nullCount === rows) return null;
    switch (column.kind) {
      case "integer":
        this.#integer.prepare(column, rows);
        return this.#integer;
      case "long":
      case "timestamp":
        this.#long.prepare(column, rows);
        return this.#long;
      case "boolean":
        this.#boolean.prepare(column, rows);
        return this.#boolean;
      case "string":
        this.#string.prepare(column, rows, definition.statistics);
        return this.#string;
      case "binary":
        this.#binary.prepare(column);
        return this.#binary;
    }
  }
}

/** A row group that is not what the file's columns say is a bug of the caller; the file would be unreadable. */
function checkGroup(columns: readonly ColumnDefinition[], group: RowGroup): void {
  if (group.columns.length !== columns.length) {
    throw new Error(`a row group has ${group.columns.length} columns, and the file ${columns.length}`);
  }
  for (const [i, { name, type }] of columns.entries()) {
    const column = group.columns[i]!;
    if (column.kind !== type)
      throw new Error(`column ${name} is of type ${type}, and its values ${column.kind}`);
    const rows = rowsOf(column);
    if (rows !== group.rows)
      throw new Error(`column ${name} has ${rows} rows, and its row group ${group.rows}`);
    if (column.nullCount > 0 && (column.bitmap === null || column.bitmap.length * 8 < rows)) {
      throw new Error(
        `column ${name} has ${column.nullCount} nulls and no bitmap of ${rows} bits that says where`,
      );
    }
  }
}

function rowsOf(column: Column): number {
  if (column.kind === "string") return column.codes.length;
  return column.kind === "binary" ? column.offsets.length - 1 : column.values.length;
}

function magic(): Uint8Array {
  const buffer = new ByteBuffer(4);
  buffer.int32(MAGIC);
  return buffer.bytes;
}
