import { RetryableError } from "@deltacap/delta";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diagnose, type Finding, type Resources } from "../../../cli/stack/diagnosis.ts";
import { AccountResources } from "../../../src/aws/account-resources.ts";
import { sendMessage } from "../../../src/aws/sqs-message.ts";
import { Cloud, createQueue, LOG_TABLE } from "../../support/aws/cloud.ts";
import { jsonLines, TestStack } from "../../support/aws/test-stack.ts";
import { filling, pcap } from "../../support/captures/capture-builder.ts";

let cloud: Cloud;
let stack: TestStack;
beforeAll(async () => {
  cloud = await Cloud.start();
  stack = await TestStack.open(cloud, "doctor");
  await stack.ingest({ "car-1/a.pcap": pcap({}, [{ seconds: 1, fraction: 0, bytes: filling(60) }]) });
});
afterAll(() => cloud.close());

const arnOf = (url: string) => `arn:${url.split("/").at(-1)}`;

/** Resources as `cdk deploy` makes them. */
function healthy(of: TestStack): Resources {
  const { captureQueueUrl, captureDeadLetterUrl, manifestDeadLetterUrl, ledgerTable } = of.stack.settings;
  return {
    bucket: async () => ({ versioned: true, kms: false }),
    notifications: async () => ({ queues: [arnOf(captureQueueUrl)], topics: [], eventBridge: false }),
    queue: async (url) => ({
      arn: arnOf(url),
      visibilitySeconds: 1_805,
      retentionSeconds: 14 * 86_400,
      messageBytes: 262_144,
      deadLetterArn: arnOf(url === captureQueueUrl ? captureDeadLetterUrl : manifestDeadLetterUrl),
      maxReceiveCount: 1_000,
    }),
    table: async (name) => ({
      keys: name === ledgerTable ? ["sourceId HASH S"] : ["tablePath HASH S", "fileName RANGE S"],
      ttlAttribute: "expireTime",
    }),
    hasCommits: async () => false,
  };
}

const notOk = (findings: readonly Finding[]) => findings.filter(({ state }) => state !== "ok");
const withChanged = async (changed: Partial<Resources>) =>
  notOk(await diagnose(stack.stack, { ...healthy(stack), ...changed }));

test("doctor finds nothing wrong with a stack as it is deployed, and no check is left out", async () => {
  const findings = await diagnose(stack.stack, healthy(stack));
  expect(notOk(findings)).toEqual([]);
  expect(findings.map(({ check }) => check)).toEqual([
    `capture bucket ${stack.bucket}`,
    `notification of ${stack.bucket}`,
    "capture queue",
    "manifest queue",
    "dead letters",
    "table bucket",
    "table",
    "log store",
    "scheme",
    "ledger",
    "pipeline",
    "commits",
  ]);
});

describe("doctor finds", () => {
  test.each<[string, Partial<Resources>, string, string]>([
    [
      "KMS where content is not hashed",
      { bucket: async () => ({ versioned: true, kms: true }) },
      "capture bucket",
      "captureKeyArn",
    ],
    [
      "a bucket that announces nothing",
      { notifications: async () => ({ queues: ["arn:another"], topics: [], eventBridge: false }) },
      "notification of",
      "backfill",
    ],
    ["commits under the other scheme", { hasCommits: async () => true }, "scheme", "tableScheme"],
    [
      "a log store table without its range key",
      { table: async () => ({ keys: ["tablePath HASH S"], ttlAttribute: "expireTime" }) },
      "log store",
      "Spark's log store",
    ],
  ])("%s", async (_, changed, check, advice) => {
    const [finding] = (await withChanged(changed)).filter((found) => found.check.startsWith(check));
    expect(finding?.state).toBe("problem");
    expect(finding?.advice).toContain(advice);
  });

  test("each thing that is wrong with a queue", async () => {
    const facts = {
      arn: "arn:x",
      visibilitySeconds: 30,
      retentionSeconds: 3_600,
      messageBytes: 1_024,
      deadLetterArn: null,
      maxReceiveCount: 0,
    };
    const found = await withChanged({ queue: async () => facts });
    const { found: text = "" } = found.find(({ check }) => check === "manifest queue") ?? {};
    for (const part of ["to nowhere", "after 0 deliveries", "after 30 s", "after 60 min", "of 1024 bytes"])
      expect(text).toContain(part);
  });

  test("a ledger whose items never expire", async () => {
    const { table } = healthy(stack);
    const found = await withChanged({
      table: async (name) => ({ ...(await table(name)), ttlAttribute: null }),
    });
    expect(found.map(({ check }) => check)).toEqual(["log store", "ledger"]);
  });

  test("dead letters, a paused pipeline, and manifests that nobody commits", async () => {
    const sick = await TestStack.open(cloud, "doctor-sick");
    const { clients, settings, pipeline } = sick.stack;
    await sendMessage(clients.sqs, settings.captureDeadLetterUrl, "x", {}, "");
    await sendMessage(clients.sqs, settings.manifestQueueUrl, "x", {}, "");
    await pipeline.switchCommitter(false);
    const found = notOk(await diagnose(sick.stack, healthy(sick)));
    expect(found.map(({ check }) => check)).toEqual(["dead letters", "pipeline", "commits"]);
  });

  test("a table of another purpose", async () => {
    const other = await TestStack.open(cloud, "doctor-sales");
    const log = cloud.s3.storage.bucket("lake");
    const body = log.current("doctor/_delta_log/00000000000000000000.json")?.body.toString() ?? "";
    const renamed = body.replaceAll('\\"vehicle_id\\"', '\\"shop\\"');
    log.put("doctor-sales/_delta_log/00000000000000000000.json", new TextEncoder().encode(renamed), {});
    const found = notOk(await diagnose(other.stack, healthy(other)));
    expect(found.map(({ check }) => check)).toEqual(["table"]);
    expect(found[0]?.found).toContain("is not a packets table: it lacks columns vehicle_id");
  });

  test("a ledger that is ahead of its log, and a table that asks for more than we do", async () => {
    const other = await TestStack.open(cloud, "doctor-other");
    await other.ledger.advanceWatermark({ version: 7 });
    const log = cloud.s3.storage.bucket("lake");
    const body = log.current("doctor/_delta_log/00000000000000000000.json")?.body.toString() ?? "";
    const strict = body.replace(
      '"minWriterVersion":2',
      '"minWriterVersion":7,"writerFeatures":["rowTracking"]',
    );
    log.put("doctor-other/_delta_log/00000000000000000000.json", new TextEncoder().encode(strict), {});
    const found = notOk(await diagnose(other.stack, healthy(other)));
    expect(found.map(({ check }) => check)).toEqual(["table", "ledger"]);
    expect(found[0]?.found).toContain("rowTracking");
    expect(found[1]?.found).toContain("complete up to version 7, and the log ends at 0");
  });
});

