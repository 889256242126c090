import { parseArgs } from "node:util";
import { Frame, PacketDecoder } from "@deltacap/capture";
import type { ParquetWriterFactory, RowGroup } from "@deltacap/parquet";
import { nodeParquetWriter } from "../src/node/parquet.ts";
import { PacketBatch } from "../src/packets/packet-batch.ts";
import { fileColumns } from "../src/packets/packet-table.ts";
import { ethernetMix, Traffic, type TrafficMix, vehicleMix } from "../test/support/captures/traffic.ts";
import { parquetWasmWriter } from "../test/support/parquet/parquet-wasm-writer.ts";

const SEED = 20_261_130;
const RUNS = 5;
const GROUPS = 2;

interface Measurement {
  readonly nanosecondsPerRow: number;
  readonly bytesPerRow: number;
}

/**
 * Packets of one vehicle as row groups, made once and written by both writers; their making is not measured. `withFrames`:
 * the captured bytes too, most of which is zstd's work; without them it is the writer itself that is measured.
 */
function rowGroups(mix: TrafficMix, rows: number, withFrames: boolean): RowGroup[] {
  const traffic = new Traffic(SEED, mix);
  const frame = new Frame();
  const capture = {
    capture: "s3://bench/car-1/2026-01-31.pcapng",
    sourceId: "0".repeat(32),
    vehicleId: "car-1",
    ingestedMs: 1_790_000_000_000,
  };
  let nanoseconds = 0;
  return Array.from({ length: GROUPS }, () => {
    const batch = new PacketBatch(SEED);
    const decoder = new PacketDecoder((record) => {
      if (!withFrames) record.frameLength = 0;
      batch.append(record, capture);
    });
    for (let i = 0; i < rows; i++) {
      const packet = traffic.next();
      nanoseconds += packet.gapNanoseconds;
      frame.bytes = packet.bytes;
      frame.capturedLength = packet.bytes.length;
      frame.originalLength = packet.bytes.length;
      frame.linkType = packet.linkType;
      frame.seconds = 1_790_000_000 + Math.floor(nanoseconds / 1e9);
      frame.nanoseconds = nanoseconds % 1e9;
      frame.packetNumber++;
      decoder.decode(frame);
    }
    return batch.take(0, rows);
  });
}

async function measure(writer: ParquetWriterFactory, groups: readonly RowGroup[]): Promise<Measurement> {
  const start = process.cpuUsage();
  let bytes = 0;
  const file = writer(fileColumns, async (chunk) => {
    bytes += chunk.length;
  });
  for (const group of groups) await file.write(group);
  await file.finish();
  const { user, system } = process.cpuUsage(start);
  const rows = groups.reduce((sum, group) => sum + group.rows, 0);
  return { nanosecondsPerRow: ((user + system) * 1000) / rows, bytesPerRow: bytes / rows };
}

function median(runs: readonly Measurement[], key: keyof Measurement): number {
  const sorted = runs.map((run) => run[key]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** `tsx bench/parquet-writer.ts [--rows N] [--runs N]`: our Parquet writer beside parquet-wasm, in CPU time and in bytes. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { rows: { type: "string" }, runs: { type: "string" } } });
  const rows = Number(values.rows ?? 131_072);
  const runs = Number(values.runs ?? RUNS);
  console.log(
    `Node ${process.version}, ${GROUPS} row groups of ${rows} rows, ${fileColumns.length} columns, seed ${SEED}; medians of ${runs} interleaved runs after one to warm up`,
  );
  for (const [mixName, mix] of Object.entries({ ethernet: ethernetMix, vehicle: vehicleMix })) {
    for (const withFrames of [true, false]) {
      const groups = rowGroups(mix, rows, withFrames);
      const measured: Record<"own" | "wasm", Measurement[]> = { own: [], wasm: [] };
      for (let run = 0; run <= runs; run++) {
        const pair = [
          await measure(nodeParquetWriter, groups),
          await measure(parquetWasmWriter, groups),
        ] as const;
        if (run === 0) continue;
        measured.own.push(pair[0]);
        measured.wasm.push(pair[1]);
      }
      console.log(`${mixName} mix, ${withFrames ? "all columns" : "frames left empty"}`);
      for (const [name, results] of Object.entries(measured)) {
        const time = median(results, "nanosecondsPerRow").toFixed(0).padStart(6);
        const bytes = median(results, "bytesPerRow").toFixed(1).padStart(6);
        console.log(`  ${name.padEnd(5)}${time} ns/row CPU  ${bytes} bytes/row`);
      }
      const speed = median(measured.wasm, "nanosecondsPerRow") / median(measured.own, "nanosecondsPerRow");
      const size = median(measured.own, "bytesPerRow") / median(measured.wasm, "bytesPerRow");
      console.log(`  ratio: ${speed.toFixed(2)} times the speed, ${size.toFixed(3)} times the size`);
    }
  }
}

await main();
