import { stat } from "node:fs/promises";
import { listVersions, RetryableError } from "@deltacap/delta";
import { isNotFound, translated } from "@deltacap/delta/folder";
import type { Committer } from "../../src/commit/commit-manifests.ts";
import { IngestRun } from "../../src/local/ingest-run.ts";
import { removeLeftovers } from "../../src/local/leftovers.ts";
import type { CaptureSource } from "../../src/manifest/capture-store.ts";
import type { Manifest, ManifestSource } from "../../src/manifest/manifest.ts";
import { defaultKeyPattern, functionDefaults } from "../../src/settings.ts";
import { type CheckpointResult, checkpointTable } from "../../src/upkeep/checkpoint-table.ts";
import { Converters } from "../ingest/converters.ts";
import { IngestReport } from "../ingest/ingest-report.ts";
import { fileFilter } from "../tables/file-filter.ts";
import { findSources, vehicleRule } from "../tables/local-captures.ts";
import { localTable } from "../tables/local-table.ts";
import { type Command, type OptionValues, required, UsageError } from "../terminal/command.ts";
import { Progress } from "../terminal/progress.ts";

/** Captures converted and committed together: large enough for few versions, small enough to lose little to a crash. */
const BATCH_CAPTURES = 1000;
const BATCH_BYTES = 256 * 1024 * 1024;

/** Captures whose files vanished between conversion and commit are read again so often. */
const MAXIMUM_ROUNDS = 3;

