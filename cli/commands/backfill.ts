import { readAhead } from "@deltacap/delta";
import { type CaptureObject, captureUri, listCaptureObjects } from "../../src/aws/capture-objects.ts";
import { deployedLedger, deployedTable } from "../../src/aws/deployed-table.ts";
import { SqsCaptureQueue } from "../../src/aws/sqs-capture-queue.ts";
import { tableLocation } from "../../src/aws/table-location.ts";
import { findSources } from "../../src/commit/find-sources.ts";
import type { SourceId } from "../../src/manifest/source-id.ts";
import {
  idOf,
  isBeyondLedger,
  isKnownByContent,
  objectUri,
  requireCaptureBucket,
} from "../stack/source-fate.ts";
import {
  type DeployedStack,
  type OpenStack,
  stackOf,
  stackOptions,
  stackOptionsHelp,
} from "../stack/stack.ts";
import {
  type Command,
  ExitCode,
  type OptionValues,
  onlyPositional,
  UsageError,
} from "../terminal/command.ts";
import { timeOrDate } from "../terminal/dates.ts";
import { count, Progress } from "../terminal/progress.ts";

/** The command `backfill`. */
export const backfill = (open: OpenStack): Command => ({
  name: "backfill",
  writes: true,
  summary: "captures that are in S3 already sent through the pipeline",
  help: `Usage: deltacap backfill s3://bucket/prefix [--since DATE] [--limit N] [--dry-run] [--stack NAME] [--region NAME] [--json]

Lists the objects, leaves out those that the ledger knows as committed or empty, and announces the others to the converter as if
they had just been uploaded. Objects older than the ledger remembers are looked for in the table's log first. It may be stopped
and run again at any time: what is announced twice is ingested once.

  --since DATE     only objects uploaded at or after it: 2026-01-31, or 2026-01-31T12:00:00Z
  --limit N        announces at most N
  --rejected       announces those again that were rejected before
  --unchecked      announces also what is older than the ledger remembers and cannot be found out from the log (because its first
                   commits are gone, or because captures are encrypted by KMS): rows that are in the table will be there twice
  --dry-run        announces nothing, and names what it would announce
${stackOptionsHelp}
  --json           one JSON object a capture; the last one sums up

Exits 1 when captures were left out that could not be checked.
`,
  options: {
    ...stackOptions,
    since: { type: "string" },
    limit: { type: "string" },
    rejected: { type: "boolean" },
    unchecked: { type: "boolean" },
    "dry-run": { type: "boolean" },
  },
  run: async (positionals, options, terminal) => {
    const uri = onlyPositional(positionals, "s3://bucket/prefix");
    const { bucket, key: prefix } = objectUri(uri, "captures");
    const choice = choiceOf(options);
    const stack = await stackOf(open, options);
    requireCaptureBucket(stack, bucket);
    const json = options.json === true;
    const progress = new Progress(terminal);
    const run = new Backfill(stack, choice, {
      onObject: (counts) =>
        progress.show(() => `${count(counts.listed)} listed, ${count(counts.announced)} announced`),
      onAnnounced: (object) => {
        const capture = captureUri(object);
        if (json) {
          const event = choice.dryRun ? "would announce" : "announced";
          terminal.out(`${JSON.stringify({ event, capture })}\n`);
        } else if (choice.dryRun) terminal.out(`${capture}\n`);
      },
    });
    const counts = await run.run(listCaptureObjects(stack.clients.s3, bucket, prefix));
    progress.clear();
    terminal.out(
      json ? `${JSON.stringify({ ...counts, dry_run: choice.dryRun })}\n` : described(counts, choice),
    );
    return counts.unchecked > 0 ? ExitCode.captures : ExitCode.ok;
  },
});

interface Choice {
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly limit: number;
  readonly rejected: boolean;
  readonly unchecked: boolean;
  readonly dryRun: boolean;
}

function choiceOf(options: OptionValues): Choice {
  const { since, limit } = options;
  const sinceMs = typeof since === "string" ? timeOrDate(since) : 0;
  if (sinceMs === null) throw new UsageError(`--since ${since}: a date as 2026-01-31 is expected`);
  if (typeof limit === "string" && !/^[1-9]\d{0,8}$/.test(limit))
    throw new UsageError(`--limit ${limit}: a whole number from 1 is expected`);
  return {
    sinceMs,
    limit: limit === undefined ? Number.POSITIVE_INFINITY : Number(limit),
    rejected: options.rejected === true,
    unchecked: options.unchecked === true,
    dryRun: options["dry-run"] === true,
  };
}

interface Counts {
  listed: number;
  /** Uploaded before `--since`, marking a folder, or a file of the table. */
  passed_over: number;
  committed: number;
  empty: number;
  /** Left out because they were rejected before. */
  rejected: number;
  announced: number;
  /** Left out because nothing tells whether the table has them. */
  unchecked: number;
}

interface Events {
  readonly onObject: (counts: Counts) => void;
  readonly onAnnounced: (object: CaptureObject) => void;
}

/** Objects whose ids are looked up at once. */
const PAGE = 1_000;
/** Objects beyond the ledger's horizon that wait for one reading of the log: some 200 MB. */
const MOST_OLD = 500_000;
/** Calls that send ten messages each, at once. */
const PARALLEL = 8;
const SEND_BATCH = 10;

