import {
  decompressBrotli,
  decompressGzip,
  decompressLz4,
  decompressLz4Raw,
  decompressSnappy,
  decompressZstd,
} from "hyparquet-compressors";
import { ParquetDamage } from "./damaged-parquet.ts";

/** Returns the page's `length` bytes. It may return fewer, or throw whatever it likes, where the page is damaged. */
export type PageDecompressor = (page: Uint8Array, length: number) => Uint8Array;

/** By the codec's name in parquet.thrift. Where there is none, one in JavaScript or WebAssembly serves. */
export type PageDecompressors = Readonly<Record<string, PageDecompressor>>;

const portable: PageDecompressors = {
  UNCOMPRESSED: (page) => page,
  SNAPPY: decompressSnappy,
  GZIP: decompressGzip,
  BROTLI: decompressBrotli,
  LZ4: decompressLz4,
  LZ4_RAW: decompressLz4Raw,
  // With room for the page given, what its frames claim to hold is not allocated.
  ZSTD: (page, length) => decompressZstd(page, new Uint8Array(length)),
};

/** Decompresses one page whose header states `length` bytes. */
export function decompressed(
  page: Uint8Array,
  length: number,
  codec: string,
  decompressors: PageDecompressors,
): Uint8Array {
  const decompress = decompressors[codec] ?? portable[codec];
  if (decompress === undefined) throw new ParquetDamage(`the codec ${codec} is not supported`);
  if (length === 0) return new Uint8Array(0);
  const bytes = decompress(page, length);
  if (bytes.length !== length) {
    throw new ParquetDamage(`a page has ${bytes.length} bytes decompressed, and its header says ${length}`);
  }
  return bytes;
}
