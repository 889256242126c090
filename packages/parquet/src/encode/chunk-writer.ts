import type { Validity } from "../columns/row-group.ts";
import { ByteBuffer } from "../memory/byte-buffer.ts";
import type { ChunkEncoder, PageRange } from "./column-chunk.ts";
import type { ChunkMetadata } from "./file-metadata.ts";
import type { FileOutput } from "./file-output.ts";
import { CompressionCodec, Encoding } from "./format.ts";
import { writeDataPageHeader, writeDictionaryPageHeader } from "./page.ts";
import type { PageCompressor } from "./page-compressor.ts";
import { countBits, writeDefinitionLevels } from "./rle.ts";

/** A chunk below this size stays as it is: a call of the compressor costs more than it could save. */
const MIN_COMPRESSED = 512;
/** A chunk is compressed when that saves at least one byte in so many; encrypted payloads save fewer. */
const MIN_SAVING = 32;
/** Pages of a longer chunk by which that is judged, and the share of each that is tried: at most a sixteenth more work. */
const SAMPLE_PAGES = 4;
const SAMPLE_SHARE = 16;
/**
 * Longer pages are compressed and handed on in pieces, so that a page of 128 MiB takes no more memory than what it is compressed to:
 * the frames of the pieces, one after another, are Zstandard data too (RFC 8878, section 3).
 */
const PIECE_BYTES = 4 * 1024 * 1024;

/** Writes column chunks: cuts them into pages, chooses their codec, keeps account of sizes and offsets. */
export class ChunkWriter {
  readonly #compressor: PageCompressor | null;
  readonly #pageRows: number;
  readonly #header = new ByteBuffer(64);
  readonly #page = new ByteBuffer(64 * 1024);
  readonly #dictionary = new ByteBuffer(4 * 1024);
  readonly #compressedPage = new ByteBuffer(64 * 1024);
  readonly #compressedDictionary = new ByteBuffer(4 * 1024);

  /** `pageRows`: the most rows of a page. */
  constructor(compressor: PageCompressor | null, pageRows: number) {
    this.#compressor = compressor;
    this.#pageRows = pageRows;
  }

