import type { ByteSink, ColumnDefinition, ParquetWriter, RowGroup } from "@deltacap/parquet";
import { type GroupBounds, groupBounds } from "@deltacap/parquet";
import {
  Compression,
  EnabledStatistics,
  Encoding,
  type RecordBatch,
  Table,
  transformParquetStream,
  type WriterProperties,
  WriterPropertiesBuilder,
} from "parquet-wasm/node";
import { arrowIpcStream } from "./arrow-batch.ts";

/**
 * Writes Parquet with arrow-rs compiled to WebAssembly: each row group goes in as one Arrow record batch and is encoded
 * and compressed (zstd) inside the module. A writer by others: for files that ours did not write, and to measure ours beside it.
 */
export function parquetWasmWriter(columns: readonly ColumnDefinition[], sink: ByteSink): ParquetWriter {
  return new ParquetWasmWriter(columns, sink);
}

class ParquetWasmWriter implements ParquetWriter {
  readonly #columns: readonly ColumnDefinition[];
  readonly #sink: ByteSink;
  #batches: ReadableStreamDefaultController<RecordBatch> | null = null;
  #written: Promise<void> | null = null;
  /** Resolves when the module has taken the batch that was enqueued last. */
  #taken: (() => void) | null = null;

  constructor(columns: readonly ColumnDefinition[], sink: ByteSink) {
    this.#columns = columns;
    this.#sink = sink;
  }

  async write(group: RowGroup): Promise<GroupBounds> {
    if (group.rows === 0) return [];
    // arrowIpcStream copies the group into the module's memory, so the arrays are free again when it returns.
    const table = Table.fromIPCStream(arrowIpcStream(this.#columns, group));
    const batches = table.recordBatches();
    table.free();
    this.#written ??= this.#start();
    const taken = new Promise<void>((resolve) => {
      this.#taken = resolve;
    });
    for (const batch of batches) this.#batches?.enqueue(batch);
    // A failed stream never pulls again: its error must surface here rather than as a wait for ever.
    await Promise.race([taken, this.#written]);
    return groupBounds(this.#columns, group);
  }

  async finish(): Promise<void> {
    if (this.#written === null)
      throw new Error("a Parquet file needs at least one row group before finish()");
    this.#batches?.close();
    await this.#written;
  }

  async abort(): Promise<void> {
    try {
      this.#batches?.error(new Error("writing was aborted"));
      await this.#written;
    } catch {
      // The stream ends with the error above, or with the one that made the caller abort.
    }
  }

  async #start(): Promise<void> {
    const batches = new ReadableStream<RecordBatch>(
      {
        start: (controller) => {
          this.#batches = controller;
        },
        pull: () => {
          this.#taken?.();
        },
      },
      { highWaterMark: 0 },
    );
    const file: ReadableStream<Uint8Array> = await transformParquetStream(batches, properties(this.#columns));
    const reader = file.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      await this.#sink(value);
    }
  }
}

/** The properties object is consumed by its use: it is built for each file. */
function properties(columns: readonly ColumnDefinition[]): WriterProperties {
  let builder = new WriterPropertiesBuilder()
    .setCompression(Compression.ZSTD)
    .setCreatedBy("deltacap")
    // The module collects batches until a row group is full: without these bounds it would hold the whole file.
    .setMaxRowGroupSize(131_072)
    .setMaxRowGroupBytes(24 * 1024 * 1024)
    .setStatisticsEnabled(EnabledStatistics.Chunk);
  for (const column of columns) {
    if (column.type === "binary") {
      builder = builder
        .setColumnDictionaryEnabled(column.name, false)
        .setColumnStatisticsEnabled(column.name, EnabledStatistics.None);
    } else if (column.type === "timestamp") {
      builder = builder
        .setColumnDictionaryEnabled(column.name, false)
        .setColumnEncoding(column.name, Encoding.DELTA_BINARY_PACKED);
    }
  }
  return builder.build();
}
