import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readableFiles } from "../../../cli/tables/live-files.ts";
import { sendMessage } from "../../../src/aws/sqs-message.ts";
import { Cloud } from "../../support/aws/cloud.ts";
import { jsonLines, TestStack } from "../../support/aws/test-stack.ts";
import { filling, pcap } from "../../support/captures/capture-builder.ts";

let cloud: Cloud;
beforeAll(async () => {
  cloud = await Cloud.start();
});
afterAll(() => cloud.close());

const capture = (byte: number) =>
  pcap({}, [{ seconds: 1_772_352_000, fraction: 0, bytes: filling(60, byte) }]);

async function retried(stack: TestStack, ...argv: string[]) {
  const { code, out, err } = await stack.deltacap("retry", ...argv, "--json");
  return { code, err, result: out === "" ? null : jsonLines(out)[0] };
}

describe("retry --dead-letters", () => {
  const send = async (stack: TestStack, to: "captureDeadLetterUrl" | "manifestDeadLetterUrl", body: string) =>
    await sendMessage(stack.stack.clients.sqs, stack.stack.settings[to], body, { reason: "a test" }, "");
  const bodies = (stack: TestStack, queue: string) =>
    stack.deployment
      .messages(queue)
      .map(({ body }) => body)
      .sort();

  test("moves each queue's messages to where they came from, and tells why they had been set aside", async () => {
    const stack = await TestStack.open(cloud, "dead-letters");
    const { settings } = stack.stack;
    const messages = Array.from({ length: 12 }, (_, i) => `capture ${i}`).sort();
    for (const body of messages) await send(stack, "captureDeadLetterUrl", body);
    await send(stack, "manifestDeadLetterUrl", "manifest");
    stack.laterMs = 1_000;
    const { code, result } = await retried(stack, "--dead-letters");
    expect([code, result]).toEqual([
      0,
      { moved: { captures: 12, manifests: 1 }, left: 0, reasons: { "a test": 13 } },
    ]);
    expect(bodies(stack, settings.captureQueueUrl)).toEqual(messages);
    expect(bodies(stack, settings.manifestQueueUrl)).toEqual(["manifest"]);
    expect(bodies(stack, settings.captureDeadLetterUrl)).toEqual([]);
    expect(bodies(stack, settings.manifestDeadLetterUrl)).toEqual([]);
  });

  test("leaves what was set aside after it began: else what comes back at once would be moved for ever", async () => {
    const stack = await TestStack.open(cloud, "dead-letters-later");
    stack.laterMs = -60_000;
    await send(stack, "captureDeadLetterUrl", "new");
    const { result } = await retried(stack, "--dead-letters");
    expect(result).toMatchObject({ moved: { captures: 0 }, left: 1 });
    const [message] = stack.deployment.messages(stack.stack.settings.captureDeadLetterUrl);
    expect(message?.body).toBe("new");
  });

  test("keeps in the dead letter queue what the other queue did not take, and exits 3", async () => {
    const stack = await TestStack.open(cloud, "dead-letters-refused");
    await send(stack, "captureDeadLetterUrl", "kept");
    stack.laterMs = 1_000;
    cloud.sqs.failEntry = (operation) =>
      operation === "SendMessageBatch" ? { code: "InternalError", senderFault: true } : null;
    try {
      const { code, err } = await retried(stack, "--dead-letters");
      expect(code).toBe(3);
      expect(err).toContain("cannot send messages to");
    } finally {
      cloud.sqs.failEntry = () => null;
    }
    expect(bodies(stack, stack.stack.settings.captureDeadLetterUrl)).toEqual(["kept"]);
  });
});

