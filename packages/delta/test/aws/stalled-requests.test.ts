import { ReceiveMessageCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { commitBody } from "../../../../test/conformance/log-store.ts";
import {
  BUCKET,
  Cloud,
  createQueue,
  LOG_TABLE,
  quickClients,
  type Visitor,
} from "../../../../test/support/aws/cloud.ts";
import { LogWorld } from "../../../../test/support/aws/log-world.ts";
import { DynamoDbLogStore } from "../../src/aws/dynamodb-log-store.ts";
import { replyTimeout } from "../../src/aws/reply-timeout.ts";
import { S3ObjectStore } from "../../src/aws/s3-object-store.ts";
import { RetryableError } from "../../src/errors.ts";

/** Milliseconds. */
const FIRST_REPLY = 200;

describe("how long a reply may take to begin", () => {
  const request = { method: "PUT", headers: {} };

  test("two seconds at first, and twice as long with each attempt", () => {
    const limits = [1, 2, 3, 4, 5].map((attempt) =>
      replyTimeout({ ...request, headers: { "amz-sdk-request": `attempt=${attempt}; max=5` } }),
    );
    expect(limits).toEqual([2_000, 4_000, 8_000, 16_000, 20_000]);
  });

  test("a second more for each megabyte that is sent", () => {
    const headers = { "content-length": String(8 * 1024 * 1024) };
    expect(replyTimeout({ ...request, headers })).toBe(10_000);
  });

  test("twenty seconds for requests that S3 works on before it answers", () => {
    for (const query of [{ delete: "" }, { uploadId: "id" }])
      expect(replyTimeout({ method: "POST", headers: {}, query })).toBe(20_000);
  });

  test("a long poll's wait is added", () => {
    const headers = { "x-amz-target": "AmazonSQS.ReceiveMessage" };
    const body = (text: string) => new TextEncoder().encode(text);
    expect(replyTimeout({ method: "POST", headers, body: body('{"WaitTimeSeconds":20}') })).toBe(22_000);
    expect(replyTimeout({ method: "POST", headers, body: body("{}") })).toBe(2_000);
  });
});

describe("a request that stalls is sent again", () => {
  let cloud: Cloud;
  let visitor: Visitor;
  let clients: Visitor["clients"];
  beforeAll(async () => {
    cloud = await Cloud.start();
    visitor = await cloud.enter();
    clients = quickClients(visitor.urls, { firstReply: FIRST_REPLY });
  });
  beforeEach(() => visitor.faults.forget());
  afterAll(async () => {
    for (const client of Object.values(clients)) client.destroy();
    await cloud.close();
  });

  test.each([
    ["s3:PutObject", "/.tmp/"],
    ["s3:PutObject", "_delta_log/0000"],
    ["dynamodb:PutItem", ""],
    ["dynamodb:UpdateItem", ""],
    ["dynamodb:Query", ""],
    ["s3:HeadObject", ""],
    ["s3:ListObjectsV2", ""],
  ])("%s about %j of a commit", async (operation, about) => {
    const world = new LogWorld(cloud);
    const store = new S3ObjectStore(clients.s3, world.location);
    const open = () =>
      new DynamoDbLogStore({
        dynamodb: clients.dynamodb,
        logTable: LOG_TABLE,
        store,
        tablePath: world.location.tablePath,
        now: Date.now,
        newId: () => crypto.randomUUID(),
      });
    await open().commit(0, commitBody("zero"));
    visitor.faults.plan({ operation, about, effect: { kind: "silence" } });
    const log = open();
    expect(await log.commit(1, commitBody("one"))).toBe("committed");
    await log.settled();
    expect(visitor.faults.unused).toEqual([]);
    expect(world.versions()).toHaveLength(2);
    expect(await world.incompleteItems()).toEqual([]);
  });

  test("a body that stalls is read again", async () => {
    const store = new S3ObjectStore(
      clients.s3,
      { bucket: BUCKET, prefix: "stalled" },
      { idleTimeout: FIRST_REPLY },
    );
    const bytes = new Uint8Array(100_000).fill(7);
    await store.put("object", bytes);
    visitor.faults.plan({ operation: "s3:GetObject", effect: { kind: "stall", bytes: 10_000 } });
    expect(Buffer.compare((await store.read("object")) ?? Buffer.of(), bytes)).toBe(0);
    expect(visitor.faults.count("s3:GetObject")).toBe(2);
  });

  test("a body that always stalls is a failure that says so", async () => {
    const store = new S3ObjectStore(
      clients.s3,
      { bucket: BUCKET, prefix: "stalled" },
      { idleTimeout: FIRST_REPLY },
    );
    await store.put("object", new Uint8Array(1_000));
    visitor.faults.plan({ operation: "s3:GetObject", times: 4, effect: { kind: "stall", bytes: 10 } });
    const read = store.read("object");
    await expect(read).rejects.toThrow(RetryableError);
    await expect(read).rejects.toThrow(`no byte came for ${FIRST_REPLY} ms`);
  });

  test("SQS's requests, and not its long polls", async () => {
    const QueueUrl = await createQueue(clients, "stalled");
    visitor.faults.plan({ operation: "sqs:SendMessage", effect: { kind: "silence" } });
    await clients.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: "sent" }));
    expect(visitor.faults.count("sqs:SendMessage")).toBe(2);
    // The second call waits its full second: only a limit without the long poll's wait would end it.
    const receive = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 1, MaxNumberOfMessages: 10 });
    await clients.sqs.send(receive);
    await clients.sqs.send(receive);
    expect(visitor.faults.count("sqs:ReceiveMessage")).toBeLessThan(6);
  });
});
