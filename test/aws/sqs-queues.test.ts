import { GetQueueAttributesCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { RetryableError } from "@deltacap/delta";
import { S3ObjectStore } from "@deltacap/delta/aws";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parseCaptureMessage } from "../../src/aws/s3-event.ts";
import { SqsCaptureQueue } from "../../src/aws/sqs-capture-queue.ts";
import { SqsManifestQueue, type SqsManifestQueueOptions } from "../../src/aws/sqs-manifest-queue.ts";
import { KeyPattern } from "../../src/ingest/key-pattern.ts";
import type { Manifest, ManifestSource } from "../../src/manifest/manifest.ts";
import { parseManifest } from "../../src/manifest/parse-manifest.ts";
import type { ReceivedManifest } from "../../src/manifest/queues.ts";
import { ManualClock } from "../support/aws/clock.ts";
import { BUCKET, Cloud, createQueue, type Visitor } from "../support/aws/cloud.ts";

let cloud: Cloud;
let visitor: Visitor;
let store: S3ObjectStore;
let names = 0;
const clock = new ManualClock();
beforeAll(async () => {
  cloud = await Cloud.start(clock);
});
afterAll(async () => await cloud.close());
beforeEach(async () => {
  cloud.everybodyOut();
  cloud.sqs.failEntry = () => null;
  visitor = await cloud.enter();
  names++;
  store = new S3ObjectStore(visitor.clients.s3, { bucket: BUCKET, prefix: `table-${names}` });
});

async function openQueue(options: Partial<SqsManifestQueueOptions> = {}): Promise<SqsManifestQueue> {
  const queueUrl = await createQueue(visitor.clients, `manifests-${names}`);
  const deadLetterUrl = await createQueue(visitor.clients, `dead-${names}`);
  const { sqs } = visitor.clients;
  return new SqsManifestQueue({ sqs, queueUrl, deadLetterUrl, store, ...options });
}

/** Until nothing comes. */
async function receiveAll(queue: SqsManifestQueue): Promise<ReceivedManifest[]> {
  const received: ReceivedManifest[] = [];
  for (;;) {
    const deliveries = await queue.receive(0);
    if (deliveries.length === 0) return received;
    received.push(...deliveries);
  }
}

const messages = (name = "manifests") => cloud.sqs.storage.queue(`${name}-${names}`).messages;

function source(number: number, key = `car/${number}.pcap`): ManifestSource {
  const id = number.toString(16).padStart(32, "0");
  const capture = `s3://captures/${key}`;
  return { id, capture, bucket: "captures", key, eTag: "e", size: number, packets: 1 };
}

function manifest(sources: number, batchId = "batch-1"): Manifest {
  const stats = '{"numRecords":1}';
  return {
    manifestVersion: 1,
    batchId,
    createdMs: 5,
    files: [{ path: "date=2026-01-02/a.parquet", size: 1, partitionValues: { date: null }, rows: 1, stats }],
    sources: Array.from({ length: sources }, (_, i) => source(i)),
  };
}

