import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import {
  ConditionalLogStore,
  commitFileName,
  deltaStatistics,
  type LogFile,
  type LogStore,
  liveFiles,
  readSnapshot,
  reconcileLog,
  writeCheckpoint,
} from "@deltacap/delta";
import { FolderObjectStore } from "@deltacap/delta/folder";
import type { Bounds, ColumnDefinition } from "@deltacap/parquet";
import { createTableBody } from "../src/commit/commit-body.ts";
import { nodePageCompressor } from "../src/node/page-compressor.ts";
import { fileColumns, packetTable } from "../src/packets/packet-table.ts";
import { Random } from "../test/support/random.ts";

/**
 * `npm run bench:checkpoint`: time and peak memory of a checkpoint of 10,000, 100,000 and 1,000,000 files, each step in a process
 * of its own: the first checkpoint from commits alone, the next one on top of it after {@link NEXT_COMMITS} commits, and what
 * readers then pay. Commits are made up while they are read; checkpoints lie in a temporary folder. With `--keep FOLDER` that folder is
 * left, a table whose log begins at its newest checkpoint, for others to read.
 */
const SIZES = [10_000, 100_000, 1_000_000];
const FIRST_FILES = 1_000;
const NEXT_COMMITS = 100;
const NEXT_FILES = 10;
const SEED = 9;
const STEPS = ["first checkpoint", "next checkpoint", "snapshot", "file list"] as const;

/** A log whose commits are made when they are read: `first` versions of many files each, and then `next` versions of few. */
class SyntheticLog implements LogStore {
  readonly #checkpoints: LogStore;
  readonly #first: number;
  readonly #next: number;

  constructor(folder: string, files: number, next: number) {
    this.#checkpoints = new ConditionalLogStore(new FolderObjectStore(folder));
    this.#first = Math.ceil(files / FIRST_FILES);
    this.#next = next;
  }

  async remains(): Promise<string | null> {
    return await this.#checkpoints.remains();
  }

  get newest(): number {
    return this.#first + this.#next;
  }

  async repair(): Promise<void> {}

  async *list(from: string): AsyncIterable<LogFile> {
    for (let version = 0; version <= this.newest; version++) {
      if (commitFileName(version) >= from) yield { name: commitFileName(version), size: 1, modifiedMs: 1 };
    }
    yield* this.#checkpoints.list(from);
  }

