import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { CaptureSource } from "../../src/capture/capture-store.ts";
import { type CheckpointResult, checkpointTable } from "../../src/checkpoint-table.ts";
import type { Committer } from "../../src/commit-manifests.ts";
import type { CaptureResult } from "../../src/convert-captures.ts";
import { listVersions } from "../../src/delta/snapshot.ts";
import { RetryableError } from "../../src/errors.ts";
import { fileSource, findFiles, type PassedOver } from "../../src/local/file-capture-store.ts";
import { isNotFound, translated } from "../../src/local/system-errors.ts";
import { KeyPattern } from "../../src/manifest/key-pattern.ts";
import type { Manifest, ManifestSource } from "../../src/manifest/manifest.ts";
import { defaultKeyPattern, functionDefaults } from "../../src/settings.ts";
import {
  type Command,
  ExitCode,
  type OptionValues,
  required,
  type Terminal,
  UsageError,
} from "../command.ts";
import { Converters } from "../converters.ts";
import { localTable } from "../local-table.ts";
import { requireThere } from "../paths.ts";
import { oneLine } from "../printable.ts";
import { count, Progress } from "../progress.ts";

/** Captures converted and committed together: large enough for few versions, small enough to lose little to a crash. */
const BATCH_CAPTURES = 1000;
const BATCH_BYTES = 256 * 1024 * 1024;

/** Captures whose files vanished between conversion and commit are read again so often. */
const MAXIMUM_ROUNDS = 3;

export const ingest: Command = {
  name: "ingest",
  writes: true,
  summary: "captures (files, folders) into a Delta table in a local folder, each exactly once",
  help: `Usage: deltacap ingest PATH... --table DIR [--key-pattern P] [--jobs N] [--json]

Reads every capture named, or found in the folders named, and adds its packets to the Delta table in DIR, which is made if
there is none. What is in the table already is left out: running it again adds nothing.

  --table DIR        the table's folder
  --key-pattern P    where a capture's path, relative to PATH, names its vehicle: literals, {vehicle_id} (one
                     segment), * and **; default ${defaultKeyPattern}
  --jobs N           processes that convert at once; default 1
  --json             one JSON event a line; the last one sums up

Hidden files and folders are passed over, and so is the table's own folder. Offsets in a compressed capture are counted after
decompression.

Ctrl-C and SIGTERM: what is being converted is committed, then the command ends. Running it again goes on.

Exit: 0 all was ingested, 1 captures were rejected or damaged, or could not be read as files (each is named), 2 wrong use,
3 not the captures' fault, 130 or 143 interrupted by Ctrl-C or SIGTERM.
`,
  options: {
    table: { type: "string" },
    "key-pattern": { type: "string" },
    jobs: { type: "string" },
    json: { type: "boolean" },
  },
  run: async (paths, options, terminal) => {
    const folder = required(options, "table", "DIR");
    if (paths.length === 0) throw new UsageError("PATH is missing: name captures, or folders of captures");
    const jobs = jobCount(options);
    const pattern = keyPattern(options);
    await requireFolder(folder);
    const progress = new Progress(terminal);
    const { sources, passedOver } = await findSources(paths, folder, pattern, progress);
    const report = new Report(terminal, progress, options.json === true, sources.length);
    for (const found of passedOver) report.passedOver(found);
    if (sources.length > 0 && sources.every(({ vehicleId }) => vehicleId === null))
      report.noVehicles(pattern);
    const converters = new Converters(folder, jobs, (result) => report.capture(result));
    const { interruption } = terminal;
    try {
      await interruption.finishing(
        () => report.interrupted(),
        async () => {
          await ingestAll(sources, folder, converters, report, () => interruption.exitCode !== null);
          if (interruption.exitCode === null) report.checkpoint(await checkpointIfDue(folder));
        },
      );
    } finally {
      converters.close();
    }
    const code = report.finish();
    return interruption.exitCode ?? code;
  },
};

/** What is no folder can be no table: found out before anything is written. */
async function requireFolder(folder: string): Promise<void> {
  try {
    if (!(await stat(folder)).isDirectory())
      throw new UsageError(`--table ${folder}: it is a file, and a folder is expected`);
  } catch (error) {
    if (!isNotFound(error)) throw translated(error, `cannot look at ${folder}`);
  }
}

/** Each file once, by whichever of the paths it is found first. */
async function findSources(
  paths: readonly string[],
  leaveOut: string,
  pattern: KeyPattern,
  progress: Progress,
): Promise<{ readonly sources: CaptureSource[]; readonly passedOver: readonly PassedOver[] }> {
  for (const path of paths) await requireThere(path);
  const sources: CaptureSource[] = [];
  const passedOver: PassedOver[] = [];
  const seen = new Set<string>();
  for (const path of paths) {
    for await (const file of findFiles(path, leaveOut, (found) => passedOver.push(found))) {
      if (seen.has(file.path)) continue;
      seen.add(file.path);
      try {
        sources.push(await fileSource(file, pattern));
      } catch (error) {
        // One that cannot be read costs only itself.
        if (!(error instanceof RetryableError)) throw error;
        passedOver.push({ path: file.path, reason: error.message });
      }
      progress.show(() => `found ${count(sources.length)} captures`);
    }
  }
  return { sources, passedOver };
}

