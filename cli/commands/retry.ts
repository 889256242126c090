import { RetryableError, TableRefusedError } from "@deltacap/delta";
import { type CaptureObject, captureUri, captureVersions } from "../../src/aws/capture-objects.ts";
import { deployedTable } from "../../src/aws/deployed-table.ts";
import { forgetSource } from "../../src/aws/forget-source.ts";
import { moveMessages } from "../../src/aws/move-messages.ts";
import { SqsCaptureQueue } from "../../src/aws/sqs-capture-queue.ts";
import { fileWithSource } from "../../src/commit/find-rows.ts";
import { RejectedError } from "../../src/errors.ts";
import { fateOf, idOf, isBeyondLedger, objectUri, requireCaptureBucket } from "../stack/source-fate.ts";
import {
  type DeployedStack,
  type OpenStack,
  stackOf,
  stackOptions,
  stackOptionsHelp,
} from "../stack/stack.ts";
import { type Command, ExitCode, type Terminal, UsageError } from "../terminal/command.ts";
import { count, Progress } from "../terminal/progress.ts";
import { ingest } from "./ingest.ts";
import { retryInFolder } from "./local-retry.ts";

/** The command `retry`. */
export const retry = (open: OpenStack): Command => ({
  name: "retry",
  writes: true,
  summary: "dead letters, or one capture, sent through the pipeline again; local captures too",
  help: `Usage: deltacap retry --dead-letters [--stack NAME] [--region NAME] [--json]
       deltacap retry CAPTURE [--again] [--stack NAME] [--region NAME] [--json]
       deltacap retry PATH... --table DIR [--again] [--key-pattern P | --vehicle ID] [--include GLOB] [--exclude GLOB]
                     [--jobs N] [--json]

--dead-letters moves the messages of both dead letter queues back to where they came from: captures to the capture queue,
manifests to the manifest queue. Each is removed only once it was sent. Mend the cause first, or they come back.

CAPTURE (s3://bucket/key) announces one object to the converter again, as if it had just been uploaded. One that is in the table
is left alone: what was committed is never added twice.

PATH... --table DIR ingests captures into a table in a folder, as "deltacap ingest" does and with its options.

  --again          for a capture that was committed and whose rows were deleted, forgotten, or taken back by RESTORE, since:
                   makes the ledger forget it, so that it is ingested again. Refused while any live file of the table has rows
                   of it; of several captures, those that have rows are left alone
${stackOptionsHelp}
  --json           one JSON object
`,
  options: {
    ...stackOptions,
    "dead-letters": { type: "boolean" },
    again: { type: "boolean" },
    ...ingest.options,
  },
  run: async (positionals, options, terminal) => {
    if (options.table !== undefined) return await retryInFolder(positionals, options, terminal);
    const local = ["key-pattern", "vehicle", "include", "exclude", "jobs"].find(
      (name) => options[name] !== undefined,
    );
    if (local !== undefined)
      throw new UsageError(`--${local} is for a table in a folder: give --table DIR too`);
    const deadLetters = options["dead-letters"] === true;
    const [capture, ...more] = positionals;
    if (deadLetters === (capture !== undefined) || more.length > 0)
      throw new UsageError("either --dead-letters or one CAPTURE is expected");
    if (deadLetters && options.again === true) throw new UsageError("--again is for one CAPTURE");
    const json = options.json === true;
    if (capture === undefined) return await retryDeadLetters(await stackOf(open, options), json, terminal);
    const named = objectUri(capture, "a capture");
    const stack = await stackOf(open, options);
    requireCaptureBucket(stack, named.bucket);
    const newest = (await captureVersions(stack.clients.s3, named.bucket, named.key)).find(
      ({ latest }) => latest,
    );
    if (newest === undefined)
      throw new RejectedError(`${capture} is not in S3: it was deleted, has expired, or is called otherwise`);
    const result = await retryCapture(stack, newest, options.again === true);
    terminal.out(json ? `${JSON.stringify(result)}\n` : `${result.capture}: ${result.text}\n`);
    return ExitCode.ok;
  },
});

async function retryDeadLetters(
  { settings, clients, now }: DeployedStack,
  json: boolean,
  terminal: Terminal,
): Promise<number> {
  const { captureQueueUrl, captureDeadLetterUrl, manifestQueueUrl, manifestDeadLetterUrl } = settings;
  const shared = { messageBytes: settings.messageBytes, sentBeforeMs: now() };
  const progress = new Progress(terminal);
  const told = (what: string) => (moved: number) => progress.show(() => `${count(moved)} ${what}`);
  const captures = await moveMessages(
    clients.sqs,
    { ...shared, from: captureDeadLetterUrl, to: captureQueueUrl },
    told("messages of captures"),
  );
  const manifests = await moveMessages(
    clients.sqs,
    { ...shared, from: manifestDeadLetterUrl, to: manifestQueueUrl },
    told("manifests"),
  );
  progress.clear();
  const left = captures.left + manifests.left;
  const reasons = new Map(captures.reasons);
  for (const [reason, messages] of manifests.reasons)
    reasons.set(reason, (reasons.get(reason) ?? 0) + messages);
  if (json) {
    const moved = { captures: captures.moved, manifests: manifests.moved };
    terminal.out(`${JSON.stringify({ moved, left, reasons: Object.fromEntries(reasons) })}\n`);
    return ExitCode.ok;
  }
  terminal.out(`moved: ${count(captures.moved)} messages of captures, ${count(manifests.moved)} manifests\n`);
  for (const [reason, messages] of reasons)
    terminal.out(`${count(messages)} had been set aside: ${reason}\n`);
  if (left > 0)
    terminal.out(
      `${count(left)} were left: set aside since this command began, or too large for the queue\n`,
    );
  return ExitCode.ok;
}

interface Retried {
  readonly capture: string;
  readonly source_id: string;
  readonly announced: boolean;
  /** What was known of it before. */
  readonly status: string;
  readonly text: string;
}

async function retryCapture(stack: DeployedStack, object: CaptureObject, again: boolean): Promise<Retried> {
  const { settings, clients } = stack;
  const capture = captureUri(object);
  const id = await idOf(stack, object);
  const fate = await fateOf(stack, id, object.modifiedMs);
  const result = { capture, source_id: id, status: fate.status };
  if (fate.status === "committed" && !again) {
    const text =
      fate.forgotten_in === undefined
        ? `it was committed in version ${fate.version}: nothing was sent. If its rows were deleted since, --again sends it`
        : `its vehicle was forgotten in version ${fate.forgotten_in}: nothing was sent. --again sends it`;
    return { ...result, announced: false, text };
  }
  // The ledger may have forgotten what the table still has.
  if (fate.status === "committed" || isBeyondLedger(stack, object.modifiedMs)) {
    const file = await fileWithSource(deployedTable(clients, settings), { id, capture });
    if (file !== null) {
      throw new TableRefusedError(
        `rows of ${capture} (source_id ${id}) are in the table, in ${file}: it would be there twice. Nothing was changed; delete them first`,
      );
    }
  }
  let text = "announced to the converter";
  if (fate.status === "committed") {
    if (
      fate.told_by === "ledger" &&
      !(await forgetSource(clients.dynamodb, settings.ledgerTable, id, fate.version))
    )
      throw new RetryableError(`the ledger's entry of ${id} has just changed: run it again`);
    text = `version ${fate.version} had committed it, and no live file has rows of it: the ledger has forgotten it, and it was announced to the converter. It will be in the log twice; versions before its rows were removed still have them`;
  }
  await new SqsCaptureQueue(clients.sqs, settings.captureQueueUrl).send([object]);
  return { ...result, announced: true, text };
}
