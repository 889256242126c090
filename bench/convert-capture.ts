import { PacketDecoder, readCapture } from "@deltacap/capture";
import type { NewObject, ParquetWriterFactory } from "@deltacap/parquet";
import { fileChunks } from "../src/local/file-chunks.ts";
import { nodeDecompressors } from "../src/node/compression.ts";
import { PacketFiles } from "../src/packets/packet-files.ts";
import { converterDefaults } from "../src/settings.ts";

/** One capture into Parquet files as the converter writes them; the columns of the capture itself are the same on every machine. */
export async function convertCapture(
  input: string,
  name: string,
  parquet: ParquetWriterFactory,
  create: (path: string) => NewObject,
): Promise<number> {
  const files = new PacketFiles({
    batchId: "bench",
    limits: converterDefaults,
    parquet,
    create,
    hashSeed: 1,
  });
  files.begin({
    capture: `s3://bench/vehicle/${name}`,
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
  return end.packets;
}
