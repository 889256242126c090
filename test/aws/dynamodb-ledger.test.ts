import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { RetryableError } from "@deltacap/delta";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DynamoDbLedger } from "../../src/aws/dynamodb-ledger.ts";
import type { LedgerEntry } from "../../src/manifest/ledger.ts";
import { Cloud, LEDGER_TABLE, type Visitor } from "../support/aws/cloud.ts";

const NOW = 1_767_323_045_999;
const KEEP_SECONDS = 90 * 86_400;

let cloud: Cloud;
let visitor: Visitor;
let ledger: DynamoDbLedger;
beforeAll(async () => {
  cloud = await Cloud.start();
});
afterAll(async () => await cloud.close());
let block = 0;
let waits: number[] = [];
beforeEach(async () => {
  block++;
  waits = [];
  cloud.everybodyOut();
  cloud.dynamodb.leftover = () => 0;
  visitor = await cloud.enter();
  ledger = new DynamoDbLedger({
    dynamodb: visitor.clients.dynamodb,
    ledgerTable: LEDGER_TABLE,
    keepSeconds: KEEP_SECONDS,
    now: () => NOW,
    sleep: async (ms) => void waits.push(ms),
  });
});

/** Ids that no other test uses. */
const id = (number: number) => (block * 0x10000 + number).toString(16).padStart(32, "0");
const committed = (version: number): LedgerEntry & { status: "committed" } => ({
  status: "committed",
  version,
});
const many = (count: number) => new Map(Array.from({ length: count }, (_, i) => [id(i), committed(i)]));

describe("a look-up", () => {
  test("asks consistently for a hundred keys a call", async () => {
    await ledger.lookup([...many(250).keys()]);
    const calls = visitor.faults.requests.filter(({ operation }) => operation === "dynamodb:BatchGetItem");
    expect(calls).toHaveLength(3);
    for (const { subject } of calls) {
      const { RequestItems } = JSON.parse(subject) as {
        RequestItems: Record<string, { Keys: unknown[]; ConsistentRead: boolean }>;
      };
      expect(RequestItems[LEDGER_TABLE]?.ConsistentRead).toBe(true);
      expect(RequestItems[LEDGER_TABLE]?.Keys.length).toBeLessThanOrEqual(100);
    }
  });

  test("goes on until no key is left unprocessed", async () => {
    await ledger.putCommitted(many(120));
    // Half of each call, then a call that does nothing at all.
    let calls = 0;
    cloud.dynamodb.leftover = (_, items) => (++calls === 3 ? items : Math.floor(items / 2));
    expect(await ledger.lookup([...many(130).keys()])).toEqual(many(120));
    expect(visitor.faults.count("dynamodb:BatchGetItem")).toBeGreaterThan(8);
  });

  test("fails as a whole when keys stay unprocessed: nobody takes them for unknown", async () => {
    cloud.dynamodb.leftover = (_, items) => Math.min(items, 1);
    await expect(ledger.lookup([id(1), id(2)])).rejects.toThrow(RetryableError);
  });

  test("fails as a whole when one of its calls fails", async () => {
    const refusal = { kind: "refuse", status: 400, code: "AccessDeniedException" } as const;
    visitor.faults.plan({ operation: "dynamodb:BatchGetItem", after: 1, effect: refusal });
    const failed = ledger.lookup([...many(250).keys()]);
    await expect(failed).rejects.toThrow(RetryableError);
    await expect(failed).rejects.toThrow("cannot look up");
  });

  test("is tried again when throttled", async () => {
    const code = "ProvisionedThroughputExceededException";
    await ledger.putCommitted(many(2));
    visitor.faults.plan({
      operation: "dynamodb:BatchGetItem",
      times: 2,
      effect: { kind: "refuse", status: 400, code },
    });
    expect((await ledger.lookup([id(0), id(1)])).size).toBe(2);
  });
});

describe("writing", () => {
  test("goes on until no item is left unprocessed", async () => {
    let calls = 0;
    cloud.dynamodb.leftover = (operation, items) => {
      if (operation === "BatchGetItem") return 0;
      return ++calls === 2 ? items : Math.floor(items / 3);
    };
    await ledger.putCommitted(many(60));
    expect((await ledger.lookup([...many(60).keys()])).size).toBe(60);
  });

  test("fails when items stay unprocessed, so that no watermark covers them", async () => {
    cloud.dynamodb.leftover = (operation, items) => (operation === "BatchWriteItem" ? Math.min(items, 1) : 0);
    await expect(ledger.putCommitted(many(20))).rejects.toThrow("were not written in 12 rounds");
    // Some ten seconds of throttling are waited for, ever longer.
    expect(waits.slice(0, 3)).toEqual([20, 40, 80]);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(8_000);
  });

  test("a reply lost is written again, to the same end", async () => {
    visitor.faults.plan(
      { operation: "dynamodb:BatchWriteItem", effect: { kind: "lose reply" } },
      { operation: "dynamodb:PutItem", effect: { kind: "lose reply" } },
      { operation: "dynamodb:UpdateItem", effect: { kind: "lose reply" } },
    );
    await ledger.putCommitted(many(1));
    await ledger.putSetAside(new Map([[id(5), { status: "empty", capture: "c" }]]));
    await ledger.advanceWatermark({ version: block * 100 });
    expect(await ledger.watermark()).toEqual({ version: block * 100 });
    expect(await ledger.lookup([id(0), id(5)])).toEqual(
      new Map<string, LedgerEntry>([
        [id(0), committed(0)],
        [id(5), { status: "empty", capture: "c" }],
      ]),
    );
    expect(visitor.faults.unused).toEqual([]);
  });

  test("entries expire, the watermark never does", async () => {
    await ledger.putCommitted(many(1));
    await ledger.putSetAside(new Map([[id(1), { status: "empty", capture: "c" }]]));
    await ledger.advanceWatermark({ version: block * 100 });
    const item = async (key: string) => {
      const command = new GetItemCommand({ TableName: LEDGER_TABLE, Key: { sourceId: { S: key } } });
      return (await visitor.clients.dynamodb.send(command)).Item;
    };
    for (const key of [id(0), id(1)]) {
      expect(await item(key)).toMatchObject({ expireTime: { N: String(1_767_323_045 + KEEP_SECONDS) } });
    }
    expect(await item("watermark")).toEqual({
      sourceId: { S: "watermark" },
      version: { N: String(block * 100) },
    });
  });

  test("a reason of any length fits into an item", async () => {
    const reason = "\u{1f600}".repeat(300_000);
    await ledger.putSetAside(new Map([[id(1), { status: "rejected", capture: "c", reason, offset: 0 }]]));
    const entry = (await ledger.lookup([id(1)])).get(id(1));
    expect(entry?.status === "rejected" && reason.startsWith(entry.reason)).toBe(true);
  });

  test("a table that is missing is named", async () => {
    const lost = new DynamoDbLedger({
      dynamodb: visitor.clients.dynamodb,
      ledgerTable: "no-such-table",
      keepSeconds: 1,
      now: () => NOW,
      sleep: async () => {},
    });
    await expect(lost.watermark()).rejects.toThrow("the DynamoDB table in the settings does not exist");
    await expect(lost.watermark()).rejects.toThrow(RetryableError);
  });
});