describe("manifests", () => {
  test("arrive as they were sent, with the time of sending", async () => {
    const queue = await openQueue();
    const sent = manifest(3);
    await queue.send(sent);
    const [received] = await queue.receive(0);
    expect(parseManifest(received!.text)).toEqual(sent);
    expect(received!.sentMs).toBe(clock.now());
  });

  test("larger than a message lie below _manifests/ and are sent by reference", async () => {
    const queue = await openQueue();
    const sent = manifest(3_000);
    await queue.send(sent);
    // A send whose reply was lost is repeated by the caller: the object may be there.
    await queue.send(sent);
    expect(messages().map(({ body }) => body)).toEqual(
      Array(2).fill('{"reference":"_manifests/batch-1.json"}'),
    );
    expect(parseManifest((await queue.receive(0))[0]!.text)).toEqual(sent);
  });

  test("just as large as a message allows need no reference", async () => {
    const sent = manifest(1);
    const bytes = Buffer.byteLength(JSON.stringify(sent));
    await (await openQueue({ messageBytes: bytes })).send(sent);
    expect(messages()[0]!.body).not.toContain("reference");
    await (await openQueue({ messageBytes: bytes - 1 })).send(sent);
    expect(messages()[0]!.body).toContain("reference");
  });

  test("with characters that SQS refuses arrive unchanged", async () => {
    const queue = await openQueue();
    const sent = { ...manifest(0), sources: [source(1, "car/\uFFFE\uFFFF\u0001\t\u{1f600}ä.pcap")] };
    await queue.send(sent);
    expect(parseManifest((await queue.receive(0))[0]!.text)).toEqual(sent);
  });

  test("a reference whose object is gone says which object that is", async () => {
    const queue = await openQueue();
    cloud.sqs.storage.queue(`manifests-${names}`).send('{"reference":"_manifests/gone.json"}');
    const [delivery] = await queue.receive(0);
    expect(delivery?.unread?.isGone).toBe(true);
    expect(delivery?.unread?.reason).toMatch(
      /^_manifests\/gone\.json, .* does not exist .* deltacap backfill/,
    );
  });

  test("a reference that no converter wrote is handed out as it is, and nothing is read", async () => {
    const queue = await openQueue();
    const bodies = [
      '{"reference":"_delta_log/00000000000000000000.json"}',
      '{"reference":"_manifests/../secret.json"}',
      '{"reference":5}',
      '"reference"',
      "null",
      "{",
    ];
    for (const body of bodies) cloud.sqs.storage.queue(`manifests-${names}`).send(body);
    expect((await queue.receive(0)).map(({ text }) => text)).toEqual(bodies);
    expect(visitor.faults.count("s3:GetObject")).toBe(0);
  });

  test("a reference that cannot be read now costs only its own delivery", async () => {
    const queue = await openQueue({ messageBytes: 500 });
    await queue.send(manifest(9, "large"));
    await queue.send(manifest(0, "small"));
    visitor.faults.plan({
      operation: "s3:GetObject",
      times: 9,
      effect: { kind: "refuse", status: 500, code: "E" },
    });
    const [large, small] = await queue.receive(0);
    expect(large).toMatchObject({
      unread: { reason: expect.stringContaining("500") as string, isGone: false },
      receives: 1,
    });
    expect(small?.unread).toBeUndefined();
    expect(small?.text).toContain('"small"');
    await queue.release([large!]);
    visitor.faults.forget();
    const [again] = await queue.receive(0);
    expect(again).toMatchObject({ receives: 2 });
    expect(parseManifest(again!.text).batchId).toBe("large");
  });
});

describe("receiving", () => {
  test("takes ten in one request", async () => {
    const queue = await openQueue();
    for (let i = 0; i < 15; i++) await queue.send(manifest(1, `b${i}`));
    expect(await queue.receive(0)).toHaveLength(10);
    expect(await queue.receive(0)).toHaveLength(5);
    expect(visitor.faults.count("sqs:ReceiveMessage")).toBe(2);
  });

  test("waits for a message that comes late, and no longer than it was told", async () => {
    const queue = await openQueue();
    const waiting = queue.receive(20);
    await clock.waiting(1);
    await queue.send(manifest(1));
    expect(await waiting).toHaveLength(1);
    const inVain = queue.receive(20);
    await clock.waiting(1);
    clock.advance(20_000);
    expect(await inVain).toEqual([]);
  });

  test("fails when SQS refuses, and when it does not answer", async () => {
    const queue = await openQueue();
    const refusal = { kind: "refuse", status: 403, code: "AccessDeniedException" } as const;
    visitor.faults.plan({ operation: "sqs:ReceiveMessage", effect: refusal });
    await expect(queue.receive(0)).rejects.toThrow("cannot receive manifests: AccessDeniedException");
    visitor.faults.plan({ operation: "sqs:ReceiveMessage", times: 99, effect: { kind: "disconnect" } });
    await expect(queue.receive(0)).rejects.toThrow(RetryableError);
  });
});

