import { ParquetDamage } from "./damaged-parquet.ts";
import { decodeDeltaLengths, decodeDeltas, decodePrefixes } from "./delta-encodings.ts";
import type { ColumnChunk } from "./footer.ts";
import { decompressed, type PageDecompressors } from "./page-decompressors.ts";
import { Encoding, type PageHeader, PageType, readPageHeader } from "./page-header.ts";
import { decodeByteStreams, decodePlain, type RawValues } from "./plain-values.ts";
import { bitWidth, decodeRunLengths } from "./run-lengths.ts";
import type { ParquetField } from "./schema.ts";

/** Turns one value of a column, as the file has it, into what the caller wants. */
export type ValueConverter = (raw: number | bigint | boolean | Uint8Array) => unknown;

/** One data page. The levels are null where the schema leaves them no choice. */
export interface ColumnPage {
  readonly count: number;
  /** Of each entry how much of its path is there; a value where it is the greatest. */
  readonly definitions: Uint8Array | null;
  readonly repetitions: Uint8Array | null;
  /** Of the entries that have one. */
  readonly values: ArrayLike<unknown>;
}

/** A column chunk's bytes, and where they are in the file. */
export interface ChunkBytes {
  readonly chunk: ColumnChunk;
  readonly bytes: Uint8Array;
  readonly offset: number;
}

/**
 * Gives the data pages of a chunk one after another. Their entries are as many as the footer says, and what is decompressed is no
 * more: a page that says otherwise is damage. Throws `ParquetDamage`, or what a decompressor throws; `onPage` is called with
 * the offset of each page before it is read, so that the caller can say where that was.
 */
export function* columnPages(
  { chunk, bytes, offset }: ChunkBytes,
  convert: ValueConverter | null,
  decompressors: PageDecompressors,
  onPage: (offset: number) => void,
): Generator<ColumnPage> {
  const decoder = new PageDecoder(chunk.field, chunk.codec, convert, decompressors);
  let values = 0;
  let uncompressed = 0;
  let at = 0;
  while (values < chunk.values) {
    onPage(offset + at);
    if (at === bytes.length) {
      throw new ParquetDamage(`the column ends after ${values} of ${chunk.values} values`);
    }
    const header = readPageHeader(bytes, offset, at);
    at = header.start + header.compressedBytes;
    uncompressed += header.uncompressedBytes;
    if (uncompressed > chunk.uncompressedBytes) {
      throw new ParquetDamage(
        `pages have ${uncompressed} bytes decompressed, and the footer says ${chunk.uncompressedBytes}`,
      );
    }
    const page = bytes.subarray(header.start, at);
    if (header.type === PageType.DICTIONARY) decoder.readDictionary(header, page);
    else if (header.type === PageType.DATA || header.type === PageType.DATA_V2) {
      values += header.values;
      if (values > chunk.values) {
        throw new ParquetDamage(`pages have ${values} values, and the footer says ${chunk.values}`);
      }
      yield decoder.readData(header, page);
    } else if (header.type !== PageType.INDEX) {
      throw new ParquetDamage(`a page has the type ${header.type}, which does not exist`);
    }
  }
}

class PageDecoder {
  readonly #field: ParquetField;
  readonly #codec: string;
  readonly #convert: ValueConverter | null;
  readonly #decompressors: PageDecompressors;
  #dictionary: ArrayLike<unknown> | null = null;

  constructor(
    field: ParquetField,
    codec: string,
    convert: ValueConverter | null,
    decompressors: PageDecompressors,
  ) {
    this.#field = field;
    this.#codec = codec;
    this.#convert = convert;
    this.#decompressors = decompressors;
  }

  readDictionary(header: PageHeader, page: Uint8Array): void {
    const bytes = this.#decompressed(page, header.uncompressedBytes);
    requirePossible(header.values, bytes, this.#field);
    this.#dictionary = this.#converted(decodePlain(bytes, 0, header.values, this.#field));
  }

  readData(header: PageHeader, page: Uint8Array): ColumnPage {
    return header.type === PageType.DATA ? this.#versionOne(header, page) : this.#versionTwo(header, page);
  }

  #versionOne(header: PageHeader, page: Uint8Array): ColumnPage {
    const bytes = this.#decompressed(page, header.uncompressedBytes);
    const { maxRepetition, maxDefinition } = this.#field;
    let at = 0;
    const levels = (max: number, encoding: number): Uint8Array | null => {
      if (max === 0) return null;
      if (encoding !== Encoding.RLE)
        throw new ParquetDamage(`levels in the encoding ${encoding} are not read`);
      const run = prefixed(bytes, at);
      at = run.end;
      return decodedLevels(run.bytes, max, header.values);
    };
    const repetitions = levels(maxRepetition, header.repetitionEncoding);
    const definitions = levels(maxDefinition, header.definitionEncoding);
    return this.#page(header, { repetitions, definitions }, bytes.subarray(at));
  }