class Backfill {
  readonly #stack: DeployedStack;
  readonly #choice: Choice;
  readonly #events: Events;
  readonly #counts: Counts = {
    listed: 0,
    passed_over: 0,
    committed: 0,
    empty: 0,
    rejected: 0,
    announced: 0,
    unchecked: 0,
  };
  #old = new Map<SourceId, CaptureObject>();

  constructor(stack: DeployedStack, choice: Choice, events: Events) {
    this.#stack = stack;
    this.#choice = choice;
    this.#events = events;
  }

  async run(objects: AsyncIterable<CaptureObject>): Promise<Counts> {
    let page: CaptureObject[] = [];
    for await (const object of objects) {
      this.#counts.listed++;
      this.#events.onObject(this.#counts);
      if (this.#isPassedOver(object)) this.#counts.passed_over++;
      else page.push(object);
      if (page.length < PAGE) continue;
      await this.#settle(page);
      page = [];
      if (this.#left() === 0) break;
    }
    await this.#settle(page);
    await this.#settleOld();
    return this.#counts;
  }

  #left(): number {
    return this.#choice.limit - this.#counts.announced;
  }

  #isPassedOver({ bucket, key, size, modifiedMs }: CaptureObject): boolean {
    const { tableUri, tableScheme } = this.#stack.settings;
    const table = tableLocation(tableUri, tableScheme);
    if (bucket === table.bucket && key.startsWith(`${table.prefix}/`)) return true;
    if (size === 0 && (key.endsWith("/") || key.endsWith("_$folder$"))) return true;
    return modifiedMs < this.#choice.sinceMs;
  }

  async #settle(page: readonly CaptureObject[]): Promise<void> {
    const { settings, clients } = this.#stack;
    // Ids would take a reading of these objects: the converter reads them anyway, and finds out.
    const byContent = page.filter((object) => isKnownByContent(this.#stack, object));
    const old = byContent.filter(({ modifiedMs }) => isBeyondLedger(this.#stack, modifiedMs));
    await this.#uncheckable(old);
    await this.#announce(byContent.filter((object) => !old.includes(object)));
    const ids = new Map<SourceId, CaptureObject>();
    for (const object of page) {
      if (!byContent.includes(object)) ids.set(await idOf(this.#stack, object), object);
    }
    if (ids.size === 0) return;
    const known = await deployedLedger(clients, settings).lookup([...ids.keys()]);
    const fresh: CaptureObject[] = [];
    for (const [id, object] of ids) {
      const status = known.get(id)?.status;
      if (status === "committed") this.#counts.committed++;
      else if (status === "empty") this.#counts.empty++;
      else if (status === "rejected" && !this.#choice.rejected) this.#counts.rejected++;
      else if (status === undefined && isBeyondLedger(this.#stack, object.modifiedMs))
        this.#old.set(id, object);
      else fresh.push(object);
    }
    await this.#announce(fresh);
    if (this.#old.size >= MOST_OLD) await this.#settleOld();
  }

  /** The ledger may have forgotten them: the log's tags tell, where the log goes back to the table's beginning. */
  async #settleOld(): Promise<void> {
    const old = this.#old;
    this.#old = new Map();
    if (old.size === 0 || this.#left() === 0) return;
    const { log } = deployedTable(this.#stack.clients, this.#stack.settings);
    const { versions, complete } = await findSources(log, new Set(old.keys()));
    this.#counts.committed += versions.size;
    const rest = [...old].flatMap(([id, object]) => (versions.has(id) ? [] : [object]));
    if (complete) await this.#announce(rest);
    else await this.#uncheckable(rest);
  }

  async #uncheckable(objects: readonly CaptureObject[]): Promise<void> {
    if (this.#choice.unchecked) await this.#announce(objects);
    else this.#counts.unchecked += objects.length;
  }

  async #announce(objects: readonly CaptureObject[]): Promise<void> {
    const { settings, clients } = this.#stack;
    const chosen = objects.slice(0, Math.min(objects.length, this.#left()));
    const queue = new SqsCaptureQueue(clients.sqs, settings.captureQueueUrl);
    const batches: CaptureObject[][] = [];
    for (let at = 0; at < chosen.length; at += SEND_BATCH) batches.push(chosen.slice(at, at + SEND_BATCH));
    const send = async (batch: CaptureObject[]) => {
      if (!this.#choice.dryRun) await queue.send(batch);
      return batch;
    };
    for await (const batch of readAhead(batches, PARALLEL, send)) {
      this.#counts.announced += batch.length;
      for (const object of batch) this.#events.onAnnounced(object);
      this.#events.onObject(this.#counts);
    }
  }
}

function described(counts: Counts, { dryRun }: Choice): string {
  const { listed, passed_over, committed, empty, rejected, announced, unchecked } = counts;
  const parts = [
    `${count(listed)} objects`,
    `${count(committed)} in the table already`,
    ...(empty === 0 ? [] : [`${count(empty)} without a packet`]),
    ...(passed_over === 0 ? [] : [`${count(passed_over)} passed over`]),
    ...(rejected === 0 ? [] : [`${count(rejected)} rejected before (--rejected announces them again)`]),
    `${count(announced)} ${dryRun ? "to be announced" : "announced"}`,
  ];
  const left =
    unchecked === 0
      ? ""
      : `${count(unchecked)} left out: they are older than the ledger remembers, and the log does not tell whether the table has them.
Look in the table (select distinct capture from packets); --unchecked announces them nevertheless\n`;
  return `${parts.join(", ")}\n${left}`;
}