describe("acknowledging", () => {
  test("removes all, ten a call", async () => {
    const queue = await openQueue();
    for (let i = 0; i < 25; i++) await queue.send(manifest(1, `b${i}`));
    await queue.acknowledge(await receiveAll(queue));
    expect(messages()).toEqual([]);
    expect(visitor.faults.count("sqs:DeleteMessageBatch")).toBe(3);
    await queue.acknowledge([]);
    expect(visitor.faults.count("sqs:DeleteMessageBatch")).toBe(3);
  });

  test("tries entries again that failed, and those that the answer left out", async () => {
    const queue = await openQueue();
    for (let i = 0; i < 10; i++) await queue.send(manifest(1, `b${i}`));
    let asked = 0;
    cloud.sqs.failEntry = () => {
      asked++;
      if (asked % 3 === 0) return { code: "InternalError", senderFault: false };
      return asked % 4 === 0 ? "drop" : null;
    };
    await queue.acknowledge(await receiveAll(queue));
    expect(messages()).toEqual([]);
    expect(visitor.faults.count("sqs:DeleteMessageBatch")).toBeGreaterThan(1);
  });

  test("fails when one entry cannot be removed, without a second attempt where it is our fault", async () => {
    const queue = await openQueue();
    for (let i = 0; i < 3; i++) await queue.send(manifest(1, `b${i}`));
    cloud.sqs.failEntry = (_, entry) =>
      entry.Id === "1" ? { code: "ReceiptHandleIsInvalid", senderFault: true } : null;
    const failed = queue.acknowledge(await queue.receive(0));
    await expect(failed).rejects.toThrow(RetryableError);
    await expect(failed).rejects.toThrow("1 of 3 entries failed: ReceiptHandleIsInvalid");
    expect(visitor.faults.count("sqs:DeleteMessageBatch")).toBe(1);
  });

  test("a lost reply is asked again, and deleting twice is deleting", async () => {
    const queue = await openQueue();
    await queue.send(manifest(1));
    visitor.faults.plan({ operation: "sqs:DeleteMessageBatch", effect: { kind: "lose reply" } });
    await queue.acknowledge(await receiveAll(queue));
    expect(messages()).toEqual([]);
  });
});

describe("releasing", () => {
  test("makes deliveries visible at once, and never throws", async () => {
    const queue = await openQueue();
    await queue.send(manifest(1));
    const deliveries = await queue.receive(0);
    expect(await queue.receive(0)).toEqual([]);
    await queue.release(deliveries);
    expect(await queue.receive(0)).toHaveLength(1);
    const operation = "sqs:ChangeMessageVisibilityBatch";
    visitor.faults.plan({ operation, times: 99, effect: { kind: "disconnect" } });
    await queue.release(deliveries);
  });
});

describe("dead letters", () => {
  test("carry the reason, and leave the queue only once they are safe", async () => {
    const queue = await openQueue();
    cloud.sqs.storage.queue(`manifests-${names}`).send("no manifest");
    const [delivery] = await queue.receive(0);
    visitor.faults.plan({ operation: "sqs:SendMessage", times: 9, effect: { kind: "disconnect" } });
    await expect(queue.deadLetter(delivery!, "no JSON: \u0000 \uD800")).rejects.toThrow(RetryableError);
    expect(messages()).toHaveLength(1);
    visitor.faults.forget();
    await queue.deadLetter(delivery!, "no JSON: \u0000 \uD800");
    expect(messages()).toEqual([]);
    const reason = "no JSON: \uFFFD \uFFFD";
    expect(messages("dead")).toMatchObject([{ body: "no manifest", attributes: { reason } }]);
  });

  test("of any size are taken, with a reason of any length", async () => {
    const queue = await openQueue();
    const sent = manifest(3_000);
    await queue.send(sent);
    const [delivery] = await queue.receive(0);
    await queue.deadLetter(delivery!, "x".repeat(500_000));
    const [letter] = messages("dead");
    const { reference } = JSON.parse(letter!.body) as { reference: string };
    expect(parseManifest(new TextDecoder().decode((await store.read(reference))!))).toEqual(sent);
    expect(letter!.attributes.reason).toBe("x".repeat(1_000));
    await queue.send(manifest(1));
    await queue.deadLetter((await queue.receive(0))[0]!, "");
    expect(messages("dead")).toHaveLength(2);
  });
});

