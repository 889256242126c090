/**
 * One capture into Parquet files as the converter writes them: `ours.ts CAPTURE FOLDER`. A program of its own, so that its CPU
 * time and peak memory are compared with those of other programs.
 */
import { type FileHandle, open } from "node:fs/promises";
import { basename, join } from "node:path";
import { readCapture } from "../../src/capture/read-capture.ts";
import { PacketDecoder } from "../../src/decode/packet-decoder.ts";
import { fileChunks } from "../../src/local/file-chunks.ts";
import { nodeDecompressors } from "../../src/node/compression.ts";
import { nodeParquetWriter } from "../../src/node/parquet.ts";
import { PacketFiles } from "../../src/parquet/packet-files.ts";
import type { NewObject } from "../../src/parquet/parquet-file.ts";
import { converterDefaults } from "../../src/settings.ts";

const [input, folder] = process.argv.slice(2);
if (input === undefined || folder === undefined) throw new Error("usage: ours.ts CAPTURE FOLDER");
const files = new PacketFiles({
  batchId: "bench",
  limits: converterDefaults,
  parquet: nodeParquetWriter,
  create: (path) => newFile(join(folder, basename(path))),
  hashSeed: 1,
});
files.begin({
  capture: `s3://bench/vehicle/${basename(input)}`,
  sourceId: "0".repeat(32),
  vehicleId: "car-1",
  ingestedMs: 0,
});
const decoder = new PacketDecoder((record) => files.append(record));
const end = await readCapture(
  fileChunks(input),
  nodeDecompressors,
  (frame) => decoder.decode(frame),
  converterDefaults,
  async () => {
    if (files.full) await files.makeRoom();
  },
);
if (end.kind !== "complete") throw new Error(`${input} is ${end.kind}: ${end.reason}`);
await files.keep();
await files.finish();
console.log(end.packets);

/** Written as it comes, as an upload in parts does. */
function newFile(path: string): NewObject {
  let file: FileHandle | null = null;
  return {
    write: async (chunk) => {
      file ??= await open(path, "w");
      await file.writeFile(chunk);
    },
    commit: async () => {
      await file?.close();
      return "created";
    },
    abort: async () => {
      await file?.close();
    },
  };
}
