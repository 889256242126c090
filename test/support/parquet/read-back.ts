import { gzipSync } from "node:zlib";
import type { ColumnDefinition, PageCompressor, ParquetWriterFactory, RowGroup } from "@deltacap/parquet";
import { CompressionCodec } from "@deltacap/parquet";
import { type Table, tableFromIPC } from "apache-arrow";
import { type FileMetaData, parquetMetadata, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { readParquet } from "parquet-wasm/node";
import type { Value } from "./table-values.ts";

/** A codec that is not zstd. */
export const gzip: PageCompressor = {
  codec: CompressionCodec.GZIP,
  compress: (page, out) => out.append(gzipSync(page, { level: 1 })),
};

/** The file that a writer makes of row groups. */
export async function written(
  factory: ParquetWriterFactory,
  columns: readonly ColumnDefinition[],
  groups: readonly RowGroup[],
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const writer = factory(columns, async (chunk) => {
    chunks.push(chunk);
  });
  for (const group of groups) await writer.write(group);
  await writer.finish();
  return new Uint8Array(Buffer.concat(chunks));
}

const parsers = { timestampFromMicroseconds: (micros: bigint) => micros as unknown as Date };

export function metadata(file: Uint8Array): FileMetaData {
  return parquetMetadata(bufferOf(file), { parsers });
}

/** All values of the file, column by column, as hyparquet reads them. */
export async function readWithHyparquet(
  file: Uint8Array,
  columns: readonly ColumnDefinition[],
): Promise<Value[][]> {
  const buffer = bufferOf(file);
  const rows = await parquetReadObjects({ file: buffer, compressors, parsers, utf8: false });
  return columns.map(({ name }) => rows.map((row) => (row[name] ?? null) as Value));
}

/** All values of the file, column by column, as arrow-rs reads them. */
export function readWithParquetWasm(file: Uint8Array, columns: readonly ColumnDefinition[]): Value[][] {
  const table = tableFromIPC(readParquet(file).intoIPCStream());
  return columns.map((column) => arrowValues(table, column));
}

function arrowValues(table: Table, { name, type }: ColumnDefinition): Value[] {
  const vector = table.getChild(name)!;
  // get() would make milliseconds of a timestamp.
  if (type !== "timestamp") return Array.from({ length: vector.length }, (_, i) => vector.get(i) as Value);
  return vector.data.flatMap((data) =>
    Array.from({ length: data.length }, (_, i) => (data.getValid(i) ? (data.values[i] as bigint) : null)),
  );
}

function bufferOf(file: Uint8Array): ArrayBuffer {
  return file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer;
}
