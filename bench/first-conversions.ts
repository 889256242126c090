import { readFileSync } from "node:fs";
import { convertCaptures } from "../src/ingest/convert-captures.ts";
import { nodeDecompressors } from "../src/node/compression.ts";
import { sha256 } from "../src/node/hash.ts";
import { nodeParquetWriter } from "../src/node/parquet.ts";
import { converterDefaults } from "../src/settings.ts";
import { MemoryLedger } from "../test/support/memory/memory-ledger.ts";
import { MemoryObjectStore } from "../test/support/memory/memory-object-store.ts";

/** Run as a process of its own by `cold-start.ts`: converts one capture over and over, and prints each one's CPU milliseconds. */
const [, , file = "", count = "1"] = process.argv;
const capture = readFileSync(file);
const ports = {
  captures: { open: () => chunksOf(capture), exists: async () => true },
  ledger: new MemoryLedger(),
  decompressors: nodeDecompressors,
  parquet: nodeParquetWriter,
  sha256,
  now: () => 0,
};
const milliseconds: number[] = [];
for (let i = 0; i < Number(count); i++) {
  const key = `car-1/${i}.pcap`;
  const name = { capture: `s3://captures/${key}`, bucket: "captures", key, eTag: `${i}` };
  const source = { ...name, size: capture.length, vehicleId: "car-1" };
  const start = process.cpuUsage();
  const table = new MemoryObjectStore();
  const { manifest } = await convertCaptures(
    [source],
    { ...ports, table, newBatchId: () => `batch-${i}` },
    converterDefaults,
  );
  const { user, system } = process.cpuUsage(start);
  milliseconds.push((user + system) / 1000);
  if (manifest === null) throw new Error(`${file} gave no row`);
}
console.log(JSON.stringify(milliseconds));

/** As S3's bodies come. */
async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}
