import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { CreateBucketCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import {
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { RetryableError, readCommits } from "@deltacap/delta";
import { afterAll, beforeAll, expect, test } from "vitest";
import { convertBatch } from "../../lambdas/converter/convert-batch.ts";
import type { AwsClients } from "../../src/aws/clients.ts";
import { deployedLedger, deployedTable } from "../../src/aws/deployed-table.ts";
import { S3CaptureStore } from "../../src/aws/s3-capture-store.ts";
import { SqsCaptureQueue } from "../../src/aws/sqs-capture-queue.ts";
import { sendDeadLetter } from "../../src/aws/sqs-dead-letter.ts";
import { SqsManifestQueue } from "../../src/aws/sqs-manifest-queue.ts";
import { MESSAGE_BYTES } from "../../src/aws/sqs-message.ts";
import { readCommitTags } from "../../src/commit/commit-tags.ts";
import { runCommitter } from "../../src/commit/committer-run.ts";
import { parquetFileCheck } from "../../src/commit/file-schema.ts";
import { KeyPattern } from "../../src/ingest/key-pattern.ts";
import { manifestProblem } from "../../src/manifest/verify-manifest.ts";
import { nodeDecompressors } from "../../src/node/compression.ts";
import { sha256 } from "../../src/node/hash.ts";
import { nodeParquetWriter } from "../../src/node/parquet.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import { converterDefaults, engineInfo } from "../../src/settings.ts";
import { createQueue } from "../support/aws/cloud.ts";
import { openServers, type Servers, serverName } from "../support/aws/servers.ts";
import { filling, pcap } from "../support/captures/capture-builder.ts";
import { Random } from "../support/random.ts";

const CAPTURES = 60;
const CONVERTERS = 8;
const COMMITTERS = 2;
/** Seconds: what a crash left unacknowledged comes again within the test. */
const VISIBILITY = { VisibilityTimeout: "3" };

let servers: Servers;
beforeAll(async () => {
  servers = await openServers();
});
afterAll(async () => await servers.close());

/** Where everybody in this test works. */
interface Site {
  readonly clients: AwsClients;
  readonly bucket: string;
  readonly queues: Readonly<Record<"captures" | "capturesDead" | "manifests" | "manifestsDead", string>>;
  readonly table: ReturnType<typeof deployedTable>;
  readonly ledgerTable: string;
  readonly random: Random;
}

async function openSite(random: Random): Promise<Site> {
  const { clients, logTable } = servers;
  const id = randomUUID().slice(0, 8);
  const bucket = `captures-${id}`;
  const CreateBucketConfiguration = { LocationConstraint: "eu-central-1" } as const;
  await clients.s3.send(new CreateBucketCommand({ Bucket: bucket, CreateBucketConfiguration }));
  const queue = (name: string) => createQueue(clients, `${name}-${id}`, VISIBILITY);
  return {
    clients,
    bucket,
    queues: {
      captures: await queue("captures"),
      capturesDead: await queue("captures-dead"),
      manifests: await queue("manifests"),
      manifestsDead: await queue("manifests-dead"),
    },
    table: openTable(clients, logTable, id),
    ledgerTable: await servers.createLedgerTable(),
    random,
  };
}

function openTable(clients: AwsClients, logTable: string, id: string) {
  const tableUri = `s3://${servers.bucket}/fleet-${id}`;
  return deployedTable(clients, { tableUri, tableScheme: "s3a", logStore: "dynamodb", logTable });
}

/** Uploads captures of one to five packets, and announces each once to three times, in no order. */
async function upload({ clients, bucket, queues, random }: Site): Promise<number> {
  const bodies: string[] = [];
  let packets = 0;
  for (let i = 0; i < CAPTURES; i++) {
    const records = Array.from({ length: 1 + random.below(5) }, (_, n) => ({ bytes: filling(60, i + n) }));
    packets += records.length;
    const Body = pcap({}, records);
    const key = `car-${i % 7}/capture ${i}.pcap`;
    const { ETag } = await clients.s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body }));
    const object = { key: encodeURIComponent(key), size: Body.length, eTag: ETag?.replaceAll('"', "") };
    const s3 = { bucket: { name: bucket }, object };
    const record = { eventVersion: "2.1", eventSource: "aws:s3", eventName: "ObjectCreated:Put", s3 };
    for (let n = 1 + random.below(3); n > 0; n--) bodies.push(JSON.stringify({ Records: [record] }));
  }
  for (let i = bodies.length - 1; i > 0; i--) {
    const other = random.below(i + 1);
    [bodies[i], bodies[other]] = [bodies[other]!, bodies[i]!];
  }
  for (const MessageBody of bodies) {
    await clients.sqs.send(new SendMessageCommand({ QueueUrl: queues.captures, MessageBody }));
  }
  return packets;
}

