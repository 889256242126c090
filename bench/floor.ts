import { basename } from "node:path";
import { parseArgs } from "node:util";
import { PacketDecoder, readCapture } from "@deltacap/capture";
import type { NewObject, PageCompressor } from "@deltacap/parquet";
import { ByteBuffer, pagedParquetWriter } from "@deltacap/parquet";
import { fileChunks } from "../src/local/file-chunks.ts";
import { nodeDecompressors } from "../src/node/compression.ts";
import { nodeZstd } from "../src/node/zstd.ts";
import { converterDefaults } from "../src/settings.ts";
import { convertCapture } from "./convert-capture.ts";
import { mixes, SEED, seededCapture } from "./seeded-capture.ts";

const nowhere = (): NewObject => ({
  write: async () => {},
  commit: async () => "created",
  abort: async () => {},
});

/** CPU time of one call, in milliseconds. */
async function cpuOf(work: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** Reading and decoding, into nothing. */
async function decode(file: string): Promise<void> {
  const decoder = new PacketDecoder(() => {});
  await readCapture(
    fileChunks(file),
    nodeDecompressors,
    (frame) => decoder.decode(frame),
    converterDefaults,
    async () => {},
  );
}

/** The pages that a conversion compresses, copied. */
async function pagesOf(file: string, zstd: PageCompressor): Promise<Uint8Array[]> {
  const pages: Uint8Array[] = [];
  const recording: PageCompressor = {
    codec: zstd.codec,
    compress: (page, out) => {
      pages.push(page.slice());
      zstd.compress(page, out);
    },
  };
  await convertCapture(file, basename(file), pagedParquetWriter({ compressor: recording }), nowhere);
  return pages;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/**
 * `npx tsx bench/floor.ts [--packets N] [--runs N]`: how far the conversion lies above its floor, which no writer can do without:
 * reading, decoding, and zstd of the same pages. All in one process, in turns.
 */
async function main(zstd: PageCompressor): Promise<void> {
  const { values } = parseArgs({
    options: { packets: { type: "string", default: "500000" }, runs: { type: "string", default: "5" } },
  });
  const packets = Number(values.packets);
  console.log(
    `Node ${process.version}, ${packets} packets, seed ${SEED}, median of ${values.runs}; ns of CPU time a packet`,
  );
  console.log("| mix | read and decode | zstd of the same pages | floor | all | all : floor | MB of pages |");
  console.log("|---|---|---|---|---|---|---|");
  for (const mix of mixes) {
    const file = seededCapture(mix, mix === "ethernet" ? "pcap" : "pcapng", packets);
    const pages = await pagesOf(file, zstd);
    const out = new ByteBuffer(1 << 20);
    const writer = pagedParquetWriter({ compressor: zstd });
    const runs: { decode: number; zstd: number; all: number }[] = [];
    for (let i = 0; i < Number(values.runs); i++) {
      runs.push({
        decode: await cpuOf(() => decode(file)),
        zstd: await cpuOf(() => {
          for (const page of pages) {
            out.clear();
            zstd.compress(page, out);
          }
        }),
        all: await cpuOf(() => convertCapture(file, basename(file), writer, nowhere)),
      });
    }
    const perPacket = (key: keyof (typeof runs)[number]) =>
      (median(runs.map((run) => run[key])) * 1e6) / packets;
    const floor = perPacket("decode") + perPacket("zstd");
    const cells = [perPacket("decode"), perPacket("zstd"), floor, perPacket("all")].map((ns) =>
      ns.toFixed(0),
    );
    const megabytes = pages.reduce((sum, page) => sum + page.length, 0) / 1e6;
    console.log(
      `| ${[mix, ...cells, (perPacket("all") / floor).toFixed(2), megabytes.toFixed(0)].join(" | ")} |`,
    );
  }
}

if (nodeZstd === null)
  throw new Error(`Node ${process.version} has no zstd: run this by Node 22.15 or later`);
await main(nodeZstd);
