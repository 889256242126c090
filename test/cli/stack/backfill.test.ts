import { afterAll, beforeAll, describe, expect, test } from "vitest";
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

/** What the command counted, without what is 0. */
async function backfilled(stack: TestStack, ...argv: string[]) {
  const { code, out } = await stack.deltacap("backfill", `s3://${stack.bucket}/`, ...argv, "--json");
  const counts = Object.entries(jsonLines(out).at(-1) ?? {}).filter(([, value]) => value !== 0);
  return { code, ...(Object.fromEntries(counts) as Record<string, unknown>) };
}

const DAY = 86_400_000;

/** A stack with captures that are in the table, rejected, empty, and only uploaded. */
async function halfIngested(name: string) {
  const stack = await TestStack.open(cloud, name);
  await stack.ingest({
    "car-1/known.pcap": capture(1),
    "car-1/notes.txt": new TextEncoder().encode("these are notes, and no packets"),
    "car-1/empty.pcap": pcap({}, []),
  });
  await stack.deployment.upload("car-1/", new Uint8Array());
  await stack.deployment.upload("car-1/new 1+.pcap", capture(2));
  await stack.deployment.upload("car-2/new.pcap", capture(3));
  return stack;
}

describe("backfill", () => {
  test("announces what neither table nor ledger knows, and counts the rest", async () => {
    const stack = await halfIngested("backfill");
    expect(await backfilled(stack)).toEqual({
      code: 0,
      listed: 6,
      committed: 1,
      empty: 1,
      rejected: 1,
      passed_over: 1,
      announced: 2,
      dry_run: false,
    });
    expect(stack.announced()).toEqual(["car-1/new 1+.pcap", "car-2/new.pcap"]);
  });

  test("whose announcements are worked on leaves nothing for a second one", async () => {
    const stack = await halfIngested("backfill-twice");
    await stack.deltacap("backfill", `s3://${stack.bucket}/car-2`);
    const messages = stack.deployment.messages(stack.stack.settings.captureQueueUrl);
    await stack.ingestAnnounced(messages.map(({ id, body }) => ({ messageId: id, body })));
    expect(await backfilled(stack, "--dry-run")).toMatchObject({ committed: 2, announced: 1 });
  });

  test("with --dry-run names what it would announce, and announces nothing", async () => {
    const stack = await halfIngested("backfill-dry");
    const { out } = await stack.deltacap("backfill", `s3://${stack.bucket}/car-1`, "--dry-run");
    expect(out).toContain(`s3://${stack.bucket}/car-1/new 1+.pcap\n`);
    expect(out).toContain("5 objects, 1 in the table already, 1 without a packet, 1 passed over");
    expect(stack.announced()).toEqual([]);
  });

  test("with --rejected announces rejected ones again; --limit and --since bound it", async () => {
    const stack = await halfIngested("backfill-options");
    expect(await backfilled(stack, "--rejected", "--dry-run")).toMatchObject({ announced: 3 });
    expect(await backfilled(stack, "--limit", "1", "--dry-run")).toMatchObject({ announced: 1 });
    expect(await backfilled(stack, "--since", "2999-01-01")).toMatchObject({ passed_over: 6 });
    expect(stack.announced()).toEqual([]);
  });

  test("of many pages announces each object once", async () => {
    const stack = await TestStack.open(cloud, "backfill-many");
    const bucket = cloud.s3.storage.bucket(stack.bucket);
    const keys = Array.from({ length: 2_345 }, (_, i) => `car-1/${String(i).padStart(4, "0")}.pcap`);
    for (const key of keys) bucket.put(key, new TextEncoder().encode(key), {});
    expect(await backfilled(stack)).toMatchObject({ listed: 2_345, announced: 2_345 });
    expect(stack.announced()).toEqual(keys);
  });
});

describe("backfill of captures that are older than the ledger remembers", () => {
  async function forgotten(name: string) {
    const stack = await halfIngested(name);
    const { settings } = stack.stack;
    Object.assign(stack.stack, { settings: { ...settings, ledgerTable: "ledger" } });
    stack.laterMs = (settings.ledgerDays + 1) * DAY;
    return stack;
  }

  test("finds those that the table has in its log", async () => {
    const stack = await forgotten("backfill-old");
    expect(await backfilled(stack)).toMatchObject({ code: 0, committed: 1, announced: 4 });
    expect(stack.announced()).not.toContain("car-1/known.pcap");
  });

  test("leaves them out where the log's first commits are gone, unless it is told not to check", async () => {
    const stack = await forgotten("backfill-cleaned");
    cloud.s3.storage.bucket("lake").remove("backfill-cleaned/_delta_log/00000000000000000000.json");
    expect(await backfilled(stack)).toMatchObject({ code: 1, committed: 1, unchecked: 4 });
    expect(stack.announced()).toEqual([]);
    expect(await backfilled(stack, "--unchecked")).toMatchObject({ code: 0, announced: 4 });
  });

  test("leaves them out where ids come from content; younger ones the converter sorts out", async () => {
    const stack = await halfIngested("backfill-kms");
    const { settings } = stack.stack;
    Object.assign(stack.stack, { settings: { ...settings, hashContent: true } });
    expect(await backfilled(stack, "--dry-run")).toMatchObject({ code: 0, announced: 5 });
    stack.laterMs = (settings.ledgerDays + 1) * DAY;
    expect(await backfilled(stack)).toMatchObject({ code: 1, unchecked: 5 });
  });
});

let stackOfUsage: TestStack | null = null;
test.each([
  [["backfill"], "s3://bucket/prefix is missing"],
  [["backfill", "captures"], "s3://bucket/key is expected"],
  [["backfill", "s3://another/"], "not from s3://another"],
  [["backfill", "s3://b/", "--limit", "0"], "--limit 0"],
  [["backfill", "s3://b/", "--since", "yesterday"], "--since yesterday"],
])("%j is wrong use", async (argv, message) => {
  stackOfUsage ??= await TestStack.open(cloud, "backfill-usage");
  const stack = stackOfUsage;
  const { code, err } = await stack.deltacap(...argv);
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
});
