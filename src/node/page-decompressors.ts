import * as zlib from "node:zlib";
import type { PageDecompressors } from "@deltacap/parquet";

/** In Node since 22.15, and not yet in the types of Node 20. */
const { zstdDecompressSync } = zlib as unknown as {
  zstdDecompressSync?: (
    bytes: Uint8Array,
    options: { readonly chunkSize: number; readonly maxOutputLength: number },
  ) => Uint8Array;
};

/** The least that zlib takes. */
const MIN_CHUNK = 64;

/** Pages of Parquet files, for the codecs that are decompressed faster here than by the reader's own. */
export const nodePageDecompressors: PageDecompressors = {
  ZSTD:
    zstdDecompressSync === undefined
      ? (await import("./wasm-zstd.ts")).wasmZstdDecompressed
      : // Room for the whole page, whose length the page's header says: a longer one is an error.
        (page, length) =>
          zstdDecompressSync(page, {
            chunkSize: Math.max(MIN_CHUNK, length),
            maxOutputLength: Math.max(1, length),
          }),
};