describe("captures sent back", () => {
  const rules = {
    buckets: new Set(["captures"]),
    table: { bucket: BUCKET, prefix: "table" },
    keyPattern: new KeyPattern("{vehicle_id}/**"),
  };

  test("are announced as S3 does it: the converter reads the very same sources", async () => {
    const queueUrl = await createQueue(visitor.clients, `captures-${names}`);
    const keys = ["car/a b.pcap", "car/a+b%20c.pcap", "car/ü/\u{1f600}'()!*~.pcap", "car/\uFFFF&=?#.pcap"];
    const sources = [...keys.map((key, i) => source(i, key)), { ...source(9), versionId: "v1" }];
    await new SqsCaptureQueue(visitor.clients.sqs, queueUrl).send(sources);
    const read = messages("captures").flatMap(({ body }) => parseCaptureMessage(body, rules).sources);
    expect(read).toEqual(
      sources.map(({ capture, bucket, key, versionId, eTag, size }) => ({
        capture,
        bucket,
        key,
        ...(versionId === undefined ? {} : { versionId }),
        eTag,
        size,
        vehicleId: "car",
      })),
    );
  });

  test("of any number are sent ten a call, every one of them", async () => {
    const queueUrl = await createQueue(visitor.clients, `captures-${names}`);
    const sources = Array.from({ length: 101 }, (_, i) => source(i, `car/${"x".repeat(900)}${i}`));
    let asked = 0;
    cloud.sqs.failEntry = () => (++asked % 7 === 0 ? { code: "InternalError", senderFault: false } : null);
    await new SqsCaptureQueue(visitor.clients.sqs, queueUrl).send(sources);
    expect(messages("captures")).toHaveLength(101);
  });

  test("that cannot be sent are an error", async () => {
    const queueUrl = await createQueue(visitor.clients, `captures-${names}`);
    const queue = new SqsCaptureQueue(visitor.clients.sqs, `${queueUrl}-other`);
    await expect(queue.send([source(1)])).rejects.toThrow("the queue in the settings does not exist");
    await expect(queue.send([source(1)])).rejects.toThrow(RetryableError);
  });
});

describe("the queue's own rules, on which the adapters count", () => {
  test("a delivery is invisible, comes again after its time, and ends in the dead letter queue", async () => {
    const { sqs } = visitor.clients;
    await createQueue(visitor.clients, `dlq-${names}`);
    const deadLetterTargetArn = `arn:aws:sqs:x:0:dlq-${names}`;
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 });
    const attributes = { RedrivePolicy, VisibilityTimeout: "60" };
    const QueueUrl = await createQueue(visitor.clients, `work-${names}`, attributes);
    cloud.sqs.storage.queue(`work-${names}`).send("poison");
    const receive = async () => (await sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages;
    for (let delivery = 1; delivery <= 2; delivery++) {
      expect(await receive()).toHaveLength(1);
      expect(await receive()).toBeUndefined();
      const asked = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] });
      const { Attributes } = await sqs.send(asked);
      expect(Attributes?.ApproximateNumberOfMessagesNotVisible).toBe("1");
      clock.advance(60_000);
    }
    expect(await receive()).toBeUndefined();
    expect(messages("dlq").map(({ body }) => body)).toEqual(["poison"]);
  });
});
