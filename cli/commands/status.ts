import { deployedLedger, deployedTable } from "../../src/aws/deployed-table.ts";
import type { Trouble } from "../../src/aws/ledger-item.ts";
import { type QueueDepth, queueDepth } from "../../src/aws/queue-depth.ts";
import { troubledCaptures } from "../../src/aws/troubled-captures.ts";
import { duration, newestCommit } from "../stack/newest-commit.ts";
import {
  type DeployedStack,
  type OpenStack,
  stackOf,
  stackOptions,
  stackOptionsHelp,
} from "../stack/stack.ts";
import { type Command, ExitCode, noPositionals } from "../terminal/command.ts";
import { oneLine } from "../terminal/printable.ts";
import { count } from "../terminal/progress.ts";
import { stateText } from "./pause.ts";

/** The command `status`. */
export const status = (open: OpenStack): Command => ({
  name: "status",
  summary: "a stack's pipeline: versions, what waits, rejected and damaged captures",
  help: `Usage: deltacap status [--stack NAME] [--region NAME] [--json]

Tells the table's newest version and its age, up to which version the ledger is complete, what waits in the queues and in their
dead letter queues (SQS's counts: a minute old, not exact), and whether the pipeline is paused. Lists the newest captures that
were rejected, or damaged part way, with their reasons. Changes nothing.

${stackOptionsHelp}
  --json           one JSON object
`,
  options: stackOptions,
  run: async (positionals, options, terminal) => {
    noPositionals(positionals, "the stack is --stack NAME");
    const stack = await stackOf(open, options);
    const facts = await factsOf(stack);
    terminal.out(options.json === true ? `${JSON.stringify(facts)}\n` : described(facts, stack.now()));
    return ExitCode.ok;
  },
});

type Facts = Awaited<ReturnType<typeof factsOf>>;

async function factsOf({ name, settings, clients, pipeline }: DeployedStack) {
  const { log, sharedLog } = deployedTable(clients, settings);
  const [newest, incomplete, watermark, state, rejected, damaged, ...depths] = await Promise.all([
    newestCommit(log),
    sharedLog?.incompleteCommit() ?? null,
    deployedLedger(clients, settings).watermark(),
    pipeline.state(),
    troubleFacts(clients, settings.ledgerTable, "rejected"),
    troubleFacts(clients, settings.ledgerTable, "damaged"),
    ...[
      settings.captureQueueUrl,
      settings.manifestQueueUrl,
      settings.captureDeadLetterUrl,
      settings.manifestDeadLetterUrl,
    ].map((url) => queueDepth(clients.sqs, url)),
  ]);
  const [captures, manifests, deadCaptures, deadManifests] = depths as [
    QueueDepth,
    QueueDepth,
    QueueDepth,
    QueueDepth,
  ];
  return {
    stack: name,
    table: settings.tableUri,
    version: newest?.version ?? null,
    committed:
      newest?.timestamp === undefined || newest.timestamp === null ? null : isoText(newest.timestamp),
    ledger_complete_to: watermark?.version ?? null,
    incomplete_since: incomplete === null ? null : isoText(incomplete.sinceMs),
    captures: { waiting: captures.waiting, in_flight: captures.inFlight, delayed: captures.delayed },
    manifests: { waiting: manifests.waiting, in_flight: manifests.inFlight, delayed: manifests.delayed },
    dead_letters: {
      captures: deadCaptures.waiting + deadCaptures.inFlight,
      manifests: deadManifests.waiting + deadManifests.inFlight,
    },
    rejected,
    damaged,
    ...state,
  };
}

/** Captures that are counted at most, and those that are listed. */
const MAX_COUNTED = 1_000;
const MAX_LISTED = 5;

interface TroubleFacts {
  /** Of those that the ledger still holds; `more` where there may be further ones. */
  readonly count: number;
  readonly more: boolean;
  readonly newest: readonly {
    readonly capture: string | null;
    readonly reason: string;
    readonly offset: number;
    readonly noticed: string;
  }[];
}

/** Null where the stack's ledger has no index of them. */
async function troubleFacts(
  { dynamodb }: DeployedStack["clients"],
  ledgerTable: string,
  trouble: Trouble,
): Promise<TroubleFacts | null> {
  const found = await troubledCaptures(dynamodb, ledgerTable, trouble, MAX_COUNTED);
  if (found === null) return null;
  const newest = found
    .slice(0, MAX_LISTED)
    .map(({ noticedMs, ...capture }) => ({ ...capture, noticed: isoText(noticedMs) }));
  return { count: found.length, more: found.length === MAX_COUNTED, newest };
}

function isoText(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function described(facts: Facts, now: number): string {
  const { version, committed, ledger_complete_to: watermark, incomplete_since: incomplete } = facts;
  const ago = (time: string) => `${time}, ${duration(now - Date.parse(time))} ago`;
  const lines = [
    ["stack", facts.stack],
    ["table", facts.table],
    ["version", version === null ? "none: nothing was committed yet" : String(version)],
    ["committed", committed === null ? "not known" : ago(committed)],
    ["ledger", watermark === null ? "empty" : `complete up to version ${watermark}`],
    ["captures", depthText(facts.captures)],
    ["manifests", depthText(facts.manifests)],
    ["dead letters", deadLettersText(facts.dead_letters)],
    ["rejected", troubleText(facts.rejected)],
    ...troubleLines(facts.rejected),
    ["damaged", troubleText(facts.damaged)],
    ...troubleLines(facts.damaged),
    ["pipeline", stateText(facts) + (facts.converter === "on" && facts.committer === "on" ? "" : ": paused")],
    ...(incomplete === null
      ? []
      : [["unfinished", `a commit since ${ago(incomplete)}: the committer's next run finishes it`]]),
  ];
  return lines.map(([label = "", text = ""]) => `${label.padEnd(14)}${text}\n`).join("");
}

function troubleText(facts: TroubleFacts | null): string {
  if (facts === null) return "not known: deploy the version of this command line, whose ledger indexes them";
  if (facts.count === 0) return "no captures";
  const shown = facts.count > facts.newest.length ? `; the newest ${facts.newest.length}` : "";
  return `${count(facts.count)}${facts.more ? " or more" : ""} ${facts.count === 1 ? "capture" : "captures"}${shown}:`;
}

function troubleLines(facts: TroubleFacts | null): string[][] {
  return (facts?.newest ?? []).map(({ capture, reason, offset, noticed }) => [
    "",
    `${noticed}  ${capture ?? "a capture whose name the ledger does not hold"}, byte ${offset}: ${oneLine(reason)}`,
  ]);
}

function depthText({ waiting, in_flight: inFlight, delayed }: Facts["captures"]): string {
  const more = delayed === 0 ? "" : `, ${count(delayed)} delayed`;
  return `${count(waiting)} waiting, ${count(inFlight)} being worked on${more}`;
}

function deadLettersText({ captures, manifests }: Facts["dead_letters"]): string {
  const text = `${count(captures)} of captures, ${count(manifests)} of manifests`;
  return captures + manifests === 0
    ? text
    : `${text}: see docs/runbook.md, then "deltacap retry --dead-letters"`;
}
