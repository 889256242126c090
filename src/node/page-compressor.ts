import type { PageCompressor } from "@deltacap/parquet";
import { nodeZstd } from "./zstd.ts";

/** Zstandard on every Node: of its zlib where that has it (22.15 and later), else in WebAssembly, loaded only there. */
export const nodePageCompressor: PageCompressor = nodeZstd ?? (await import("./wasm-zstd.ts")).wasmZstd;