  /** Levels stand uncompressed before the values, and without their length. */
  #versionTwo(header: PageHeader, page: Uint8Array): ColumnPage {
    const { repetitionBytes, definitionBytes, values, uncompressedBytes } = header;
    const { maxRepetition, maxDefinition } = this.#field;
    const levelBytes = repetitionBytes + definitionBytes;
    const repetitions = decodedLevels(page.subarray(0, repetitionBytes), maxRepetition, values);
    const definitions = decodedLevels(page.subarray(repetitionBytes, levelBytes), maxDefinition, values);
    const rest = page.subarray(levelBytes);
    const bytes = header.isCompressed ? this.#decompressed(rest, uncompressedBytes - levelBytes) : rest;
    return this.#page(header, { repetitions, definitions }, bytes);
  }

  #page(
    { values: count, encoding }: PageHeader,
    { repetitions, definitions }: Pick<ColumnPage, "repetitions" | "definitions">,
    bytes: Uint8Array,
  ): ColumnPage {
    const present = definitions === null ? count : countOf(definitions, this.#field.maxDefinition);
    return {
      count,
      repetitions,
      definitions: present === count ? null : definitions,
      values: this.#values(encoding, present, bytes),
    };
  }

  #values(encoding: number, count: number, bytes: Uint8Array): ArrayLike<unknown> {
    if (count === 0) return [];
    if (encoding === Encoding.RLE_DICTIONARY || encoding === Encoding.PLAIN_DICTIONARY) {
      return this.#fromDictionary(count, bytes);
    }
    return this.#converted(rawValues(encoding, count, bytes, this.#field));
  }

  #fromDictionary(count: number, bytes: Uint8Array): ArrayLike<unknown> {
    const dictionary = this.#dictionary;
    if (dictionary === null) throw new ParquetDamage("a page refers to a dictionary that the column lacks");
    const indices = new Uint32Array(count);
    decodeRunLengths(bytes.subarray(1), bytes[0] ?? 0, dictionary.length - 1, indices);
    const values = new Array<unknown>(count);
    for (let i = 0; i < count; i++) values[i] = dictionary[indices[i]!];
    return values;
  }

  #converted(raw: RawValues): ArrayLike<unknown> {
    const convert = this.#convert;
    if (convert === null) return raw;
    const values = new Array<unknown>(raw.length);
    for (let i = 0; i < raw.length; i++) values[i] = convert(raw[i]!);
    return values;
  }

  #decompressed(page: Uint8Array, length: number): Uint8Array {
    return decompressed(page, length, this.#codec, this.#decompressors);
  }
}

function rawValues(encoding: number, count: number, bytes: Uint8Array, field: ParquetField): RawValues {
  const { physical } = field;
  switch (encoding) {
    case Encoding.PLAIN:
      requirePossible(count, bytes, field);
      return decodePlain(bytes, 0, count, field);
    case Encoding.BYTE_STREAM_SPLIT:
      return decodeByteStreams(bytes, 0, count, field);
    case Encoding.RLE: {
      if (physical !== "BOOLEAN") break;
      const booleans = new Uint8Array(count);
      decodeRunLengths(prefixed(bytes, 0).bytes, 1, 1, booleans);
      return Array.from(booleans, (value) => value === 1);
    }
    case Encoding.DELTA_BINARY_PACKED: {
      if (physical !== "INT32" && physical !== "INT64") break;
      const numbers = physical === "INT32" ? new Int32Array(count) : new BigInt64Array(count);
      decodeDeltas(bytes, 0, numbers);
      return numbers;
    }
    case Encoding.DELTA_LENGTH_BYTE_ARRAY:
      if (physical === "BYTE_ARRAY") return decodeDeltaLengths(bytes, 0, count);
      break;
    case Encoding.DELTA_BYTE_ARRAY:
      if (physical === "BYTE_ARRAY" || physical === "FIXED_LEN_BYTE_ARRAY")
        return decodePrefixes(bytes, count);
      break;
  }
  throw new ParquetDamage(`values of type ${physical} in the encoding ${encoding} are not read`);
}

/** A value takes a bit at least, so that no more are allocated than the page can hold. */
function requirePossible(count: number, bytes: Uint8Array, { physical, typeLength }: ParquetField): void {
  const isEmpty = physical === "FIXED_LEN_BYTE_ARRAY" && typeLength === 0;
  if (count <= bytes.length * 8 && !(isEmpty && count > 0)) return;
  throw new ParquetDamage(`${count} values do not fit into a page of ${bytes.length} bytes`);
}

/** Bytes after their length in four bytes, little-endian. */
function prefixed(bytes: Uint8Array, at: number): { readonly bytes: Uint8Array; readonly end: number } {
  const left = bytes.length - at - 4;
  const length =
    left < 0 ? 0 : new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at, true);
  if (left < 0 || length > left) {
    throw new ParquetDamage(`a page of ${bytes.length} bytes has levels of ${length} at ${at}`);
  }
  return { bytes: bytes.subarray(at + 4, at + 4 + length), end: at + 4 + length };
}

function decodedLevels(bytes: Uint8Array, max: number, count: number): Uint8Array | null {
  if (max === 0) return null;
  const levels = new Uint8Array(count);
  decodeRunLengths(bytes, bitWidth(max), max, levels);
  return levels;
}

function countOf(levels: Uint8Array, level: number): number {
  let count = 0;
  for (const each of levels) if (each === level) count++;
  return count;
}
