/**
 * Every setting, its default and its reason, once: read by the command line, the handlers and the infrastructure.
 */
const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/** Bounds of one converter batch and of one capture in it. */
export const converterDefaults = {
  /** Rows of a row group: large enough for good compression, small enough that memory stays under 512 MB. */
  rows: 131_072,
  /** Frames held in memory before rows are written out: with parquet-wasm a batch is in memory about ten times over. */
  frameBytes: 12 * MiB,
  /** Readers like files of 64 MiB and more; one put takes it without parts. */
  fileBytes: 128 * MiB,
  /** Each open date holds a batch and perhaps a file. */
  openDates: 8,
  /** A logger that ran for a year has 366; a broken clock has more. */
  datesPerCapture: 400,
  /** As large as one S3 put may be. */
  captureBytes: 5 * GiB,
  /** Decompressed bytes of one capture. */
  decompressedBytes: 64 * GiB,
  /** Decompressed bytes for each compressed one, judged once `decompressedFloor` bytes came out. */
  decompressionRatio: 200,
  decompressedFloor: 256 * MiB,
} as const;

/** Gateways store captures below a folder named after the vehicle. */
export const defaultKeyPattern = "{vehicle_id}/**";

/** Goes into each commit as its writer. */
export const engineInfo = "deltacap/0.1.0";