  /** Writes a column that holds nulls alone: pages of definition levels, which take a few bytes. */
  async writeNulls(rows: number, output: FileOutput): Promise<ChunkMetadata> {
    const dataPageOffset = output.offset;
    let dataPages = 0;
    for (let from = 0; from < rows; from += this.#pageRows) {
      const to = Math.min(rows, from + this.#pageRows);
      this.#page.clear();
      writeDefinitionLevels(emptyBitmap, from, to, 0, this.#page);
      await this.#appendDataPage(
        to - from,
        Encoding.PLAIN,
        this.#page.length,
        [this.#page.written()],
        output,
      );
      dataPages++;
    }
    const size = output.offset - dataPageOffset;
    return {
      codec: CompressionCodec.UNCOMPRESSED,
      encoding: Encoding.PLAIN,
      rows,
      nullCount: rows,
      bounds: null,
      uncompressedSize: size,
      compressedSize: size,
      dictionaryPageOffset: null,
      dataPageOffset,
      dataPages,
    };
  }

  /** Writes a column with at least one value, which `encoder` has looked at. */
  async write(
    encoder: ChunkEncoder,
    validity: Validity,
    rows: number,
    output: FileOutput,
  ): Promise<ChunkMetadata> {
    const bitmap = validity.nullCount === 0 ? null : validity.bitmap;
    const pages = cutPages(encoder, bitmap, rows, rows - validity.nullCount, this.#pageRows);
    this.#dictionary.clear();
    if (encoder.dictionaryEntries > 0) encoder.writeDictionary(this.#dictionary);
    const start = output.offset;
    const hasDictionary = encoder.dictionaryEntries > 0;
    const sizes =
      pages.length === 1 && longTail(encoder, pages[0]!) === null
        ? await this.#writeOnePage(encoder, bitmap, pages[0]!, output)
        : await this.#writePages(encoder, bitmap, pages, output);
    // What a huge page was compressed to is given back.
    this.#compressedPage.clear();
    return {
      codec: sizes.codec,
      encoding: encoder.encoding,
      rows,
      nullCount: validity.nullCount,
      bounds: encoder.encodedBounds(),
      uncompressedSize: sizes.uncompressedSize,
      compressedSize: output.offset - start,
      dictionaryPageOffset: hasDictionary ? start : null,
      dataPageOffset: sizes.dataPageOffset,
      dataPages: pages.length,
    };
  }

  /** A chunk of one page is compressed on trial. */
  async #writeOnePage(
    encoder: ChunkEncoder,
    bitmap: Uint8Array | null,
    page: PageRange,
    output: FileOutput,
  ): Promise<ChunkSizes> {
    this.#encodePage(encoder, bitmap, page);
    let dictionary: Uint8Array = this.#dictionary.written();
    let body: Uint8Array = this.#page.written();
    let codec: CompressionCodec = CompressionCodec.UNCOMPRESSED;
    if (this.#compressor !== null && dictionary.length + body.length >= MIN_COMPRESSED) {
      const compressedBody = compressed(this.#compressor, [body], this.#compressedPage);
      const compressedDictionary = compressed(this.#compressor, [dictionary], this.#compressedDictionary);
      const compressedSize = compressedBody.length + compressedDictionary.length;
      if (isWorthIt(dictionary.length + body.length, compressedSize)) {
        codec = this.#compressor.codec;
        dictionary = compressedDictionary;
        body = compressedBody;
      }
    }
    let uncompressedSize = this.#appendDictionaryPage(encoder, dictionary, output);
    const dataPageOffset = output.offset;
    uncompressedSize += await this.#appendDataPage(
      rowsOf(page),
      encoder.encoding,
      this.#page.length,
      [body],
      output,
    );
    return { codec, uncompressedSize, dataPageOffset };
  }

  async #writePages(
    encoder: ChunkEncoder,
    bitmap: Uint8Array | null,
    pages: readonly PageRange[],
    output: FileOutput,
  ): Promise<ChunkSizes> {
    const compressor = this.#samplesShrink(encoder, bitmap, pages) ? this.#compressor : null;
    const dictionary = this.#dictionary.written();
    let uncompressedSize = this.#appendDictionaryPage(
      encoder,
      compressor === null ? dictionary : compressed(compressor, [dictionary], this.#compressedDictionary),
      output,
    );
    const dataPageOffset = output.offset;
    for (const page of pages) {
      const parts = this.#encodePage(encoder, bitmap, page);
      uncompressedSize += await this.#appendDataPage(
        rowsOf(page),
        encoder.encoding,
        parts.reduce((sum, { length }) => sum + length, 0),
        compressor === null ? parts : [compressed(compressor, parts, this.#compressedPage)],
        output,
      );
    }
    return { codec: compressor?.codec ?? CompressionCodec.UNCOMPRESSED, uncompressedSize, dataPageOffset };
  }

  /** Compresses the ends of a few pages, spread over the chunk. */
  #samplesShrink(encoder: ChunkEncoder, bitmap: Uint8Array | null, pages: readonly PageRange[]): boolean {
    if (this.#compressor === null) return false;
    let size = 0;
    let compressedSize = 0;
    const samples = Math.min(SAMPLE_PAGES, pages.length);
    for (let i = 0; i < samples; i++) {
      const page = pages[Math.floor((i * (pages.length - 1)) / Math.max(1, samples - 1))]!;
      const last = this.#encodePage(encoder, bitmap, page).at(-1)!;
      const sample = last.subarray(-Math.ceil(last.length / SAMPLE_SHARE));
      size += sample.length;
      compressedSize += compressed(this.#compressor, [sample], this.#compressedPage).length;
    }
    return isWorthIt(size, compressedSize);
  }

  /** The page's body, which is one array but for a long tail; valid until the next page. */
  #encodePage(encoder: ChunkEncoder, bitmap: Uint8Array | null, page: PageRange): readonly Uint8Array[] {
    this.#page.clear();
    writeDefinitionLevels(bitmap, page.fromRow, page.toRow, page.last - page.first, this.#page);
    encoder.writeValues(page, this.#page);
    const tail = longTail(encoder, page);
    return tail === null ? [this.#page.written()] : [this.#page.written(), tail];
  }

  /** Returns the page's size with its header, had it not been compressed. */
  async #appendDataPage(
    rows: number,
    encoding: Encoding,
    uncompressedSize: number,
    body: readonly Uint8Array[],
    output: FileOutput,
  ): Promise<number> {
    const size = body.reduce((sum, { length }) => sum + length, 0);
    this.#header.clear();
    writeDataPageHeader(rows, encoding, uncompressedSize, size, this.#header);
    output.append(this.#header.written());
    for (const part of body) {
      for (let at = 0; at < part.length; at += PIECE_BYTES) {
        output.append(part.subarray(at, at + PIECE_BYTES));
        if (output.full) await output.drain();
      }
    }
    return this.#header.length + uncompressedSize;
  }

  /** As {@link #appendDataPage}; 0 where there is no dictionary. */
  #appendDictionaryPage(encoder: ChunkEncoder, body: Uint8Array, output: FileOutput): number {
    if (encoder.dictionaryEntries === 0) return 0;
    this.#header.clear();
    writeDictionaryPageHeader(encoder.dictionaryEntries, this.#dictionary.length, body.length, this.#header);
    output.append(this.#header.written());
    output.append(body);
    return this.#header.length + this.#dictionary.length;
  }
}

interface ChunkSizes {
  readonly codec: CompressionCodec;
  readonly uncompressedSize: number;
  readonly dataPageOffset: number;
}

/** Valid until the next use of `out`; without a byte where there is none. */
function compressed(compressor: PageCompressor, parts: readonly Uint8Array[], out: ByteBuffer): Uint8Array {
  out.clear();
  for (const part of parts) {
    for (let at = 0; at < part.length; at += PIECE_BYTES) {
      compressor.compress(part.subarray(at, at + PIECE_BYTES), out);
    }
  }
  return out.written();
}

function longTail(encoder: ChunkEncoder, page: PageRange): Uint8Array | null {
  return encoder.longTail?.(page) ?? null;
}

const emptyBitmap = new Uint8Array(0);

function isWorthIt(size: number, compressedSize: number): boolean {
  return (size - compressedSize) * MIN_SAVING >= size;
}

function rowsOf(page: PageRange): number {
  return page.toRow - page.fromRow;
}

function cutPages(
  encoder: ChunkEncoder,
  bitmap: Uint8Array | null,
  rows: number,
  present: number,
  pageRows: number,
): PageRange[] {
  const pages: PageRange[] = [];
  let fromRow = 0;
  let first = 0;
  while (fromRow < rows) {
    const toRow = encoder.pageEnd(fromRow, Math.min(rows, fromRow + pageRows));
    const last = toRow === rows ? present : first + presentRows(bitmap, fromRow, toRow);
    pages.push({ fromRow, toRow, first, last });
    fromRow = toRow;
    first = last;
  }
  return pages;
}

function presentRows(bitmap: Uint8Array | null, from: number, to: number): number {
  return bitmap === null ? to - from : countBits(bitmap, from, to);
}
