import { compressUsingDict, createCCtx, init } from "@bokuweb/zstd-wasm";
import { CompressionCodec } from "../parquet/format.ts";
import type { PageCompressor } from "../parquet/page-compressor.ts";

/** The module's memory ends at 2 GiB, and holds a page, room for its frame, and the context. */
const MAX_PAGE_BYTES = 512 * 1024 * 1024;

// The module lies beside this one in a bundle. Reading and compiling it takes some 10 ms.
await init();

/** Kept: making one for each call takes a quarter more time. Its memory, some 1 MiB at level 1, is the module's. */
const context = createCCtx();
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
