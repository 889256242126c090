import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FolderLedger } from "../src/local/folder-ledger.ts";
import { Random } from "../test/support/random.ts";

/**
 * `npm run bench:ledger -- [--entries N]`: the local ledger of N captures, 10 million by default. Prints the file's size, the CPU
 * time of the first look-up, which reads the file, the CPU time of 1,000 look-ups behind it, and the process's peak memory.
 */
const SEED = 20_261_201;

const { values } = parseArgs({ options: { entries: { type: "string", default: "10000000" } } });
const entries = Number(values.entries);
const folder = await mkdtemp(join(tmpdir(), "deltacap-ledger-"));
try {
  const known = await writeLedger(join(folder, "_deltacap"), entries);
  const { size } = await stat(join(folder, "_deltacap", "ledger.log"));
  const before = process.memoryUsage().rss;
  const ledger = new FolderLedger(folder);
  const first = await measured(() => ledger.lookup(known.slice(0, 1)));
  const next = await measured(() => ledger.lookup(known));
  if (next.result.size !== known.length)
    throw new Error(`${next.result.size} of ${known.length} sources were found`);
  const peak = process.resourceUsage().maxRSS * 1024;
  console.log(`${entries} entries, ${megabytes(size)} MB of file`);
  console.log(`first look-up: ${first.cpuSeconds.toFixed(1)} s of CPU time`);
  console.log(`${known.length} look-ups behind it: ${(next.cpuSeconds * 1_000).toFixed(0)} ms of CPU time`);
  console.log(`memory: ${megabytes(peak)} MB at the peak, ${megabytes(before)} MB before`);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Writes lines as the ledger does; returns the ids of 1,000 sources spread over the file. */
async function writeLedger(place: string, count: number): Promise<string[]> {
  await mkdir(place, { recursive: true });
  const file = createWriteStream(join(place, "ledger.log"));
  const random = new Random(SEED);
  const known: string[] = [];
  const every = Math.ceil(count / 1_000);
  for (let i = 0; i < count; i += 1_000) {
    const lines: string[] = [];
    for (let n = i; n < Math.min(count, i + 1_000); n++) {
      const id = Array.from({ length: 4 }, () => random.uint32().toString(16).padStart(8, "0")).join("");
      if (n % every === 0) known.push(id);
      const capture = `file:///data/captures/car-${n % 1_000}/2026-03-01T${n}.pcapng`;
      const entry = {
        status: "committed",
        version: 1 + Math.floor(n / 1_000),
        batchId: id,
        capture,
        packets: n,
      };
      lines.push(`\n${JSON.stringify({ id, entry })}\n`);
    }
    if (!file.write(lines.join(""))) await once(file, "drain");
  }
  file.end();
  await once(file, "close");
  return known;
}

async function measured<Result>(run: () => Promise<Result>): Promise<{ result: Result; cpuSeconds: number }> {
  const start = process.cpuUsage();
  const result = await run();
  const { user, system } = process.cpuUsage(start);
  return { result, cpuSeconds: (user + system) / 1e6 };
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
