import { pagedParquetWriter } from "../parquet/paged-writer.ts";
import type { ParquetWriterFactory } from "../parquet/parquet-writer.ts";
import { nodeZstd } from "./zstd.ts";

/**
 * The Parquet writer of this runtime: our own where Node has zstd (22.15 and later), else parquet-wasm, which brings a zstd
 * of its own. Both write zstd; parquet-wasm, whose module takes 5 MB, is loaded only where it is needed.
 */
export const nodeParquetWriter: ParquetWriterFactory =
  nodeZstd === null
    ? (await import("../parquet/parquet-wasm-writer.ts")).parquetWasmWriter
    : pagedParquetWriter({ compressor: nodeZstd });