  async read(name: string, range?: { start: number; length: number }): Promise<Uint8Array | null> {
    if (!name.endsWith(".json")) return await this.#checkpoints.read(name, range);
    const version = Number(name.slice(0, 20));
    if (version === 0) {
      return createTableBody(packetTable, "bench", { txnId: "0", timestamp: 0, engineInfo: "bench" });
    }
    return commitOf(version, version <= this.#first ? FIRST_FILES : NEXT_FILES);
  }

  async commit(): Promise<"conflict"> {
    return "conflict";
  }
}

/** Statistics that repeat after so many files: further apart than a compressor looks back, and made once. */
const statistics = Array.from({ length: 1_000 }, (_, i) => statisticsOf(new Random(SEED + i)));

function commitOf(version: number, files: number): Uint8Array {
  const random = new Random(SEED + version);
  const lines = Array.from({ length: files }, (_, i) => JSON.stringify({ add: addOf(random, version, i) }));
  return new TextEncoder().encode(lines.join("\n"));
}

function addOf(random: Random, version: number, i: number) {
  const date = new Date(Date.UTC(2026, 0, 1 + Math.floor(version / 100))).toISOString().slice(0, 10);
  const id = `${hex(random)}${hex(random)}${hex(random)}${hex(random)}`;
  return {
    path: `date=${date}/part-${String(i).padStart(5, "0")}-${id}.parquet`,
    partitionValues: { date },
    size: random.below(1 << 27),
    modificationTime: 1_790_000_000_000 + version,
    dataChange: true,
    stats: statistics[i % statistics.length],
  };
}

function statisticsOf(random: Random): string {
  const rows = 10_000 + random.below(500_000);
  const columns = fileColumns.map((column) => ({
    column,
    nullCount: random.below(rows),
    bounds: column.statistics ? boundsOf(column, random) : null,
  }));
  return deltaStatistics(rows, columns);
}

function hex(random: Random): string {
  return random.uint32().toString(16).padStart(8, "0");
}

/** As different from file to file as those of real captures: that is what a checkpoint's size depends on. */
function boundsOf({ type }: ColumnDefinition, random: Random): Bounds | null {
  const number = random.uint32();
  switch (type) {
    case "integer":
      return { min: number & 0xff, max: 0x100 + (number & 0xffff) };
    case "long":
      return { min: BigInt(number & 0xffff), max: BigInt(number) };
    case "timestamp": {
      const start = 1_790_000_000_000_000n + BigInt(number);
      return { min: start, max: start + 600_000_000n };
    }
    case "string":
      return { min: `10.${number & 0xff}.0.1 ${hex(random)}`, max: `fd00::${hex(random)} ${hex(random)}` };
    default:
      return null;
  }
}

/** One step in this process: prints a line of JSON. */
async function step(name: string, files: number, folder: string): Promise<void> {
  const store = new FolderObjectStore(folder);
  const log = new SyntheticLog(folder, files, name === "first checkpoint" ? 0 : NEXT_COMMITS);
  const started = performance.now();
  let found = 0;
  let bytes = 0;
  if (name === "snapshot") found = (await readSnapshot(log))?.version ?? 0;
  else if (name === "file list") for await (const adds of liveFiles(log)) found += adds.length;
  else {
    const state = await reconcileLog(log);
    if (state === null) throw new Error("there is no table");
    const written = await writeCheckpoint(store, state, Date.now(), nodePageCompressor);
    found = written.adds;
    bytes = written.bytes;
  }
  const seconds = (performance.now() - started) / 1_000;
  const { user, system } = process.cpuUsage();
  const cpu = (user + system) / 1e6;
  const memory = process.resourceUsage().maxRSS / 1024;
  console.log(JSON.stringify({ seconds, cpu, memory, found, bytes }));
}

/** Puts the commit of the newest checkpoint's version beside it, as a log that was cleaned up has it. */
async function keepNewestCommit(folder: string, files: number): Promise<void> {
  const log = new SyntheticLog(folder, files, NEXT_COMMITS);
  const name = commitFileName(log.newest);
  const body = await log.read(name);
  if (body === null) throw new Error(`${name} is not in the log`);
  await new FolderObjectStore(folder).put(`_delta_log/${name}`, body);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      sizes: { type: "string" },
      step: { type: "string" },
      files: { type: "string" },
      folder: { type: "string" },
      keep: { type: "string" },
    },
  });
  if (values.step !== undefined) return await step(values.step, Number(values.files), values.folder ?? "");
  const sizes = values.sizes?.split(",").map(Number) ?? SIZES;
  console.log(
    `Node ${process.version}; commits of ${FIRST_FILES} files, then ${NEXT_COMMITS} of ${NEXT_FILES}; seed ${SEED}`,
  );
  for (const files of sizes) {
    const folder = values.keep ?? (await mkdtemp(join(tmpdir(), "bench-checkpoint-")));
    try {
      for (const name of STEPS) {
        const args = [...process.execArgv, fileURLToPath(import.meta.url), "--step", name];
        const run = promisify(execFile)(process.execPath, [
          ...args,
          "--files",
          String(files),
          "--folder",
          folder,
        ]);
        const { seconds, cpu, memory, found, bytes } = JSON.parse((await run).stdout);
        const size =
          bytes > 0 ? `  ${(bytes / 1e6).toFixed(1)} MB` : name === "file list" ? `  ${found} files` : "";
        console.log(
          `${String(files).padStart(8)} files  ${name.padEnd(17)}${seconds.toFixed(1).padStart(6)} s  ${cpu.toFixed(1).padStart(6)} s CPU  ${memory.toFixed(0).padStart(5)} MiB peak${size}`,
        );
      }
      if (values.keep !== undefined) await keepNewestCommit(folder, files);
    } finally {
      if (values.keep === undefined) await rm(folder, { recursive: true });
    }
  }
}

await main();
