import { execFileSync } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { CaptureEnd, FrameSink } from "@deltacap/capture";
import { PacketDecoder, readCapture } from "@deltacap/capture";
import type { NewObject } from "@deltacap/parquet";
import { fileChunks } from "../src/local/file-chunks.ts";
import { nodeDecompressors } from "../src/node/compression.ts";
import { nodeParquetWriter } from "../src/node/parquet.ts";
import { type CaptureColumns, PacketBatch } from "../src/packets/packet-batch.ts";
import { PacketFiles } from "../src/packets/packet-files.ts";
import { converterDefaults } from "../src/settings.ts";
import { mixes, SEED, seededCapture } from "./seeded-capture.ts";

const RUNS = 5;
const stages = ["read", "decode", "columns", "parquet"] as const;
type Stage = (typeof stages)[number];

interface Measurement {
  readonly packets: number;
  readonly bytes: number;
  readonly outputBytes: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMB: number;
}

/** Each stage includes those before it. Run in a process of its own, so that its peak memory is its own. */
async function measure(stage: Stage, file: string, repeat: number): Promise<Measurement> {
  const startWall = performance.now();
  const startCpu = process.cpuUsage();
  const result = await run(stage, file, repeat);
  const cpu = process.cpuUsage(startCpu);
  return {
    ...result,
    bytes: statSync(file).size * repeat,
    wallMs: performance.now() - startWall,
    cpuMs: (cpu.user + cpu.system) / 1000,
    peakMB: process.resourceUsage().maxRSS / 1024,
  };
}

async function run(
  stage: Stage,
  file: string,
  repeat: number,
): Promise<{ packets: number; outputBytes: number }> {
  const capture = {
    capture: "s3://bench/vehicle/capture",
    sourceId: "0".repeat(32),
    vehicleId: "car-1",
    ingestedMs: 0,
  };
  const chunks = repeated(file, repeat);
  if (stage === "parquet") return await toParquet(chunks, capture);
  const batch = new PacketBatch(SEED);
  const decoder = new PacketDecoder(
    stage === "decode" ? () => {} : (record) => batch.append(record, capture),
  );
  const sink: FrameSink = stage === "read" ? () => {} : (frame) => decoder.decode(frame);
  const end = await readCapture(chunks, nodeDecompressors, sink, converterDefaults, async () => {
    if (batch.rows < converterDefaults.rows && batch.frameBytes < converterDefaults.frameBytes) return;
    batch.take(0, batch.rows);
    batch.clear();
  });
  return { packets: packetsOf(end), outputBytes: 0 };
}

/** As the converter does it, into files that nobody keeps. */
async function toParquet(
  chunks: AsyncIterable<Uint8Array>,
  capture: CaptureColumns,
): Promise<{ packets: number; outputBytes: number }> {
  let outputBytes = 0;
  const create = (): NewObject => ({
    write: async (chunk) => {
      outputBytes += chunk.length;
    },
    commit: async () => "created",
    abort: async () => {},
  });
  const options = {
    batchId: "bench",
    limits: converterDefaults,
    parquet: nodeParquetWriter,
    create,
    hashSeed: SEED,
  };
  const files = new PacketFiles(options);
  files.begin(capture);
  const decoder = new PacketDecoder((record) => files.append(record));
  const decode: FrameSink = (frame) => decoder.decode(frame);
  const end = await readCapture(chunks, nodeDecompressors, decode, converterDefaults, async () => {
    if (files.full) await files.makeRoom();
  });
  await files.keep();
  await files.finish();
  return { packets: packetsOf(end), outputBytes };
}

function packetsOf(end: CaptureEnd): number {
  if (end.kind !== "complete") throw new Error(`the bench's own capture is ${end.kind}: ${end.reason}`);
  return end.packets;
}

/** The file several times over, as captures bundled back to back: one source that is so much larger. */
async function* repeated(file: string, times: number): AsyncIterable<Uint8Array> {
  for (let i = 0; i < times; i++) {
    yield* fileChunks(file);
  }
}

function inProcess(stage: Stage, file: string, repeat: number): Measurement {
  const args = [
    ...process.execArgv,
    fileURLToPath(import.meta.url),
    "--stage",
    stage,
    "--file",
    file,
    "--repeat",
    String(repeat),
  ];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as Measurement;
}

function median(runs: readonly Measurement[], key: keyof Measurement): number {
  const sorted = runs.map((run) => run[key]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function report(name: string, runs: readonly Measurement[]): void {
  const packets = median(runs, "packets");
  const cpu = median(runs, "cpuMs");
  const wall = median(runs, "wallMs");
  const figures = [
    `${(packets / cpu / 1000).toFixed(2)} M packets/s CPU`,
    `${(packets / wall / 1000).toFixed(2)} M packets/s wall`,
    `${(median(runs, "bytes") / 1e3 / wall).toFixed(0)} MB/s`,
    `${median(runs, "peakMB").toFixed(0)} MB peak`,
  ];
  const output = median(runs, "outputBytes");
  if (output > 0) figures.push(`${(output / 1e6).toFixed(0)} MB Parquet`);
  console.log(`  ${name.padEnd(22)}${figures.map((figure) => figure.padStart(24)).join("")}`);
}

/** `npm run bench [-- --packets N] [--runs N]`: what each stage costs, and whether memory grows with the capture. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      stage: { type: "string" },
      file: { type: "string" },
      repeat: { type: "string" },
      packets: { type: "string" },
      runs: { type: "string" },
    },
  });
  if (values.stage !== undefined && values.file !== undefined) {
    const result = await measure(values.stage as Stage, values.file, Number(values.repeat ?? 1));
    console.log(JSON.stringify(result));
    return;
  }
  const packets = Number(values.packets ?? 2_000_000);
  const count = Number(values.runs ?? RUNS);
  console.log(
    `Node ${process.version}, ${packets} packets, seed ${SEED}, median of ${count} runs; each stage includes those before it`,
  );
  for (const mix of mixes) {
    const file = seededCapture(mix, mix === "ethernet" ? "pcap" : "pcapng", packets);
    console.log(`${mix} mix, ${(statSync(file).size / 1e6).toFixed(0)} MB`);
    for (const stage of stages)
      report(
        stage,
        Array.from({ length: count }, () => inProcess(stage, file, 1)),
      );
    const once = inProcess("parquet", file, 1);
    const tenfold = inProcess("parquet", file, 10);
    report("parquet, 10 x larger", [tenfold]);
    console.log(
      `  peak memory of the 10 times larger capture: ${(tenfold.peakMB / once.peakMB).toFixed(2)} times`,
    );
    rmSync(file);
  }
}

await main();
