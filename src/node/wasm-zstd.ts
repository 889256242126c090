import { compressUsingDict, createCCtx, createDCtx, decompressUsingDict, init } from "@bokuweb/zstd-wasm";
import type { PageCompressor } from "@deltacap/parquet";
import { CompressionCodec } from "@deltacap/parquet";
import { decompress } from "fzstd";
import { frameContentSize, isFrame } from "./zstd-frame.ts";

/** The module's memory ends at 2 GiB, and holds a page, room for its frame, and the context. */
const MAX_PAGE_BYTES = 512 * 1024 * 1024;
/** Longer pages are decompressed in JavaScript: what a file claims must not fill the module's memory. */
const MAX_CLAIMED_BYTES = 64 * 1024 * 1024;

// The module lies beside this one in a bundle. Reading and compiling it takes some 10 ms.
await init();

/** Kept: making one for each call takes a quarter more time. Its memory, some 1 MiB at level 1, is the module's. */
const context = createCCtx();
const decompressionContext = createDCtx();
const noDictionary = new Uint8Array(0);

/**
 * Zstandard at level 1 in WebAssembly, for Node without zstd in its zlib: each page is one frame, as Parquet's codec ZSTD wants
 * it (Compression.md, "ZSTD"). To be imported only where it is needed. Memory: the module's 16 MiB, more only for pages above
 * some 6 MiB.
 */
export const wasmZstd: PageCompressor = {
  codec: CompressionCodec.ZSTD,
  compress(page, out) {
    if (page.length > MAX_PAGE_BYTES) {
      throw new RangeError(
        `a page of ${page.length} bytes, and zstd in WebAssembly takes ${MAX_PAGE_BYTES} at most: run Node 22.15 or later`,
      );
    }
    out.append(compressUsingDict(context, page, noDictionary, 1));
  },
};

/**
 * A page of `length` bytes, as its header says, decompressed: at twenty times the speed of fzstd, to which everything is left that
 * is not one frame. The caller compares lengths. Throws where the page is damaged, or claims to hold more than `length`.
 */
export function wasmZstdDecompressed(page: Uint8Array, length: number): Uint8Array {
  if (!isFrame(page)) return decompress(page);
  const claimed = frameContentSize(page) ?? length;
  if (claimed > length) {
    throw new Error(`a page of ${length} bytes, by its header, holds a zstd frame of ${claimed}`);
  }
  // Where it holds less, another frame may follow.
  if (claimed < length || Math.max(length, page.length) > MAX_CLAIMED_BYTES) return decompress(page);
  try {
    return decompressUsingDict(decompressionContext, page, noDictionary, { defaultHeapSize: length });
  } catch (cause) {
    throw new Error(`a page of ${page.length} bytes is no zstd frame of ${length} bytes`, { cause });
  }
}
