import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics, MetricUnit } from "@aws-lambda-powertools/metrics";
import type { Context } from "aws-lambda";
import { createClients } from "../../src/aws/clients.ts";
import { deployedLedger, deployedTable } from "../../src/aws/deployed-table.ts";
import { S3CaptureStore } from "../../src/aws/s3-capture-store.ts";
import { SqsCaptureQueue } from "../../src/aws/sqs-capture-queue.ts";
import { SqsManifestQueue } from "../../src/aws/sqs-manifest-queue.ts";
import {
  type CommitterRunPorts,
  type CommitterState,
  type Round,
  runCommitter,
} from "../../src/commit/committer-run.ts";
import { parquetFileCheck } from "../../src/commit/file-schema.ts";
import type { Manifest } from "../../src/manifest/manifest.ts";
import { type ManifestRules, manifestProblem } from "../../src/manifest/verify-manifest.ts";
import { sha256 } from "../../src/node/hash.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import { committerRun, engineInfo, metricsNamespace, settingsFrom } from "../../src/settings.ts";

// Made once: warm invocations keep the connections and the snapshot.
const settings = settingsFrom([
  "stackName",
  "tableUri",
  "tableScheme",
  "logStore",
  "logTable",
  "ledgerTable",
  "ledgerDays",
  "captureBuckets",
  "hashContent",
  "captureQueueUrl",
  "manifestQueueUrl",
  "manifestDeadLetterUrl",
  "messageBytes",
  "commitIntervalSeconds",
  "filesPerCommit",
  "deleteCaptures",
]);
const logger = new Logger({ serviceName: "committer" });
const metrics = new Metrics({
  namespace: metricsNamespace,
  serviceName: "committer",
  defaultDimensions: { stack: settings.stackName },
});
const clients = createClients({});
const { location, log, store, sharedLog } = deployedTable(clients, settings);
const captures = new S3CaptureStore(clients.s3);
const rules: ManifestRules = {
  buckets: new Set(settings.captureBuckets),
  table: location,
  hashContent: settings.hashContent,
  sha256,
};
const ports: CommitterRunPorts = {
  log,
  ledger: deployedLedger(clients, settings),
  table: store,
  captures,
  captureQueue: new SqsCaptureQueue(clients.sqs, settings.captureQueueUrl),
  checkFile: parquetFileCheck(store, packetTable),
  now: Date.now,
  newId: randomUUID,
  random: Math.random,
  sleep: setTimeout,
  engineInfo,
  manifestQueue: new SqsManifestQueue({
    sqs: clients.sqs,
    queueUrl: settings.manifestQueueUrl,
    deadLetterUrl: settings.manifestDeadLetterUrl,
    store,
    messageBytes: settings.messageBytes,
  }),
  verify: (manifest) => manifestProblem(manifest, rules),
  ...(settings.deleteCaptures ? { removeCaptures: (sources) => captures.remove(sources) } : {}),
  onRound: report,
  onRefused: (reason, batchId) => {
    logger.error("refused: the manifest is in the dead letter queue", { reason, batchId });
    metrics.addMetric("Refused", MetricUnit.Count, 1);
  },
  onLeft: (reason) => {
    logger.warn("left in the queue", { reason });
    metrics.addMetric("NewerManifests", MetricUnit.Count, 1);
  },
  onFailed: (failure) => {
    logger.error("failed: the manifest is tried again", { ...failure });
    metrics.addMetric("ManifestFailures", MetricUnit.Count, 1);
  },
};

/** A run that fails leaves nothing: the next one reads the table anew. */
let warm: CommitterState | null = null;

/** One run, invoked every minute: takes no event, and ends by itself well before its time-out. */
export const handler = async (_event: unknown, context: Context): Promise<void> => {
  logger.addContext(context);
  const start = Date.now();
  const remaining = context.getRemainingTimeInMillis();
  const reserve = committerRun.reserveSeconds * 1_000;
  const repairsBefore = sharedLog?.repairs ?? 0;
  const before = warm;
  warm = null;
  metrics.addMetric("Runs", MetricUnit.Count, 1);
  try {
    warm = await runCommitter(
      ports,
      {
        commitIntervalMs: settings.commitIntervalSeconds * 1_000,
        filesPerCommit: settings.filesPerCommit,
        receiveMs: committerRun.receiveSeconds * 1_000,
        receiveUntilMs: start + remaining - 2 * reserve,
        deadlineMs: start + remaining - reserve,
        pollers: committerRun.pollers,
      },
      packetTable,
      before,
    );
    logger.info("run ended", { version: warm.snapshot.version, seconds: (Date.now() - start) / 1_000 });
  } catch (error) {
    logger.error("run failed", { error: error as Error, version: before?.snapshot.version });
    throw error;
  } finally {
    metrics.addMetric("Repairs", MetricUnit.Count, (sharedLog?.repairs ?? 0) - repairsBefore);
    await sharedLog?.settled();
    await reportIncompleteItem();
    metrics.publishStoredMetrics();
  }
};

function report({ results, latencyMs, conflicts }: Round): void {
  metrics.addMetric("Conflicts", MetricUnit.Count, conflicts);
  const committed: Manifest[] = [];
  const versions = new Set<number>();
  for (const result of results) {
    const { batchId } = result.manifest;
    if (result.outcome === "committed") {
      committed.push(result.manifest);
      versions.add(result.version);
    } else if (result.outcome === "sent back") {
      logger.warn("sent back", { batchId, sources: result.sources, reason: result.reason });
      metrics.addMetric("SentBack", MetricUnit.Count, result.sources);
    } else if (result.outcome === "duplicate") logger.info("duplicate", { batchId });
  }
  if (committed.length === 0) return;
  const now = Date.now();
  const files = committed.reduce((sum, manifest) => sum + manifest.files.length, 0);
  const sources = committed.reduce((sum, manifest) => sum + manifest.sources.length, 0);
  const ages = committed.map((manifest) => now - uploadedMs(manifest));
  logger.info("committed", {
    versions: [...versions],
    manifests: committed.length,
    files,
    sources,
    latencyMs,
  });
  metrics.addMetric("Commits", MetricUnit.Count, versions.size);
  metrics.addMetric("Files", MetricUnit.Count, files);
  metrics.addMetric("Sources", MetricUnit.Count, sources);
  metrics.addMetric("FilesPerCommit", MetricUnit.Count, files / versions.size);
  metrics.addMetric("CommitLatency", MetricUnit.Milliseconds, latencyMs);
  for (const age of ages) metrics.addMetric("UploadToCommitAge", MetricUnit.Milliseconds, age);
}

/** Of the capture that has waited longest; where no event told it, the time of the batch. */
function uploadedMs({ sources, createdMs }: Manifest): number {
  return sources.reduce((oldest, source) => Math.min(oldest, source.uploadedMs ?? oldest), createdMs);
}

/** Called after every run, failed ones too: an item that stays incomplete may keep all readers of the shared log waiting. */
async function reportIncompleteItem(): Promise<void> {
  try {
    const incomplete = (await sharedLog?.incompleteCommit()) ?? null;
    const age = incomplete === null ? 0 : (Date.now() - incomplete.sinceMs) / 1_000;
    if (incomplete !== null) logger.warn("a commit's item is not complete", { ...incomplete });
    metrics.addMetric("IncompleteItemAge", MetricUnit.Seconds, age);
  } catch (error) {
    logger.warn("cannot look for incomplete items", { error: error as Error });
  }
}
