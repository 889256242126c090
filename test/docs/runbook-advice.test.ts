import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  DeleteItemCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  type KeySchemaElement,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import { DeleteObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readableFiles } from "../../cli/tables/live-files.ts";
import { Cloud } from "../support/aws/cloud.ts";
import { jsonLines, TestStack } from "../support/aws/test-stack.ts";
import { filling, pcap } from "../support/captures/capture-builder.ts";
import { deltacap } from "../support/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let cloud: Cloud;
beforeAll(async () => {
  cloud = await Cloud.start();
});
afterAll(() => cloud.close());

const runbook = readFileSync("docs/runbook.md", "utf8").replaceAll(/\s+/g, " ");
const capture = (byte: number) =>
  pcap({}, [{ seconds: 1_772_352_000, fraction: 0, bytes: filling(60, byte) }]);

/** Rows of the table's newest version, counted file by file. */
async function rows(stack: TestStack): Promise<number> {
  return (await readableFiles(stack.table.log)).reduce((sum, file) => sum + (file.rows ?? 0), 0);
}

/** The converter and the committer work until nothing waits: what one round sends back is in the next. */
async function work(stack: TestStack): Promise<void> {
  for (let round = 1; round <= 5; round++) {
    const messages = stack.deployment.messages(stack.stack.settings.captureQueueUrl).splice(0);
    if (messages.length === 0) return;
    await stack.ingestAnnounced(messages.map(({ id, body }) => ({ messageId: id, body })));
  }
  throw new Error("captures are sent back again and again");
}

/** Removes the items of a table that `chosen` names, those of which it says "last" after all others. */
async function removeItems(
  dynamodb: DynamoDBClient,
  table: string,
  order: (key: string) => "first" | "last" | null,
): Promise<void> {
  const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName: table }));
  const keys = (Table?.KeySchema ?? []).map(({ AttributeName = "" }: KeySchemaElement) => AttributeName);
  const { Items = [] } = await dynamodb.send(new ScanCommand({ TableName: table }));
  for (const turn of ["first", "last"]) {
    for (const item of Items) {
      const key = Object.fromEntries(keys.map((name) => [name, item[name]!]));
      if (order(JSON.stringify(key)) !== turn) continue;
      await dynamodb.send(new DeleteItemCommand({ TableName: table, Key: key }));
    }
  }
}

/** "have the ledger made anew": all items, the item `watermark` last. */
async function removeLedger({ stack }: TestStack): Promise<void> {
  expect(runbook).toContain("remove all items of the ledger's table, the item `watermark` last");
  const { clients, settings } = stack;
  await removeItems(clients.dynamodb, settings.ledgerTable, (key) =>
    key.includes("watermark") ? "last" : "first",
  );
}

/** "remove exactly the items that the message names". */
async function removeNamedItems({ stack }: TestStack, message: string): Promise<void> {
  expect(runbook).toContain("remove exactly the items that the message names");
  const [, tablePath = "", logTable = ""] =
    /every item with tablePath "(.*?)" from the DynamoDB table (\S+)/.exec(message) ?? [];
  expect(logTable, message).not.toBe("");
  await removeItems(stack.clients.dynamodb, logTable, (key) =>
    key.includes(`"${tablePath}"`) ? "first" : null,
  );
}

describe.each(["dynamodb", "conditional"] as const)("advice of the runbook, logStore=%s", (logStore) => {
  /** Three commits with a row each. */
  async function threeCommits(name: string) {
    const stack = await TestStack.open(cloud, `${name}-${logStore}`, { logStore });
    for (const [i, key] of ["a", "b", "c"].entries()) {
      await stack.ingest({ [`car-1/${key}.pcap`]: capture(i) });
    }
    expect(await rows(stack)).toBe(3);
    return { stack, store: stack.table.store };
  }

  test("a log that was put back from a backup: the ledger made anew and a backfill give each row once", async () => {
    const { stack, store } = await threeCommits("restored");
    await store.remove(["_delta_log/00000000000000000003.json"]);
    const refused = await stack.ingest({}).catch((error: Error) => error.message);
    expect(refused).toMatch(/another log|lost files/);
    await stack.deltacap("pause");
    if (logStore === "dynamodb") await removeNamedItems(stack, String(refused));
    await removeLedger(stack);
    await stack.deltacap("resume");
    expect(runbook).toContain("and then `deltacap backfill` over the time that the log lost");
    expect((await stack.deltacap("backfill", `s3://${stack.bucket}/`)).code).toBe(0);
    await work(stack);
    expect(await rows(stack)).toBe(3);
    // Whatever else is announced is known again.
    expect((await stack.deltacap("backfill", `s3://${stack.bucket}/`)).code).toBe(0);
    expect(stack.announced()).toEqual([]);
  });

  test("the remains of a log: _delta_log removed and the ledger made anew, every capture is there once", async () => {
    const { stack, store } = await threeCommits("remains");
    const commits = [0, 1, 2, 3].map((version) => `_delta_log/${String(version).padStart(20, "0")}.json`);
    await store.putIfAbsent(
      "_delta_log/_last_checkpoint",
      new TextEncoder().encode('{"version":2,"size":3}'),
    );
    await store.remove(commits);
    const refused = await stack.ingest({}).catch((error: Error) => error.message);
    expect(refused).toMatch(/remains of a table's log|lost files/);
    expect(runbook).toContain("To create the table anew, `deltacap pause`, remove `_delta_log` and, with");
    await store.remove(["_delta_log/_last_checkpoint"]);
    if (logStore === "dynamodb") {
      const items = await stack.ingest({}).catch((error: Error) => error.message);
      await removeNamedItems(stack, String(items));
    }
    await removeLedger(stack);
    await stack.deltacap("backfill", `s3://${stack.bucket}/`);
    await work(stack);
    expect(await rows(stack)).toBe(3);
  });
});

test("a capture that is uploaded again after it was gone is in the table once", async () => {
  const stack = await TestStack.open(cloud, "gone-again");
  const message = await stack.deployment.upload("car-1/a.pcap", capture(1));
  const captures = stack.stack.clients.s3;
  await captures.send(new DeleteObjectCommand({ Bucket: stack.bucket, Key: "car-1/a.pcap" }));
  await stack.ingestAnnounced([message]);
  expect(runbook).toContain("upload the object again");
  await stack.ingest({ "car-1/a.pcap": capture(1) });
  // The first message was delivered a second time meanwhile.
  await stack.ingestAnnounced([message]);
  expect(await rows(stack)).toBe(1);
});

test("locally, deleting the ledger is all and is safe: the next run knows every capture", async () => {
  expect(runbook).toContain("Locally deleting the table's `_deltacap/ledger.log` is all, and is safe.");
  const folder = temporaryFolder();
  const captures = join(folder, "captures");
  mkdirSync(captures);
  for (const i of [1, 2, 3]) writeFileSync(join(captures, `${i}.pcap`), capture(i));
  const table = join(folder, "packets");
  for (let times = 0; times < 2; times++) {
    const { code, err } = await deltacap("ingest", captures, "--table", table);
    expect(code, err).toBe(0);
    const { out } = await deltacap("sql", table, "select count(*) as rows from packets", "--json");
    expect(jsonLines(out)).toEqual([{ rows: "3" }]);
    rmSync(join(table, "_deltacap/ledger.log"));
  }
});
