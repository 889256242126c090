import { FileOutput } from "../encode/file-output.ts";
import { CompressionCodec, Encoding, MAGIC } from "../encode/format.ts";
import { writeDataPageHeader } from "../encode/page.ts";
import type { PageCompressor } from "../encode/page-compressor.ts";
import type { ByteSink } from "../encode/parquet-writer.ts";
import { CompactWriter } from "../encode/thrift-compact.ts";
import { ByteBuffer } from "../memory/byte-buffer.ts";
import { type FieldShredder, fieldShredder, type LeafBuffer } from "./nested-columns.ts";
import { type NestedField, physicalTypes, writeNestedSchema } from "./nested-schema.ts";

/** Bounds of a row group: what a reader holds decoded, so far as it reads row groups one by one. */
export interface NestedWriterLimits {
  readonly rows: number;
  /** Of the encoded values and levels, before compression. */
  readonly bytes: number;
}

/** See `CREATED_BY` of the paged writer. */
const CREATED_BY = "deltacap version 1.0.0";

/**
 * Takes each row group as a file of its own, before it goes to the sink: for reading it back. `offset`: where it begins in the file
 * that is written; in its own it begins behind the magic number. The bytes are valid until the promise is settled.
 */
export type RowGroupCheck = (file: Uint8Array, offset: number) => Promise<void>;

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
 * Memory: one row group, compressed as well, beside what the sink keeps.
 */
export class NestedWriter {
  readonly #fields: readonly NestedField[];
  readonly #shredders: readonly FieldShredder[];
  readonly #leaves: readonly LeafBuffer[];
  readonly #compressor: PageCompressor | null;
  readonly #limits: NestedWriterLimits;
  readonly #output: FileOutput;
  readonly #check: RowGroupCheck | null;
  readonly #group = new ByteBuffer(64 * 1024);
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
    check: RowGroupCheck | null = null,
  ) {
    this.#fields = fields;
    this.#shredders = fields.map((field) => fieldShredder(field));
    this.#leaves = this.#shredders.flatMap(({ leaves }) => leaves);
    this.#compressor = compressor;
    this.#limits = limits;
    this.#output = new FileOutput(sink);
    this.#check = check;
    this.#output.append(magic());
  }

  /** Throws `TypeError` for a record that the fields do not describe; the file must then be dropped. */
  async write(record: Readonly<Record<string, unknown>>): Promise<void> {
    for (const [i, { name }] of this.#fields.entries()) this.#shredders[i]?.add(record[name], 0);
    this.#rows++;
    const bytes = this.#leaves.reduce((sum, leaf) => sum + leaf.bytes, 0);
    if (this.#rows >= this.#limits.rows || bytes >= this.#limits.bytes) await this.#endRowGroup();
  }

  /** Writes the footer and gives it back, with its length and the magic number behind it; no call may follow. */
  async finish(): Promise<Uint8Array> {
    if (this.#rows > 0) await this.#endRowGroup();
    const footer = new ByteBuffer(16 * 1024);
    this.#writeFooter(this.#rowGroups, footer);
    this.#output.append(footer.written());
    await this.#output.end();
    return footer.written();
  }

  async #endRowGroup(): Promise<void> {
    this.#group.clear();
    const group = { rows: this.#rows, chunks: this.#leaves.map((leaf) => this.#writeChunk(leaf)) };
    await this.#check?.(this.#ownFile(group), this.#output.offset);
    this.#output.append(this.#group.written());
    this.#rowGroups.push(group);
    this.#rows = 0;
    await this.#output.drain();
  }

  #ownFile({ rows, chunks }: RowGroup): Uint8Array {
    const file = new ByteBuffer(this.#group.length + 64 * 1024);
    file.append(magic());
    const shift = file.length - this.#output.offset;
    file.append(this.#group.written());
    this.#writeFooter(
      [{ rows, chunks: chunks.map((chunk) => ({ ...chunk, offset: chunk.offset + shift })) }],
      file,
    );
    return file.written();
  }

  #writeChunk(leaf: LeafBuffer): Chunk {
    const offset = this.#output.offset + this.#group.length;
    this.#page.clear();
    leaf.writePage(this.#page);
    const body = this.#page.written();
    const compressed = this.#compressed(body);
    this.#header.clear();
    writeDataPageHeader(leaf.count, Encoding.PLAIN, body.length, compressed.length, this.#header);
    this.#group.append(this.#header.written());
    this.#group.append(compressed);
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

  /** parquet.thrift, "FileMetaData", its length, and the magic number. */
  #writeFooter(rowGroups: readonly RowGroup[], out: ByteBuffer): void {
    const start = out.length;
    const thrift = new CompactWriter(out);
    thrift.struct(() => {
      thrift.i32(1, 1);
      writeNestedSchema(thrift, 2, this.#fields);
      thrift.i64(
        3,
        sum(rowGroups, ({ rows }) => rows),
      );
      thrift.structList(4, rowGroups, ({ rows, chunks }) => {
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
    out.int32(out.length - start);
    out.append(magic());
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

function magic(): Uint8Array {
  const buffer = new ByteBuffer(4);
  buffer.int32(MAGIC);
  return buffer.written();
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
