import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { checkpointSchema } from "@deltacap/delta";
import type { ColumnDefinition, NestedField, PageCompressor } from "@deltacap/parquet";
import { CompressionCodec, NestedWriter } from "@deltacap/parquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { nodePageCompressor } from "../../../src/node/page-compressor.ts";
import { packetTable } from "../../../src/packets/packet-table.ts";
import { deltacap } from "../command-line.ts";
import { captureOf } from "../tables/packets-world.ts";

/** A file to be mutated. */
export interface FuzzInput {
  readonly kind: "checkpoint" | "data";
  readonly bytes: Uint8Array;
}

/** As a file of the table has them: without the partition column. */
export const dataColumns: readonly ColumnDefinition[] = packetTable.columns.filter(
  ({ name }) => name !== packetTable.partitionColumn,
);

const gzip: PageCompressor = {
  codec: CompressionCodec.GZIP,
  compress: (page, out) => out.append(gzipSync(page)),
};

/** Checkpoints and data files in several forms. `folder` gets a table that they belong to, with a checkpoint. */
export async function fuzzInputs(folder: string): Promise<FuzzInput[]> {
  const captures = join(folder, "captures", "car-1");
  const table = join(folder, "table");
  mkdirSync(captures, { recursive: true });
  writeFileSync(join(captures, "a.pcap"), captureOf(40));
  await deltacap("ingest", join(folder, "captures"), "--table", table);
  writeFileSync(join(captures, "b.pcap"), captureOf(40, undefined, 1));
  await deltacap("ingest", join(folder, "captures"), "--table", table);
  await deltacap("checkpoint", table);
  const files = readdirSync(table, { recursive: true }).map(String).sort();
  const parquet = files.filter((name) => name.endsWith(".parquet"));
  const isCheckpoint = (name: string) => name.includes("checkpoint");
  const inputs: FuzzInput[] = parquet.map((name) => ({
    kind: isCheckpoint(name) ? "checkpoint" : "data",
    bytes: new Uint8Array(readFileSync(join(table, name))),
  }));
  for (const compressor of [null, gzip, nodePageCompressor]) {
    inputs.push({ kind: "checkpoint", bytes: await checkpoint(compressor) });
  }
  inputs.push(
    { kind: "data", bytes: foreignData("SNAPPY") },
    { kind: "data", bytes: foreignData("UNCOMPRESSED") },
  );
  return inputs;
}

const bounds: readonly NestedField[] = [{ name: "packet_number", type: "long" }];
const withStruct: readonly NestedField[] = checkpointSchema.map((field) =>
  field.name === "add" && field.type === "struct"
    ? {
        ...field,
        fields: [
          ...field.fields,
          {
            name: "stats_parsed",
            type: "struct",
            fields: [
              { name: "numRecords", type: "long" },
              { name: "minValues", type: "struct", fields: bounds },
            ],
          },
        ],
      }
    : field,
);

async function checkpoint(compressor: PageCompressor | null): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const sink = async (chunk: Uint8Array) => void chunks.push(chunk.slice());
  const writer = new NestedWriter(withStruct, compressor, { rows: 8, bytes: 1e6 }, sink);
  await writer.write({
    protocol: {
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: [],
      writerFeatures: ["appendOnly"],
    },
  });
  const schemaString = JSON.stringify({ type: "struct", fields: [] });
  const format = { provider: "parquet", options: {} };
  const configuration = { "delta.appendOnly": "false", other: null };
  await writer.write({
    metaData: { id: "t", format, schemaString, partitionColumns: ["date"], configuration },
  });
  await writer.write({ txn: { appId: "a", version: 3, lastUpdated: 5 } });
  for (let i = 0; i < 20; i++) {
    const path = `date=2026-01-${10 + i}/file-${i}.parquet`;
    const partitionValues = { date: i % 5 === 0 ? null : `2026-01-${10 + i}` };
    const stats = i % 3 === 0 ? { stats: `{"numRecords":${i}}` } : {};
    const stats_parsed = { numRecords: i, minValues: { packet_number: i } };
    if (i % 4 === 3)
      await writer.write({ remove: { path, deletionTimestamp: i, dataChange: false, partitionValues } });
    else
      await writer.write({
        add: {
          path,
          partitionValues,
          size: i,
          modificationTime: 1,
          dataChange: false,
          ...stats,
          stats_parsed,
        },
      });
  }
  await writer.finish();
  return new Uint8Array(Buffer.concat(chunks));
}

function foreignData(codec: "SNAPPY" | "UNCOMPRESSED"): Uint8Array {
  const rows = 60;
  const column = (of: (i: number) => unknown) =>
    Array.from({ length: rows }, (_, i) => (i % 7 === 0 ? null : of(i)));
  const columnData = [
    { name: "source_id", data: column((i) => `source ${i % 3}`), type: "STRING" as const },
    { name: "packet_number", data: column((i) => BigInt(i)), type: "INT64" as const },
    { name: "ts", data: column((i) => new Date(i * 1000)), type: "TIMESTAMP" as const },
    { name: "ip_version", data: column((i) => i), type: "INT32" as const },
    { name: "can_fd", data: column((i) => i % 2 === 0), type: "BOOLEAN" as const },
    { name: "frame", data: column((i) => new Uint8Array(i).fill(i)), type: "BYTE_ARRAY" as const },
  ];
  return new Uint8Array(parquetWriteBuffer({ columnData, codec, rowGroupSize: 25 }));
}
