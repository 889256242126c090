import { gzipSync } from "node:zlib";
import { CompressionCodec } from "../parquet/format.ts";
import type { PageCompressor } from "../parquet/page-compressor.ts";
import { nodeZstd } from "./zstd.ts";

/** What every Parquet reader decompresses: zstd where Node has it (22.15 and later), else gzip. */
export const nodePageCompressor: PageCompressor = nodeZstd ?? {
  codec: CompressionCodec.GZIP,
  compress: (page, out) => out.append(gzipSync(page, { level: 1 })),
};