/** The captures are in the table, whatever becomes of it: a failure is told, and the next run tries again. */
async function checkpointIfDue(folder: string): Promise<CheckpointResult | { error: string }> {
  try {
    const { checkpointInterval: interval } = functionDefaults;
    return await checkpointTable(localTable(folder).ports, { interval });
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function jobCount(options: OptionValues): number {
  const text = options.jobs;
  if (text === undefined) return 1;
  const jobs = Number(text);
  if (!Number.isInteger(jobs) || jobs < 1 || jobs > 64) {
    throw new UsageError(`--jobs ${String(text)}: a whole number from 1 to 64 is expected`);
  }
  return jobs;
}

function keyPattern(options: OptionValues): KeyPattern {
  try {
    return new KeyPattern(String(options["key-pattern"] ?? defaultKeyPattern));
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

async function ingestAll(
  sources: readonly CaptureSource[],
  folder: string,
  converters: Converters,
  report: Report,
  isInterrupted: () => boolean,
): Promise<void> {
  const again: ManifestSource[] = [];
  const committer = await localTable(folder).committer(again);
  report.version = committer.version;
  let remaining = sources;
  for (let round = 0; remaining.length > 0 && !isInterrupted(); round++) {
    if (round === MAXIMUM_ROUNDS) {
      throw new RetryableError(
        `the files of ${remaining.length} captures vanished ${MAXIMUM_ROUNDS} times before they were committed: is a vacuum running on ${folder}?`,
      );
    }
    for await (const { manifest } of converters.convert(batches(remaining, isInterrupted))) {
      if (manifest !== null) await commit(manifest, committer, report);
      report.version = committer.version;
    }
    const sentBack = new Set(again.splice(0).map((source) => source.capture));
    remaining = remaining.filter((source) => sentBack.has(source.capture));
  }
  // What others ingested meanwhile may be what was left out here.
  report.version =
    (await listVersions(localTable(folder).log, committer.version)).at(-1) ?? committer.version;
}

async function commit(manifest: Manifest, committer: Committer, report: Report): Promise<void> {
  for (const result of await committer.commit([manifest])) {
    if (result.outcome === "committed") report.committed(manifest, result.version);
    else if (result.outcome === "duplicate") report.committedByOthers(manifest);
    else if (result.outcome === "refused") throw new RetryableError(result.reason);
    else if (result.outcome === "failed") throw result.error;
    else report.sentBack(manifest);
  }
}

/** None follows once the command was interrupted: what is begun is committed, and the rest is left to the next run. */
function* batches(
  sources: readonly CaptureSource[],
  isInterrupted: () => boolean,
): Iterable<CaptureSource[]> {
  let batch: CaptureSource[] = [];
  let bytes = 0;
  for (const source of sources) {
    if (batch.length > 0 && (batch.length >= BATCH_CAPTURES || bytes + source.size > BATCH_BYTES)) {
      yield batch;
      if (isInterrupted()) return;
      batch = [];
      bytes = 0;
    }
    batch.push(source);
    bytes += source.size;
  }
  if (batch.length > 0 && !isInterrupted()) yield batch;
}

interface Fault {
  readonly capture: string;
  readonly reason: string;
  readonly offset: number;
}

/** What the user is told while it goes on and at the end. */
class Report {
  version: number | null = null;
  readonly #terminal: Terminal;
  readonly #progress: Progress;
  readonly #json: boolean;
  readonly #total: number;
  readonly #rejected: Fault[] = [];
  readonly #damaged: Fault[] = [];
  readonly #passedOver: PassedOver[] = [];
  readonly #failed: { capture: string; reason: string }[] = [];
  #seen = 0;
  #ingested = 0;
  #duplicates = 0;
  #empty = 0;
  #packets = 0;
  #packetsSeen = 0;

  constructor(terminal: Terminal, progress: Progress, json: boolean, total: number) {
    this.#terminal = terminal;
    this.#progress = progress;
    this.#json = json;
    this.#total = total;
  }

  passedOver(found: PassedOver): void {
    this.#passedOver.push(found);
    this.#event({ event: "passed over", ...found });
  }

  /** It would be noticed only when somebody asks for a vehicle. */
  noVehicles(pattern: KeyPattern): void {
    this.#progress.clear();
    this.#terminal.err(
      `note: no capture's path matches the key pattern ${pattern.text}, so that vehicle_id is null in all rows: name as PATH the folder of the vehicles' folders, or give --key-pattern\n`,
    );
  }

  capture(result: CaptureResult): void {
    const { capture } = result.source;
    this.#seen++;
    switch (result.outcome) {
      case "converted":
        this.#packetsSeen += result.packets;
        if (result.damage !== undefined) this.#damaged.push({ capture, ...reversed(result.damage) });
        break;
      case "duplicate":
        this.#duplicates++;
        if (result.known?.damage !== undefined) {
          this.#damaged.push({ capture, ...reversed(result.known.damage) });
        }
        break;
      case "rejected":
        this.#rejected.push({ capture, reason: result.reason, offset: result.offset });
        break;
      case "empty":
        this.#empty++;
        break;
      case "superseded":
      case "gone":
      case "failed":
        this.#failed.push({ capture, reason: result.reason });
        break;
    }
    this.#event(event(result));
    this.#progress.show(
      () =>
        `${count(this.#seen)} of ${count(this.#total)} captures, ${count(this.#packetsSeen)} packets, version ${this.version ?? "none"}`,
    );
  }

  committed(manifest: Manifest, version: number): void {
    this.version = version;
    this.#ingested += manifest.sources.length;
    const packets = manifest.sources.reduce((sum, source) => sum + source.packets, 0);
    this.#packets += packets;
    const rows = manifest.files.reduce((sum, file) => sum + file.rows, 0);
    const files = manifest.files.length;
    this.#event({ event: "committed", version, captures: manifest.sources.length, files, rows, packets });
  }

  committedByOthers(manifest: Manifest): void {
    this.#duplicates += manifest.sources.length;
  }

  sentBack(manifest: Manifest): void {
    this.#seen -= manifest.sources.length;
  }

  /** Only what was written, or failed, is worth a line. */
  checkpoint(result: CheckpointResult | { error: string }): void {
    if ("error" in result) {
      this.#event({ event: "checkpoint failed", reason: result.error });
      this.#progress.clear();
      this.#terminal.err(`the checkpoint failed, and the next run tries again: ${result.error}\n`);
    } else if (result.outcome === "written") {
      this.#event({ event: "checkpoint", version: result.version, files: result.files });
    }
  }

  interrupted(): void {
    this.#progress.clear();
    this.#terminal.err(
      "interrupted: the captures that are being converted are committed first; a second signal ends the command at once\n",
    );
  }

  finish(): number {
    this.#progress.clear();
    if (this.#json) this.#terminal.out(`${JSON.stringify(this.#summary())}\n`);
    else this.#print();
    if (this.#failed.length > 0) return ExitCode.environment;
    const faults = this.#rejected.length + this.#damaged.length + this.#passedOver.length;
    return faults > 0 ? ExitCode.captures : ExitCode.ok;
  }

  #event(value: object): void {
    if (this.#json) this.#terminal.out(`${JSON.stringify(value)}\n`);
  }

  #summary() {
    return {
      ingested: this.#ingested,
      duplicates: this.#duplicates,
      rejected: this.#rejected,
      damaged: this.#damaged,
      empty: this.#empty,
      packets: this.#packets,
      version: this.version,
      ...(this.#passedOver.length === 0 ? {} : { passed_over: this.#passedOver }),
      ...(this.#failed.length === 0 ? {} : { failed: this.#failed }),
    };
  }

  #print(): void {
    const out = (line: string) => this.#terminal.out(`${oneLine(line)}\n`);
    for (const { path, reason } of this.#passedOver) out(`left out  ${path}: ${reason}`);
    for (const { capture, reason, offset } of this.#rejected) {
      out(`rejected  ${shown(capture)} at byte ${offset}: ${reason}`);
    }
    for (const { capture, reason, offset } of this.#damaged) {
      // At byte 0 nothing was cut off: only the capture's clock was wrong.
      if (offset === 0) out(`damaged   ${shown(capture)}: ${reason}; all its packets are in the table`);
      else
        out(
          `damaged   ${shown(capture)} at byte ${offset}: ${reason}; the packets before it are in the table`,
        );
    }
    for (const { capture, reason } of this.#failed) out(`failed    ${shown(capture)}: ${reason}`);
    out(
      `${count(this.#ingested)} captures ingested with ${count(this.#packets)} packets, ${count(this.#duplicates)} were in the table already, ${count(this.#rejected.length)} rejected, ${count(this.#damaged.length)} damaged, ${count(this.#empty)} empty${this.#passedOver.length === 0 ? "" : `, ${count(this.#passedOver.length)} left out`}; the table is at version ${this.version ?? "none"}`,
    );
  }
}

function reversed({ offset, reason }: { offset: number; reason: string }) {
  return { reason, offset };
}

function event(result: CaptureResult): object {
  const { source, id, outcome, ...rest } = result;
  return { event: outcome, capture: source.capture, source_id: id, ...rest };
}

/** The path that the user knows. */
function shown(capture: string): string {
  return capture.startsWith("file:") ? fileURLToPath(capture) : capture;
}