test("an existing bucket that does not exist is a problem with its setting named", async () => {
  const found = await withChanged({ bucket: async () => null });
  expect(found).toMatchObject([
    { check: `capture bucket ${stack.bucket}`, advice: expect.stringContaining("captureBucket") as string },
    { check: "table bucket", advice: expect.stringContaining("tableBucket") as string },
  ]);
  for (const { state, found: what } of found) {
    expect(state).toBe("problem");
    expect(what).toContain("does not exist");
  }
});

test("a check that is not permitted is told as not carried out, and the others are", async () => {
  const denied = () => Promise.reject(new RetryableError("s3:GetBucketNotification failed: AccessDenied"));
  expect(await withChanged({ notifications: denied })).toEqual([
    {
      check: `notification of ${stack.bucket}`,
      state: "unknown",
      found: "s3:GetBucketNotification failed: AccessDenied",
    },
  ]);
});

test("the account tells buckets, notifications, queues and tables", async () => {
  const { clients, settings } = stack.stack;
  const resources = new AccountResources(clients);
  const bucket = cloud.s3.storage.bucket(stack.bucket);
  expect(await resources.bucket(stack.bucket)).toEqual({ versioned: false, kms: false });
  expect(await resources.bucket("nobody-made-this")).toBe(null);
  Object.assign(bucket, { versioned: true, encryption: "aws:kms" });
  expect(await resources.bucket(stack.bucket)).toEqual({ versioned: true, kms: true });
  const none = { queues: [], topics: [], eventBridge: false };
  expect(await resources.notifications(stack.bucket)).toEqual(none);
  bucket.notifications =
    "<QueueConfiguration><Id>1</Id><Queue>arn:q</Queue><Event>s3:ObjectCreated:*</Event></QueueConfiguration><QueueConfiguration><Id>2</Id><Queue>arn:r</Queue><Event>s3:ObjectRemoved:*</Event></QueueConfiguration><EventBridgeConfiguration/>";
  expect(await resources.notifications(stack.bucket)).toEqual({
    queues: ["arn:q"],
    topics: [],
    eventBridge: true,
  });
  const redrive = { deadLetterTargetArn: "arn:aws:sqs:eu-central-1:000000000000:dead", maxReceiveCount: 10 };
  const url = await createQueue(clients, "with-redrive", {
    VisibilityTimeout: "220",
    RedrivePolicy: JSON.stringify(redrive),
  });
  expect(await resources.queue(url)).toMatchObject({
    arn: "arn:aws:sqs:eu-central-1:000000000000:with-redrive",
    visibilitySeconds: 220,
    messageBytes: 262_144,
    deadLetterArn: redrive.deadLetterTargetArn,
    maxReceiveCount: 10,
  });
  expect(await resources.table(LOG_TABLE)).toEqual({
    keys: ["tablePath HASH S", "fileName RANGE S"],
    ttlAttribute: null,
  });
  expect(await resources.hasCommits(LOG_TABLE, "s3a://lake/doctor")).toBe(true);
  expect(await resources.hasCommits(LOG_TABLE, "s3://lake/doctor")).toBe(false);
  await expect(resources.table(`${settings.ledgerTable}-gone`)).rejects.toThrow("dynamodb:DescribeTable");
});

test("doctor prints a line a check, and exits 3 when something is wrong", async () => {
  const { code, out } = await stack.deltacap("doctor");
  expect(code).toBe(3);
  expect(out).toMatch(/^PROBLEM +capture queue: dead letters go to nowhere/m);
  expect(out).toMatch(/^OK +pipeline: converter and committer are on$/m);
  const lines = jsonLines((await stack.deltacap("doctor", "--json")).out);
  expect(lines).toHaveLength(13);
  expect(lines.at(-1)).toMatchObject({ unknown: 0 });
});