describe("retry of one capture", () => {
  test("announces it as S3 would, whatever its key, and the converter takes it", async () => {
    const stack = await TestStack.open(cloud, "retry");
    await stack.deployment.upload("car 1/ü+%.pcap", capture(1));
    const { code, result } = await retried(stack, `s3://${stack.bucket}/car 1/ü+%.pcap`);
    expect([code, result]).toMatchObject([0, { announced: true, status: "unknown" }]);
    expect(stack.announced()).toEqual(["car 1/ü+%.pcap"]);
    const [message] = stack.deployment.messages(stack.stack.settings.captureQueueUrl);
    await stack.ingestAnnounced([{ messageId: "1", body: message?.body ?? "" }]);
    expect(await readableFiles(stack.table.log)).toMatchObject([{ rows: 1 }]);
  });

  test("leaves a committed one alone", async () => {
    const stack = await TestStack.open(cloud, "retry-committed");
    await stack.ingest({ "car-1/a.pcap": capture(1) });
    const { code, result } = await retried(stack, `s3://${stack.bucket}/car-1/a.pcap`);
    expect([code, result]).toMatchObject([0, { announced: false, status: "committed" }]);
    expect(stack.announced()).toEqual([]);
  });

  test("that is gone exits 1, and one of a bucket that the stack does not know is wrong use", async () => {
    const stack = await TestStack.open(cloud, "retry-gone");
    expect(await retried(stack, `s3://${stack.bucket}/a`)).toMatchObject({ code: 1 });
    expect(await retried(stack, "s3://another-bucket/a")).toMatchObject({ code: 2 });
    expect(await retried(stack)).toMatchObject({ code: 2 });
    expect(await retried(stack, `s3://${stack.bucket}/a`, "--dead-letters")).toMatchObject({ code: 2 });
  });
});

describe("retry --again", () => {
  test("is refused while the rows are in the file that was committed, or in one that it was merged into", async () => {
    const stack = await TestStack.open(cloud, "again-live");
    await stack.ingest({ "car-1/a.pcap": capture(1) });
    await stack.ingest({ "car-1/b.pcap": capture(2) });
    const uri = `s3://${stack.bucket}/car-1/a.pcap`;
    const before = await retried(stack, uri, "--again");
    expect(before.code).toBe(3);
    expect(before.err).toContain("it would be there twice");
    await stack.optimize();
    expect(await readableFiles(stack.table.log)).toHaveLength(1);
    expect((await retried(stack, uri, "--again")).err).toContain("it would be there twice");
    expect(stack.announced()).toEqual([]);
    const traced = jsonLines((await stack.deltacap("trace", uri, "--json")).out);
    expect(traced).toMatchObject([{ status: "committed", told_by: "ledger" }]);
  });

  test.each(["before", "after"])(
    "sends a capture whose rows were deleted; then it is ingested once more, and only once: %s the committer knew",
    async (when) => {
      const stack = await TestStack.open(cloud, `again-${when}`);
      await stack.ingest({ "car-1/a.pcap": capture(1), "car-2/b.pcap": capture(2) });
      await stack.forget("car-1");
      const uri = `s3://${stack.bucket}/car-1/a.pcap`;
      expect((await retried(stack, uri)).result).toMatchObject({ announced: false });
      if (when === "after") {
        // The committer's next run reads of it in the log.
        await stack.ingest({ "car-3/c.pcap": capture(3) });
        const { result } = await retried(stack, uri);
        expect(result?.text).toContain("its vehicle was forgotten in version 2");
        const traced = await stack.deltacap("trace", uri);
        expect([traced.code, traced.out]).toEqual([1, expect.stringContaining("forgotten in version 2")]);
      }
      const { code, result } = await retried(stack, uri, "--again");
      expect([code, result]).toMatchObject([0, { announced: true, status: "committed" }]);
      const [message] = stack.deployment.messages(stack.stack.settings.captureQueueUrl);
      const delivery = { messageId: "1", body: message?.body ?? "" };
      await stack.ingestAnnounced([delivery]);
      await stack.ingestAnnounced([delivery]);
      const rows = (await readableFiles(stack.table.log)).reduce((sum, file) => sum + (file.rows ?? 0), 0);
      expect(rows).toBe(when === "after" ? 3 : 2);
    },
  );
});

test("retry of a capture that the ledger has forgotten, and the log has not, leaves it alone", async () => {
  const stack = await TestStack.open(cloud, "retry-forgotten");
  const version = await stack.ingest({ "car-1/a.pcap": capture(1) });
  const { settings } = stack.stack;
  Object.assign(stack.stack, { settings: { ...settings, ledgerTable: "ledger" } });
  stack.laterMs = (settings.ledgerDays + 1) * 86_400_000;
  const { code, out } = await stack.deltacap("retry", `s3://${stack.bucket}/car-1/a.pcap`);
  expect(code).toBe(0);
  expect(out).toContain(`committed in version ${version}: nothing was sent`);
  expect(stack.announced()).toEqual([]);
});
