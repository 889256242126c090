import * as zlib from "node:zlib";
import type { PageDecompressors } from "../delta/data-file-reader.ts";

/** In Node since 22.15, and not yet in the types of Node 20. */
const { zstdDecompressSync } = zlib as unknown as {
  zstdDecompressSync?: (
    bytes: Uint8Array,
    options: { readonly chunkSize: number; readonly maxOutputLength: number },
  ) => Uint8Array;
};

/** The least that zlib takes. */
const MIN_CHUNK = 64;

/** Pages of Parquet files by `node:zlib`, for the codecs that this Node has; none of them, the reader's own are used. */
export const nodePageDecompressors: PageDecompressors =
  zstdDecompressSync === undefined
    ? {}
    : {
        // Room for the whole page, whose length the page's header says: a longer one is an error.
        ZSTD: (page, length) =>
          zstdDecompressSync(page, {
            chunkSize: Math.max(MIN_CHUNK, length),
            maxOutputLength: Math.max(1, length),
          }),
      };
