import { pagedParquetWriter } from "../parquet/paged-writer.ts";
import type { ParquetWriterFactory } from "../parquet/parquet-writer.ts";
import { nodePageCompressor } from "./page-compressor.ts";

/** Our Parquet writer with the zstd of this runtime. */
export const nodeParquetWriter: ParquetWriterFactory = pagedParquetWriter({ compressor: nodePageCompressor });