async function isEmpty({ clients }: Site, QueueUrl: string): Promise<boolean> {
  const { Attributes } = await clients.sqs.send(
    new GetQueueAttributesCommand({
      QueueUrl,
      AttributeNames: ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
    }),
  );
  const { ApproximateNumberOfMessages: visible, ApproximateNumberOfMessagesNotVisible: inFlight } =
    Attributes ?? {};
  return visible === "0" && inFlight === "0";
}

/** Receives, converts and acknowledges until no capture is left; one time in five it "crashes" before the acknowledgement. */
async function convertAll(site: Site): Promise<void> {
  const { clients, bucket, queues, table, ledgerTable, random } = site;
  const ports = {
    captures: new S3CaptureStore(clients.s3),
    table: table.store,
    ledger: deployedLedger(clients, { ledgerTable, ledgerDays: 90 }),
    decompressors: nodeDecompressors,
    parquet: nodeParquetWriter,
    sha256,
    now: Date.now,
    newBatchId: randomUUID,
    manifestQueue: manifestQueue(site),
    isBeyondLedger: async () => false,
    deadLetter: (body: string, reason: string) =>
      sendDeadLetter(clients.sqs, { queueUrl: queues.capturesDead, limit: MESSAGE_BYTES }, body, reason),
  };
  const rules = {
    buckets: new Set([bucket]),
    table: table.location,
    keyPattern: new KeyPattern("{vehicle_id}/**"),
  };
  for (;;) {
    const { Messages = [] } = await clients.sqs.send(
      new ReceiveMessageCommand({ QueueUrl: queues.captures, MaxNumberOfMessages: 4, WaitTimeSeconds: 1 }),
    );
    if (Messages.length === 0) {
      if (await isEmpty(site, queues.captures)) return;
      continue;
    }
    const batch = Messages.map(({ MessageId = "", Body = "" }) => ({ messageId: MessageId, body: Body }));
    const { failed, error } = await convertBatch(batch, rules, ports, converterDefaults);
    if (error !== null) throw error;
    const done = Messages.filter(({ MessageId = "" }) => !failed.has(MessageId));
    if (done.length === 0 || random.below(5) === 0) continue;
    const Entries = done.map(({ ReceiptHandle }, i) => ({ Id: String(i), ReceiptHandle }));
    await clients.sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queues.captures, Entries }));
  }
}

function manifestQueue({ clients, queues, table }: Site): SqsManifestQueue {
  const { manifests: queueUrl, manifestsDead: deadLetterUrl } = queues;
  return new SqsManifestQueue({ sqs: clients.sqs, queueUrl, deadLetterUrl, store: table.store });
}

