import { RetryableError } from "@deltacap/delta";
import { type CaptureMessage, type IntakeRules, parseCaptureMessage } from "../../src/aws/s3-event.ts";
import type { CaptureResult } from "../../src/ingest/capture-result.ts";
import {
  type ConversionOutcome,
  type ConverterLimits,
  type ConverterPorts,
  convertCaptures,
} from "../../src/ingest/convert-captures.ts";
import type { CaptureSource } from "../../src/manifest/capture-store.ts";
import { MAX_SOURCES } from "../../src/manifest/manifest.ts";
import type { ManifestQueue } from "../../src/manifest/queues.ts";
import type { SourceId } from "../../src/manifest/source-id.ts";

/** A message of the capture queue. */
export interface BatchMessage {
  readonly messageId: string;
  readonly body: string;
}

/** What a batch of messages is converted with. */
export interface BatchPorts extends ConverterPorts {
  readonly manifestQueue: Pick<ManifestQueue, "send">;
  /** Puts a message aside with the reason, for a person. */
  readonly deadLetter: (body: string, reason: string) => Promise<void>;
  /** Whether a capture was uploaded so long ago that the ledger may have forgotten it. Cost: a request. */
  readonly isBeyondLedger: (source: CaptureSource) => Promise<boolean>;
}

/** What became of a batch of messages. */
export interface BatchOutcome {
  /** Ids of messages to be delivered again; all others are done with. */
  readonly failed: ReadonlySet<string>;
  readonly results: readonly CaptureResult[];
  /** Null when no capture gave a row, or nothing could be announced. */
  readonly manifest: ConversionOutcome["manifest"];
  readonly ignored: readonly string[];
  /** Why messages, or records in them, were put aside in this invocation. */
  readonly refused: readonly string[];
  /** Why messages must be tried again that are not to blame; null when the table, its ledger and the queues answered. */
  readonly error: RetryableError | null;
}

interface ReadMessage extends BatchMessage {
  sources: CaptureMessage["sources"];
  readonly ignored: CaptureMessage["ignored"];
  refused: CaptureMessage["refused"];
}

/**
 * One invocation: the captures that the messages announce become files and one manifest, and only what that settled is
 * acknowledged. Throws what is a bug; then SQS delivers every message again.
 */
export async function convertBatch(
  messages: readonly BatchMessage[],
  rules: IntakeRules,
  ports: BatchPorts,
  limits: ConverterLimits,
): Promise<BatchOutcome> {
  const failed = new Set<string>();
  const taken: ReadMessage[] = [];
  let sources = 0;
  for (const message of messages) {
    const read = { ...message, ...parseCaptureMessage(message.body, rules) };
    sources += read.sources.length;
    // One manifest has room for so many; the rest comes again.
    if (taken.length === 0 || sources <= MAX_SOURCES) taken.push(read);
    else failed.add(message.messageId);
  }
  let results: readonly CaptureResult[] = [];
  let manifest: ConversionOutcome["manifest"] = null;
  let error: RetryableError | null = null;
  try {
    for (const message of taken) await refuseForgotten(message, ports);
    const outcome = await convertCaptures(
      taken.flatMap((message) => message.sources),
      ports,
      limits,
    );
    results = outcome.results;
    // From here on the files are announced; before, nobody refers to them.
    if (outcome.manifest !== null) await ports.manifestQueue.send(outcome.manifest);
    manifest = outcome.manifest;
    for (const messageId of toBeTriedAgain(taken, results)) failed.add(messageId);
  } catch (thrown) {
    if (!(thrown instanceof RetryableError)) throw thrown;
    error = thrown;
    for (const { messageId, sources } of taken) if (sources.length > 0) failed.add(messageId);
  }
  // Last, and only what is done with otherwise: a message that comes again must not be copied again.
  const done = taken.filter(({ messageId }) => !failed.has(messageId));
  for (const { messageId, body, refused } of done) {
    if (refused.length === 0) continue;
    try {
      await ports.deadLetter(body, refused.join("; "));
    } catch (thrown) {
      if (!(thrown instanceof RetryableError)) throw thrown;
      error ??= thrown;
      failed.add(messageId);
    }
  }
  return {
    failed,
    results,
    manifest,
    ignored: taken.flatMap((message) => message.ignored),
    refused: taken.flatMap(({ messageId, refused }) => (failed.has(messageId) ? [] : refused)),
    error,
  };
}

/**
 * Refuses captures that were restored from an archive and that the ledger may have forgotten: converting one that is in the table
 * would double its rows.
 */
async function refuseForgotten(message: ReadMessage, ports: BatchPorts): Promise<void> {
  for (const source of message.sources) {
    if (source.restored !== true || !(await ports.isBeyondLedger(source))) continue;
    const reason = `${source.capture} was restored, and is older than the ledger remembers (setting ledgerDays): if the table has no rows of it, "deltacap retry ${source.capture}" ingests it`;
    message.sources = message.sources.filter((other) => other !== source);
    message.refused = [...message.refused, reason];
  }
}

/** Messages with a source that failed, also where another message's delivery of it stands for theirs. */
function toBeTriedAgain(messages: readonly ReadMessage[], results: readonly CaptureResult[]): string[] {
  const ids = new Map<CaptureSource, SourceId>(results.map(({ source, id }) => [source, id]));
  const failed = new Set(results.filter(({ outcome }) => outcome === "failed").map(({ id }) => id));
  return messages
    .filter(({ sources }) => sources.some((source) => failed.has(ids.get(source) ?? "")))
    .map(({ messageId }) => messageId);
}
