import { deployedLedger, deployedTable } from "../../src/aws/deployed-table.ts";
import { type QueueDepth, queueDepth } from "../../src/aws/queue-depth.ts";
import { type Command, ExitCode, noPositionals } from "../command.ts";
import { duration, newestCommit } from "../newest-commit.ts";
import { count } from "../progress.ts";
import { type DeployedStack, type OpenStack, stackOf, stackOptions, stackOptionsHelp } from "../stack.ts";
import { stateText } from "./pause.ts";

export const status = (open: OpenStack): Command => ({
  name: "status",
  summary: "a stack's pipeline: versions, what waits, what was given up",
  help: `Usage: deltacap status [--stack NAME] [--region NAME] [--json]

Tells the table's newest version and its age, up to which version the ledger is complete, what waits in the queues and in their
dead letter queues (SQS's counts: a minute old, not exact), and whether the pipeline is paused. Changes nothing.

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
  const [newest, incompleteSince, watermark, state, ...depths] = await Promise.all([
    newestCommit(log),
    sharedLog?.incompleteSince() ?? null,
    deployedLedger(clients, settings).watermark(),
    pipeline.state(),
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
    incomplete_since: incompleteSince === null ? null : isoText(incompleteSince),
    captures: { waiting: captures.waiting, in_flight: captures.inFlight, delayed: captures.delayed },
    manifests: { waiting: manifests.waiting, in_flight: manifests.inFlight, delayed: manifests.delayed },
    dead_letters: {
      captures: deadCaptures.waiting + deadCaptures.inFlight,
      manifests: deadManifests.waiting + deadManifests.inFlight,
    },
    ...state,
  };
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
    ["pipeline", stateText(facts) + (facts.converter === "on" && facts.committer === "on" ? "" : ": paused")],
    ...(incomplete === null
      ? []
      : [["unfinished", `a commit since ${ago(incomplete)}: the committer's next run finishes it`]]),
  ];
  return lines.map(([label = "", text = ""]) => `${label.padEnd(14)}${text}\n`).join("");
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
