import { ByteBuffer } from "./byte-buffer.ts";
import { FileOutput } from "./file-output.ts";
import { CompressionCodec, Encoding, MAGIC } from "./format.ts";
import { type FieldShredder, fieldShredder, type LeafBuffer } from "./nested-columns.ts";
import { type NestedField, physicalTypes, writeNestedSchema } from "./nested-schema.ts";
import { writeDataPageHeader } from "./page.ts";
import type { PageCompressor } from "./page-compressor.ts";
import type { ByteSink } from "./parquet-writer.ts";
import { CompactWriter } from "./thrift-compact.ts";

/** Bounds of a row group: what a reader holds decoded, so far as it reads row groups one by one. */
export interface NestedWriterLimits {
  readonly rows: number;
  /** Of the encoded values and levels, before compression. */
  readonly bytes: number;
}

/** See `CREATED_BY` of the paged writer. */
const CREATED_BY = "deltacap version 1.0.0";

interface Chunk {
  readonly leaf: LeafBuffer["column"];
  readonly codec: CompressionCodec;
  readonly entries: number;
  readonly nulls: number;
  readonly offset: number;
  readonly compressedSize: number;
  readonly uncompressedSize: number;
}

interface RowGroup {
  readonly rows: number;
  readonly chunks: readonly Chunk[];
}

/**
 * Writes records with structs, maps and lists to Parquet: version 1 pages, PLAIN, one page a chunk. For metadata, whose files are
 * small beside the data's: it takes records one by one, and costs about 100 ns a value.
 *
 * Memory: one row group, beside what the sink keeps.
 */
export class NestedWriter {
  readonly #fields: readonly NestedField[];
  readonly #shredders: readonly FieldShredder[];
  readonly #leaves: readonly LeafBuffer[];
  readonly #compressor: PageCompressor | null;
  readonly #limits: NestedWriterLimits;
  readonly #output: FileOutput;
  readonly #page = new ByteBuffer(64 * 1024);
  readonly #compressedPage = new ByteBuffer(64 * 1024);
  readonly #header = new ByteBuffer(64);
  readonly #rowGroups: RowGroup[] = [];
  #rows = 0;

  constructor(
    fields: readonly NestedField[],
    compressor: PageCompressor | null,
    limits: NestedWriterLimits,
    sink: ByteSink,
  ) {
    this.#fields = fields;
    this.#shredders = fields.map((field) => fieldShredder(field));
    this.#leaves = this.#shredders.flatMap(({ leaves }) => leaves);
    this.#compressor = compressor;
    this.#limits = limits;
    this.#output = new FileOutput(sink);
    this.#appendMagic();
  }

  /** Throws `TypeError` for a record that the fields do not describe; the file must then be dropped. */
  async write(record: Readonly<Record<string, unknown>>): Promise<void> {
    for (const [i, { name }] of this.#fields.entries()) this.#shredders[i]?.add(record[name], 0);
    this.#rows++;
    const bytes = this.#leaves.reduce((sum, leaf) => sum + leaf.bytes, 0);
    if (this.#rows >= this.#limits.rows || bytes >= this.#limits.bytes) await this.#endRowGroup();
  }

  /** Writes the footer; no call may follow. */
  async finish(): Promise<void> {
    if (this.#rows > 0) await this.#endRowGroup();
    const footer = new ByteBuffer(16 * 1024);
    this.#writeFooter(new CompactWriter(footer));
    footer.int32(footer.length);
    this.#output.append(footer.written());
    this.#appendMagic();
    await this.#output.end();
  }

  async #endRowGroup(): Promise<void> {
    const chunks = this.#leaves.map((leaf) => this.#writeChunk(leaf));
    this.#rowGroups.push({ rows: this.#rows, chunks });
    this.#rows = 0;
    await this.#output.drain();
  }

  #writeChunk(leaf: LeafBuffer): Chunk {
    const offset = this.#output.offset;
    this.#page.clear();
    leaf.writePage(this.#page);
    const body = this.#page.written();
    const compressed = this.#compressed(body);
    this.#header.clear();
    writeDataPageHeader(leaf.count, Encoding.PLAIN, body.length, compressed.length, this.#header);
    this.#output.append(this.#header.written());
    this.#output.append(compressed);
    const chunk = {
      leaf: leaf.column,
      codec: this.#compressor?.codec ?? CompressionCodec.UNCOMPRESSED,
      entries: leaf.count,
      nulls: leaf.count - leaf.present,
      offset,
      compressedSize: this.#header.length + compressed.length,
      uncompressedSize: this.#header.length + body.length,
    };
    leaf.clear();
    return chunk;
  }

  /** Valid until the next call. */
  #compressed(page: Uint8Array): Uint8Array {
    if (this.#compressor === null) return page;
    this.#compressedPage.clear();
    this.#compressor.compress(page, this.#compressedPage);
    return this.#compressedPage.written();
  }

  #appendMagic(): void {
    const magic = new ByteBuffer(4);
    magic.int32(MAGIC);
    this.#output.append(magic.written());
  }

  /** parquet.thrift, "FileMetaData". */
  #writeFooter(thrift: CompactWriter): void {
    thrift.struct(() => {
      thrift.i32(1, 1);
      writeNestedSchema(thrift, 2, this.#fields);
      thrift.i64(
        3,
        sum(this.#rowGroups, ({ rows }) => rows),
      );
      thrift.structList(4, this.#rowGroups, ({ rows, chunks }) => {
        thrift.structList(1, chunks, (chunk) => {
          thrift.i64(2, 0);
          thrift.structField(3, () => writeChunkMetadata(thrift, chunk));
        });
        thrift.i64(
          2,
          sum(chunks, ({ uncompressedSize }) => uncompressedSize),
        );
        thrift.i64(3, rows);
        thrift.i64(5, chunks[0]?.offset ?? 0);
        thrift.i64(
          6,
          sum(chunks, ({ compressedSize }) => compressedSize),
        );
      });
      thrift.string(6, CREATED_BY);
    });
  }
}

function writeChunkMetadata(thrift: CompactWriter, chunk: Chunk): void {
  thrift.i32(1, physicalTypes[chunk.leaf.type]);
  thrift.i32List(2, [Encoding.PLAIN, Encoding.RLE]);
  thrift.stringList(3, chunk.leaf.path);
  thrift.i32(4, chunk.codec);
  thrift.i64(5, chunk.entries);
  thrift.i64(6, chunk.uncompressedSize);
  thrift.i64(7, chunk.compressedSize);
  thrift.i64(9, chunk.offset);
  // null_count, by which readers pass over chunks without a value.
  thrift.structField(12, () => thrift.i64(3, chunk.nulls));
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
