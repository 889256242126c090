import type { ParquetWriterFactory } from "@deltacap/parquet";
import { pagedParquetWriter } from "@deltacap/parquet";
import { nodePageCompressor } from "./page-compressor.ts";

/** Our Parquet writer with the zstd of this runtime. */
export const nodeParquetWriter: ParquetWriterFactory = pagedParquetWriter({ compressor: nodePageCompressor });
