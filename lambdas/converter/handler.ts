import { randomUUID } from "node:crypto";
import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics, MetricUnit } from "@aws-lambda-powertools/metrics";
import { S3ObjectStore } from "@deltacap/delta/aws";
import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { createClients } from "../../src/aws/clients.ts";
import { deployedLedger } from "../../src/aws/deployed-table.ts";
import { S3CaptureStore } from "../../src/aws/s3-capture-store.ts";
import type { IntakeRules } from "../../src/aws/s3-event.ts";
import { sendDeadLetter } from "../../src/aws/sqs-dead-letter.ts";
import { SqsManifestSender } from "../../src/aws/sqs-manifest-sender.ts";
import { tableLocation } from "../../src/aws/table-location.ts";
import type { CaptureResult } from "../../src/ingest/capture-result.ts";
import { KeyPattern } from "../../src/ingest/key-pattern.ts";
import { nodeDecompressors } from "../../src/node/compression.ts";
import { contentHash, sha256 } from "../../src/node/hash.ts";
import { nodeParquetWriter } from "../../src/node/parquet.ts";
import {
  converterDefaults,
  converterReserveSeconds,
  metricsNamespace,
  settingsFrom,
} from "../../src/settings.ts";
import { type BatchOutcome, type BatchPorts, convertBatch } from "./convert-batch.ts";

// Made once: warm invocations keep the connections.
const settings = settingsFrom([
  "stackName",
  "tableUri",
  "tableScheme",
  "ledgerTable",
  "ledgerDays",
  "captureBuckets",
  "keyPattern",
  "hashContent",
  "captureDeadLetterUrl",
  "manifestQueueUrl",
  "messageBytes",
]);
const logger = new Logger({ serviceName: "converter" });
const metrics = new Metrics({
  namespace: metricsNamespace,
  serviceName: "converter",
  defaultDimensions: { stack: settings.stackName },
});
const clients = createClients({});
const location = tableLocation(settings.tableUri, settings.tableScheme);
const store = new S3ObjectStore(clients.s3, location);
const rules: IntakeRules = {
  buckets: new Set(settings.captureBuckets),
  table: location,
  keyPattern: new KeyPattern(settings.keyPattern),
};
const DAY = 86_400_000;
const deadLetters = { queueUrl: settings.captureDeadLetterUrl, limit: settings.messageBytes };
const captures = new S3CaptureStore(clients.s3);
const ports: BatchPorts = {
  captures,
  isBeyondLedger: async (source) => {
    const uploadedMs = await captures.modifiedMs(source);
    return uploadedMs !== null && uploadedMs < Date.now() - settings.ledgerDays * DAY;
  },
  table: store,
  ledger: deployedLedger(clients, settings),
  decompressors: nodeDecompressors,
  parquet: nodeParquetWriter,
  sha256,
  now: Date.now,
  newBatchId: randomUUID,
  contentHash,
  opaqueETags: settings.hashContent,
  manifestQueue: new SqsManifestSender({
    sqs: clients.sqs,
    queueUrl: settings.manifestQueueUrl,
    store,
    messageBytes: settings.messageBytes,
  }),
  deadLetter: (body, reason) => sendDeadLetter(clients.sqs, deadLetters, body, reason),
};

/** Asked for once: a list of ports that is none fails the function at its start. */
const limits = { ...converterDefaults };

/** Takes a batch of the capture queue; the reply names the messages to be delivered again. */
export const handler = async (event: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
  logger.addContext(context);
  const expired = () => context.getRemainingTimeInMillis() < converterReserveSeconds * 1_000;
  try {
    const outcome = await convertBatch(event.Records, rules, { ...ports, expired }, limits);
    report(outcome, event.Records.length);
    return { batchItemFailures: [...outcome.failed].map((itemIdentifier) => ({ itemIdentifier })) };
  } finally {
    metrics.publishStoredMetrics();
  }
};

function report(
  { results, manifest, ignored, refused, error, failed }: BatchOutcome,
  messages: number,
): void {
  for (const reason of ignored) logger.debug("ignored", { reason });
  for (const reason of refused) logger.error("refused: the message is in the dead letter queue", { reason });
  for (const result of results) reportCapture(result);
  const packets = manifest?.sources.reduce((sum, source) => sum + source.packets, 0) ?? 0;
  const batch = {
    messages,
    failed: failed.size,
    captures: results.length,
    packets,
    batchId: manifest?.batchId,
  };
  if (error === null) logger.info("batch converted", batch);
  else logger.warn("the batch is tried again", { ...batch, error });
  const count = (outcome: CaptureResult["outcome"]) => results.filter((r) => r.outcome === outcome).length;
  const damaged = manifest?.sources.filter(({ damage }) => damage !== undefined).length ?? 0;
  metrics.addMetric("Captures", MetricUnit.Count, results.length);
  metrics.addMetric("Packets", MetricUnit.Count, packets);
  metrics.addMetric(
    "CaptureBytes",
    MetricUnit.Bytes,
    results.reduce((sum, { source }) => sum + source.size, 0),
  );
  metrics.addMetric("Files", MetricUnit.Count, manifest?.files.length ?? 0);
  metrics.addMetric("Damaged", MetricUnit.Count, damaged);
  metrics.addMetric("Rejected", MetricUnit.Count, count("rejected") + refused.length);
  metrics.addMetric("Duplicates", MetricUnit.Count, count("duplicate"));
  metrics.addMetric("Superseded", MetricUnit.Count, count("superseded"));
  metrics.addMetric("Gone", MetricUnit.Count, count("gone"));
  metrics.addMetric("Empty", MetricUnit.Count, count("empty"));
  metrics.addMetric("Failed", MetricUnit.Count, failed.size);
}

/** A line for each capture that did not simply become rows. */
function reportCapture(result: CaptureResult): void {
  const { source, id, outcome } = result;
  const line = { capture: source.capture, sourceId: id };
  if (outcome === "rejected") {
    logger.warn("rejected", { ...line, reason: result.reason, offset: result.offset });
  } else if (outcome === "failed") logger.warn("to be tried again", { ...line, reason: result.reason });
  else if (outcome === "superseded") logger.info("superseded", { ...line, reason: result.reason });
  else if (outcome === "gone") logger.error("gone", { ...line, reason: result.reason });
  else if (outcome === "converted" && result.damage !== undefined) {
    const { packets, undated, damage } = result;
    logger.warn("damaged", { ...line, packets, ...(undated === undefined ? {} : { undated }), ...damage });
  } else if (outcome === "converted" && result.continues !== undefined) {
    logger.warn("begins with a source that is in the table", { ...line, continues: result.continues });
  } else logger.debug(outcome, line);
}
