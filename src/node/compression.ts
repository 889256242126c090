import * as zlib from "node:zlib";
import type { Decompressor, Decompressors } from "@deltacap/capture";
import { fzstdDecompressed } from "./fzstd-decompressor.ts";
import { zlibDecompressed } from "./zlib-decompressor.ts";

/** Output chunks of this size keep the share of calls between JavaScript and zlib small. */
const chunkSize = 256 * 1024;

const gzip: Decompressor = (compressed) =>
  zlibDecompressed("gzip", () => zlib.createGunzip({ chunkSize }), compressed);

/** In Node since 22.15, and not yet in the types of Node 20. */
const { createZstdDecompress } = zlib as {
  createZstdDecompress?: (options: { chunkSize: number }) => zlib.Gunzip;
};

const zstd: Decompressor =
  createZstdDecompress === undefined
    ? fzstdDecompressed
    : (compressed) => zlibDecompressed("zstd", () => createZstdDecompress({ chunkSize }), compressed);

/** What Node offers, and a zstd in JavaScript where its zlib has none. */
export const nodeDecompressors: Decompressors = { gzip, zstd };