/** The command `ingest`. */
export const ingest: Command = {
  name: "ingest",
  writes: true,
  summary: "captures (files, folders) into a Delta table in a local folder, each exactly once",
  help: `Usage: deltacap ingest PATH... --table DIR [--key-pattern P | --vehicle ID] [--include GLOB] [--exclude GLOB]
                       [--jobs N] [--json]

Reads every capture named, or found in the folders named, and adds its packets to the Delta table in DIR, which is made if
there is none. What is in the table already is left out: running it again adds nothing. A capture is known by its content, wherever
its file lies. Captures whose vehicle was forgotten are left out too, until "deltacap retry --again" asks for them.

  --table DIR        the table's folder
  --key-pattern P    where a capture's path, relative to PATH, names its vehicle: literals, {vehicle_id} (one
                     segment), * and **; default ${defaultKeyPattern}
  --vehicle ID       the vehicle of all captures, whatever their paths are
  --include GLOB     only files whose path, relative to PATH, matches; may be repeated: any of them
  --exclude GLOB     leaves out files, and folders with all that is in them, whose path matches; may be repeated, and
                     is stronger than --include. In a GLOB * and ? match within a segment, ** any number of segments,
                     [a-z] one character, {a,b} either. Quote it, or the shell replaces it
  --jobs N           processes that convert at once; default 1
  --json             one JSON event a line; the last one sums up

Hidden files and folders are passed over, and so is the table's own folder. Offsets in a compressed capture are counted after
decompression.

Ctrl-C and SIGTERM: what is being converted is committed, then the command ends. Running it again goes on.

Exit: 0 all was ingested, 1 captures were rejected or damaged, or could not be read as files (--json names each), 2 wrong use,
3 not the captures' fault, 130 or 143 interrupted by Ctrl-C or SIGTERM.
`,
  options: {
    table: { type: "string" },
    "key-pattern": { type: "string" },
    vehicle: { type: "string" },
    include: { type: "string", multiple: true },
    exclude: { type: "string", multiple: true },
    jobs: { type: "string" },
    json: { type: "boolean" },
  },
  run: async (paths, options, terminal) => {
    const folder = required(options, "table", "DIR");
    if (paths.length === 0) throw new UsageError("PATH is missing: name captures, or folders of captures");
    const jobs = jobCount(options);
    const vehicleOf = vehicleRule(options);
    const filter = fileFilter(options);
    await requireFolder(folder);
    const progress = new Progress(terminal);
    const { sources, passedOver } = await findSources(paths, folder, vehicleOf, progress, filter);
    const report = new IngestReport(
      terminal,
      progress,
      options.json === true,
      sources.length,
      paths,
      retryCommand(paths, options),
    );
    if (filter !== null && sources.length === 0) report.nothingMatches();
    for (const found of passedOver) report.passedOver(found);
    report.vehicles(sources, vehicleOf.description);
    const { interruption } = terminal;
    const run = new IngestRun();
    const converters = new Converters(folder, run.id, jobs, (result) => report.capture(result));
    try {
      await interruption.finishing(
        () => report.interrupted(),
        async () => {
          await ingestAll(sources, {
            folder,
            run,
            converters,
            report,
            isInterrupted: () => interruption.exitCode !== null,
          });
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

/** What brings back captures whose vehicle was forgotten, for a shell. */
function retryCommand(paths: readonly string[], options: OptionValues): string {
  const named = ["table", "key-pattern", "vehicle", "include", "exclude", "jobs"].flatMap((name) => {
    const value = options[name];
    const values = typeof value === "object" ? value : typeof value === "string" ? [value] : [];
    return values.flatMap((each) => [`--${name}`, each]);
  });
  return ["deltacap", "retry", "--again", ...paths, ...named].map(shellWord).join(" ");
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

interface Ingest {
  readonly folder: string;
  readonly run: IngestRun;
  readonly converters: Converters;
  readonly report: IngestReport;
  readonly isInterrupted: () => boolean;
}

async function ingestAll(sources: readonly CaptureSource[], ingest: Ingest): Promise<void> {
  const { folder, run, report } = ingest;
  const again: ManifestSource[] = [];
  const table = localTable(folder, run.id);
  const committer = await table.committer(again);
  report.version = committer.version;
  const leftovers = await table.leftovers();
  await removeLeftovers(table.ports.table, leftovers);
  report.leftovers(leftovers);
  if (sources.length === 0) return;
  await run.begin(table.ports.table, table.ports.now());
  const isWhole = await convertAndCommit(sources, committer, again, ingest);
  // Files that were put and not committed are found by the run's marker.
  if (isWhole) await run.end(table.ports.table);
  // What others ingested meanwhile may be what was left out here.
  report.version = (await listVersions(table.log, committer.version)).at(-1) ?? committer.version;
}

/** False where a manifest was not committed, because others had committed some of its captures. */
async function convertAndCommit(
  sources: readonly CaptureSource[],
  committer: Committer,
  again: ManifestSource[],
  { folder, converters, report, isInterrupted }: Ingest,
): Promise<boolean> {
  let isWhole = true;
  let remaining = sources;
  for (let round = 0; remaining.length > 0 && !isInterrupted(); round++) {
    if (round === MAXIMUM_ROUNDS) {
      throw new RetryableError(
        `the files of ${remaining.length} captures vanished ${MAXIMUM_ROUNDS} times before they were committed: is a vacuum running on ${folder}?`,
      );
    }
    for await (const { manifest } of converters.convert(batches(remaining, isInterrupted))) {
      if (manifest !== null) await commit(manifest, committer, report, again);
      report.version = committer.version;
    }
    if (again.length > 0) isWhole = false;
    const sentBack = new Set(again.splice(0).map((source) => source.capture));
    remaining = remaining.filter((source) => sentBack.has(source.capture));
  }
  return isWhole;
}

/** What others have committed meanwhile goes into `again` too: asked for again, it is known, and under which name. */
async function commit(
  manifest: Manifest,
  committer: Committer,
  report: IngestReport,
  again: ManifestSource[],
): Promise<void> {
  for (const result of await committer.commit([manifest])) {
    if (result.outcome === "committed") report.committed(manifest, result.version);
    else if (result.outcome === "refused") throw new RetryableError(result.reason);
    else if (result.outcome === "failed") throw result.error;
    else {
      report.sentBack(manifest);
      again.push(...manifest.sources);
    }
  }
}

/** Yields no further batch after an interruption: the running one is committed, and the next run does the rest. */
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
