// Reads mutated files one after another, in a process of its own: a read that never returns, or a rejection that nobody awaits,
// is seen by the parent. Arguments: seed, first input, inputs, temporary folder.
import { randomUUID } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { LogStore } from "@deltacap/delta";
import { DataFileReader, reconcileLog, TableRefusedError, UnreadableFileError } from "@deltacap/delta";
import { parquetFileCheck } from "../../../src/commit/file-schema.ts";
import { nodePageDecompressors } from "../../../src/node/page-decompressors.ts";
import { packetTable } from "../../../src/packets/packet-table.ts";
import { deltacap } from "../command-line.ts";
import { MemoryObjectStore } from "../memory/memory-object-store.ts";
import { Random } from "../random.ts";
import { dataColumns, type FuzzInput, fuzzInputs } from "./inputs.ts";
import { mutated } from "./mutations.ts";

/** What the parent is told: before each input, and of what went wrong. */
export type FuzzMessage =
  | { readonly input: number }
  | { readonly fault: string; readonly input: number }
  | FuzzFigures;

export interface FuzzFigures {
  readonly read: number;
  readonly refused: number;
  readonly commands: number;
  /** Of one input, in milliseconds of CPU time: what others do on the machine does not count. */
  readonly slowestMs: number;
  readonly peakMiB: number;
}

/** CPU time that one input may take. */
const MAX_MILLISECONDS = 2000;
/** One input in so many is read from a file on disk, and one is given to the command line. */
const EVERY_FILE = 7;
const EVERY_COMMAND = 400;
const COMMANDS = ["log", "inspect", "optimize", "checkpoint", "vacuum", "ingest", "sql"] as const;

const [seed = 0, first = 0, count = 0] = process.argv.slice(2, 5).map(Number);
const folder = process.argv[5] ?? "";
let current = first;
const figures = { read: 0, refused: 0, commands: 0, slowestMs: 0, peakMiB: 0 };

function send(message: FuzzMessage): void {
  process.send?.(message);
}

function fault(problem: unknown): void {
  const text = problem instanceof Error ? (problem.stack ?? problem.message) : String(problem);
  send({ fault: text, input: current });
}

process.on("unhandledRejection", (reason) => fault(`unhandled rejection: ${String(reason)}`));
process.on("uncaughtException", (error) => fault(`uncaught exception: ${String(error)}`));

/** Reads that take a turn of the event loop, some of them from a disk. */
type Read = (range?: { readonly start: number; readonly length: number }) => Promise<Uint8Array>;

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

function memoryRead(bytes: Uint8Array): Read {
  return async ({ start, length } = { start: 0, length: bytes.length }) => {
    await turn();
    return bytes.slice(start, start + length);
  };
}

function fileRead(path: string, size: number): Read {
  return async ({ start, length } = { start: 0, length: size }) => {
    const file = await open(path);
    try {
      const bytes = new Uint8Array(Math.min(length, Math.max(0, size - start)));
      await file.read(bytes, 0, bytes.length, start);
      return bytes;
    } finally {
      await file.close();
    }
  };
}

/** A log whose checkpoint of version 5 is the file, and which has version 6. */
function logOf(read: Read, size: number): LogStore {
  const name = "00000000000000000005.checkpoint.parquet";
  const commit = new TextEncoder().encode('{"commitInfo":{"txnId":"a"}}');
  return {
    repair: async () => {},
    remains: async () => null,
    list: async function* () {
      yield { name, size, modifiedMs: 0 };
      yield { name: "00000000000000000006.json", size: commit.length, modifiedMs: 0 };
    },
    read: async (asked, range) => {
      if (asked === name) return await read(range);
      return asked.endsWith("06.json") ? commit : null;
    },
    commit: async () => "conflict",
  };
}

async function readCheckpointFile(read: Read, size: number): Promise<void> {
  const state = await reconcileLog(logOf(read, size));
  if (state === null) throw new Error("there is no table");
  for await (const _ of state.files());
}

async function readDataFile(read: Read, bytes: Uint8Array): Promise<void> {
  const store = new MemoryObjectStore();
  store.read = async (_, range) => await read(range);
  const { length: size } = bytes;
  const file = { path: "a.parquet", size, rows: 40, date: "2026-03-01", statistics: [] };
  await parquetFileCheck(
    store,
    packetTable,
  )(file as never).catch((error: unknown) => {
    if (!String(error).includes("disagree")) throw error;
  });
  const reader = await DataFileReader.open(
    store,
    { path: "a.parquet", size },
    dataColumns,
    nodePageDecompressors,
  );
  for (const index of reader.rowGroups.keys()) await reader.read(index);
}

/** A command on the table with the file in the place of one of its own. */
async function runCommand(random: Random, input: FuzzInput, bytes: Uint8Array): Promise<void> {
  const table = join(folder, "table");
  const files = readdirSync(table, { recursive: true }).map(String);
  const wanted = files.filter((name) => name.endsWith(".parquet"));
  const checkpoint = wanted.find((name) => name.includes("checkpoint"));
  const data = wanted.find((name) => !name.includes("checkpoint"));
  const copy = join(folder, `table-${randomUUID()}`);
  cpSync(table, copy, { recursive: true });
  writeFileSync(join(copy, (input.kind === "checkpoint" ? checkpoint : data) ?? ""), bytes);
  const command = random.pick(COMMANDS);
  const { code, err } = await deltacap(...argumentsOf(command, copy));
  figures.commands++;
  if (code < 0 || code > 3) fault(`${command} ended with ${code}: ${err}`);
  if (/\n\s+at /.test(err)) fault(`${command} printed a stack: ${err}`);
  rmSync(copy, { recursive: true, force: true });
}

function argumentsOf(command: (typeof COMMANDS)[number], table: string): string[] {
  if (command === "ingest") return [command, join(folder, "captures"), "--table", table];
  if (command === "sql") return [command, table, "select count(*) from packets"];
  return [command, table];
}

function isDocumented(error: unknown): boolean {
  return error instanceof TableRefusedError || error instanceof UnreadableFileError;
}

async function tryInput(inputs: readonly FuzzInput[]): Promise<void> {
  const random = new Random(seed * 1_000_003 + current);
  const input = random.pick(inputs);
  const bytes = mutated(random, input.bytes, random.pick(inputs).bytes);
  let read = memoryRead(bytes);
  if (current % EVERY_FILE === 0) {
    const path = join(folder, "input.parquet");
    writeFileSync(path, bytes);
    read = fileRead(path, bytes.length);
  }
  try {
    if (input.kind === "checkpoint") await readCheckpointFile(read, bytes.length);
    else await readDataFile(read, bytes);
    figures.read++;
  } catch (error) {
    if (isDocumented(error)) figures.refused++;
    else fault(error);
  }
  if (current % EVERY_COMMAND === 0) await runCommand(random, input, bytes);
}

mkdirSync(folder, { recursive: true });
const inputs = await fuzzInputs(folder);
for (; current < first + count; current++) {
  send({ input: current });
  const before = process.cpuUsage();
  await tryInput(inputs);
  const { user, system } = process.cpuUsage(before);
  const milliseconds = (user + system) / 1000;
  if (current % EVERY_COMMAND !== 0) {
    figures.slowestMs = Math.max(figures.slowestMs, milliseconds);
    if (milliseconds > MAX_MILLISECONDS) fault(`took ${Math.round(milliseconds)} ms of CPU time`);
  }
  // What is rejected without anybody awaiting it shows in a later turn.
  await turn();
}
figures.peakMiB = Math.round(process.resourceUsage().maxRSS / 1024);
send(figures);
process.disconnect();
