import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { PcapWriter } from "@deltacap/capture";
import { build } from "esbuild";
import { bundleFunction, functionNames } from "../bundle.ts";
import { environmentOf } from "../src/settings.ts";
import { ethernetMix, Traffic } from "../test/support/captures/traffic.ts";

const SEED = 20_261_130;
const RUNS = 7;
/** About 50 KB and 5 MB of the Ethernet mix: what gateways upload. */
const PACKETS = [150, 15_000];
const CONVERSIONS = 10;

const environment = environmentOf({
  tableUri: "s3://table/packets",
  tableScheme: "s3a",
  logStore: "dynamodb",
  logTable: "log",
  ledgerTable: "ledger",
  ledgerDays: 90,
  captureBuckets: ["captures"],
  keyPattern: "{vehicle_id}/**",
  hashContent: false,
  deleteCaptures: false,
  captureQueueUrl: "https://queue.invalid/captures",
  captureDeadLetterUrl: "https://queue.invalid/captures-dead",
  manifestQueueUrl: "https://queue.invalid/manifests",
  manifestDeadLetterUrl: "https://queue.invalid/manifests-dead",
  messageBytes: 262_144,
  commitIntervalSeconds: 10,
  filesPerCommit: 1000,
  checkpointInterval: 100,
  optimize: false,
  vacuum: false,
  vacuumHours: 168,
});

const importing = `
  const start = process.cpuUsage();
  await import(process.argv[1]);
  const { user, system } = process.cpuUsage(start);
  console.log((user + system) / 1000);
  process.exit(0);
`;

/** CPU milliseconds that a fresh process takes to import the module, and the size of its code. */
function reportFunction(name: string, folder: string, runs: number): void {
  const index = join(folder, "index.mjs");
  const size = (files: readonly string[]) =>
    files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  const times = Array.from({ length: runs }, () =>
    Number(
      execFileSync(
        process.execPath,
        ["--input-type=module", "-e", importing, "--", pathToFileURL(index).href],
        { encoding: "utf8", env: { ...process.env, ...environment, AWS_REGION: "eu-central-1" } },
      ),
    ),
  );
  console.log(
    `${name.padEnd(12)}index.mjs ${kilobytes(size(["index.mjs"]))}, all assets ${kilobytes(size(readdirSync(folder)))}, import ${median(times).toFixed(0)} ms`,
  );
}

/** The first conversions of a fresh process, beside one when the code has run for a while. */
function reportConversions(bundle: string, folder: string, packets: number, runs: number): void {
  const file = join(folder, `${packets}.pcap`);
  const traffic = new Traffic(SEED, ethernetMix);
  const writer = new PcapWriter();
  const parts = Array.from({ length: packets }, (_, i) => {
    const { linkType, bytes } = traffic.next();
    const time = { seconds: 1_790_000_000, nanoseconds: i * 1000 };
    const about = { linkType, interfaceId: 0, interfaceName: null, packetComment: null };
    return writer.packet({ ...about, time, originalLength: bytes.length, bytes });
  });
  writeFileSync(file, Buffer.concat(parts));
  const results = Array.from({ length: runs }, () => {
    const printed = execFileSync(process.execPath, [bundle, file, String(CONVERSIONS)], { encoding: "utf8" });
    return JSON.parse(printed) as number[];
  });
  const nth = (n: number) => median(results.map((times) => times[n] ?? Number.NaN)).toFixed(0);
  console.log(
    `capture of ${kilobytes(statSync(file).size)}, ${packets} packets: first conversion ${nth(0)} ms, second ${nth(1)} ms, tenth ${nth(9)} ms`,
  );
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(0)} KB`;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** `npm run bench:cold-start [-- --runs N]`: what a function pays before its first result, without the network. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { runs: { type: "string" } } });
  const runs = Number(values.runs ?? RUNS);
  const folder = mkdtempSync(join(tmpdir(), "deltacap-cold-start-"));
  console.log(`Node ${process.version}, seed ${SEED}, medians of ${runs} fresh processes, CPU time`);
  try {
    for (const name of functionNames) {
      await bundleFunction(name, join(folder, name));
      reportFunction(name, join(folder, name), runs);
    }
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    const bundle = join(folder, "first-conversions.mjs");
    // Looks for its module beside itself.
    const external = ["@bokuweb/zstd-wasm"];
    await build({
      entryPoints: ["bench/first-conversions.ts"],
      outfile: bundle,
      bundle: true,
      platform: "node",
      format: "esm",
      external,
    });
    for (const packets of PACKETS) reportConversions(bundle, folder, packets, runs);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

await main();