/** Run after run until nothing can come any more; one time in four it "crashes" before the acknowledgement. */
async function commitAll(
  site: Site,
  finished: () => boolean,
): Promise<{ runs: number; crashes: number; conflicts: number }> {
  const { clients, queues, ledgerTable, random } = site;
  const { log, store } = openTable(
    clients,
    servers.logTable,
    site.table.location.prefix.replace("fleet-", ""),
  );
  const queue = manifestQueue(site);
  const rules = { buckets: new Set([site.bucket]), table: site.table.location, hashContent: false, sha256 };
  const counts = { runs: 0, crashes: 0, conflicts: 0 };
  const acknowledge: typeof queue.acknowledge = async (deliveries) => {
    if (random.below(4) === 0) throw new RetryableError("crashed before the acknowledgement");
    await queue.acknowledge(deliveries);
  };
  for (;;) {
    const last = finished() && (await isEmpty(site, queues.manifests));
    try {
      counts.runs++;
      await runCommitter(
        {
          log,
          ledger: deployedLedger(clients, { ledgerTable, ledgerDays: 90 }),
          table: store,
          captures: new S3CaptureStore(clients.s3),
          captureQueue: new SqsCaptureQueue(clients.sqs, queues.captures),
          checkFile: parquetFileCheck(store, packetTable),
          now: Date.now,
          newId: randomUUID,
          random: () => random.below(1_000) / 1_000,
          sleep: setTimeout,
          engineInfo,
          verify: (manifest) => manifestProblem(manifest, rules),
          manifestQueue: Object.assign(Object.create(queue) as typeof queue, {
            acknowledge,
            send: queue.send.bind(queue),
            receive: queue.receive.bind(queue),
            release: queue.release.bind(queue),
            deadLetter: queue.deadLetter.bind(queue),
          }),
          onRound: ({ conflicts }) => {
            counts.conflicts += conflicts;
          },
        },
        {
          commitIntervalMs: 300,
          filesPerCommit: 4,
          receiveMs: 2_000,
          receiveUntilMs: Number.POSITIVE_INFINITY,
          deadlineMs: Date.now() + 60_000,
          pollers: 2,
        },
      );
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      counts.crashes++;
    }
    if (last) return counts;
  }
}

test(`${COMMITTERS} committers and ${CONVERTERS} converters, deliveries doubled, reordered and lost: every capture once (${serverName})`, {
  timeout: 120_000,
}, async () => {
  const seed = Number(process.env.DELTACAP_SEED ?? Date.now() % 100_000);
  console.log(`seed ${seed}`);
  const site = await openSite(new Random(seed));
  const packets = await upload(site);
  let converting = true;
  const converters = Promise.all(Array.from({ length: CONVERTERS }, () => convertAll(site))).finally(() => {
    converting = false;
  });
  // Sources that a committer sends back reach the capture queue after the converters have gone: somebody stays.
  const late = (async () => {
    await converters;
    await convertAll(site);
  })();
  const finished = () => !converting;
  const counts = await Promise.all(Array.from({ length: COMMITTERS }, () => commitAll(site, finished)));
  await late;
  await convertAll(site);
  await commitAll(site, () => true);
  console.log(`note: ${JSON.stringify(counts)}`);

  const { log, sharedLog } = site.table;
  const versions: number[] = [];
  for await (const { name } of log.list(""))
    if (name.endsWith(".json")) versions.push(Number.parseInt(name, 10));
  expect(versions).toEqual(versions.map((_, i) => i));
  const added = new Map<string, number>();
  let rows = 0;
  for await (const { actions } of readCommits(log, versions)) {
    for (const { add, commitInfo } of actions) {
      if (add?.stats !== undefined) rows += (JSON.parse(add.stats) as { numRecords: number }).numRecords;
      for (const { id } of readCommitTags(commitInfo?.tags)?.sources ?? [])
        added.set(id, (added.get(id) ?? 0) + 1);
    }
  }
  expect([...added.values()]).toEqual(Array(CAPTURES).fill(1));
  expect(rows).toBe(packets);
  expect(await sharedLog?.incompleteCommit()).toBeNull();
  expect(await isEmpty(site, site.queues.manifestsDead)).toBe(true);
  expect(await isEmpty(site, site.queues.capturesDead)).toBe(true);
});
