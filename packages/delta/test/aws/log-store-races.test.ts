import { PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { commitBody } from "../../../../test/conformance/log-store.ts";
import { BUCKET, Cloud, LOG_TABLE } from "../../../../test/support/aws/cloud.ts";
import { LogWorld, type LogWriter } from "../../../../test/support/aws/log-world.ts";
import { RetryableError, TableRefusedError } from "../../src/errors.ts";
import { commitFileName } from "../../src/stores/log-store.ts";

const [ZERO, ONE, TWO] = [0, 1, 2].map(commitFileName) as [string, string, string];
const PUT_ONE = { operation: "s3:PutObject", about: "_delta_log/0000" } as const;

let cloud: Cloud;
let world: LogWorld;
let writer: LogWriter;
beforeAll(async () => {
  cloud = await Cloud.start();
});
afterAll(async () => await cloud.close());
beforeEach(async () => {
  cloud.everybodyOut();
  world = new LogWorld(cloud);
  writer = await world.writer();
  await writer.log.commit(0, commitBody("zero"));
  await writer.log.settled();
});

/** A commit of another engine that died, or is about to go on: its temporary file and its item. */
async function prepareByOther(version: number, body: Uint8Array, tempPath: string): Promise<void> {
  world.put(tempPath, body);
  await putItem({ fileName: commitFileName(version), tempPath, complete: "false" });
}

async function putItem(item: Record<string, string>): Promise<void> {
  const { clients } = await cloud.enter();
  const Item = Object.fromEntries(
    Object.entries({ tablePath: world.location.tablePath, ...item }).map(([name, value]) => [
      name,
      { S: value },
    ]),
  );
  await clients.dynamodb.send(new PutItemCommand({ TableName: LOG_TABLE, Item }));
}

function texts(): string[] {
  return world.versions().map((text) => /"txnId":"([^"]+)"/.exec(text)?.[1] ?? text);
}

describe("step 2: the item decides between writers", () => {
  test("an item of another writer is a conflict, and its commit is carried out at once", async () => {
    writer.faults.plan({
      operation: "dynamodb:PutItem",
      effect: { kind: "meanwhile", run: () => prepareByOther(1, commitBody("other"), `.tmp/${ONE}.other`) },
    });
    expect(await writer.log.commit(1, commitBody("mine"))).toBe("conflict");
    expect(texts()).toEqual(["zero", "other"]);
    expect(await world.incompleteItems()).toEqual([]);
    expect(await writer.log.commit(2, commitBody("mine"))).toBe("committed");
    expect(texts()).toEqual(["zero", "other", "mine"]);
  });

  test("an own item whose reply was lost, seen as refused by the second attempt, goes on", async () => {
    writer.faults.plan({ operation: "dynamodb:PutItem", effect: { kind: "lose reply" } });
    expect(await writer.log.commit(1, commitBody("mine"))).toBe("committed");
    expect(writer.faults.count("dynamodb:PutItem", ONE)).toBe(2);
    // It is known by its item, and not carried out like another writer's.
    expect(writer.faults.count("s3:GetObject")).toBe(0);
    expect(texts()).toEqual(["zero", "mine"]);
  });
});

describe("step 3: whose N.json is it?", () => {
  test("a repairer was faster: ours, committed once", async () => {
    const repairer = await world.writer();
    writer.faults.plan({
      ...PUT_ONE,
      after: 0,
      effect: { kind: "meanwhile", run: () => repairer.log.repair() },
    });
    expect(await writer.log.commit(1, commitBody("mine"))).toBe("committed");
    expect(texts()).toEqual(["zero", "mine"]);
    await writer.log.settled();
    expect(await world.incompleteItems()).toEqual([]);
  });

  test("a writer outside of the log store was faster: conflict, its file stays, our item is complete", async () => {
    const foreign = commitBody("foreign");
    writer.faults.plan({
      ...PUT_ONE,
      effect: { kind: "meanwhile", run: async () => world.put(ONE, foreign) },
    });
    expect(await writer.log.commit(1, commitBody("mine"))).toBe("conflict");
    await writer.log.settled();
    expect(texts()).toEqual(["zero", "foreign"]);
    expect(await world.incompleteItems()).toEqual([]);
    expect(await writer.log.commit(2, commitBody("mine"))).toBe("committed");
    expect(texts()).toEqual(["zero", "foreign", "mine"]);
  });

  test("an expired item does not let a version be written twice", async () => {
    await writer.log.commit(1, commitBody("one"));
    await writer.log.settled();
    const late = await world.writer();
    late.faults.plan({
      operation: "s3:ListObjectsV2",
      effect: { kind: "meanwhile", run: async () => world.put(TWO, commitBody("two")) },
    });
    // Version 2 is listed and has no item, as if that had expired.
    expect(await late.log.commit(2, commitBody("late"))).toBe("conflict");
    expect(texts()).toEqual(["zero", "one", "two"]);
  });

  test("409 says that nothing was done: the same again", async () => {
    writer.faults.plan({
      ...PUT_ONE,
      times: 2,
      effect: { kind: "refuse", status: 409, code: "ConditionalRequestConflict" },
    });
    expect(await writer.log.commit(1, commitBody("mine"))).toBe("committed");
    expect(writer.faults.count("s3:PutObject", `_delta_log/${ONE}`)).toBe(3);
  });
});

describe("repair", () => {
  test("of a commit that another engine left prepared, whatever it called the file", async () => {
    for (const [version, tempPath] of [
      [1, "_commit_0b36c96d.json.tmp"],
      [2, `.tmp/${TWO}.0b36`],
      [3, "a/b/c.json"],
    ] as const) {
      const body = commitBody(`other ${version}`);
      await prepareByOther(version, body, tempPath);
      await writer.log.repair();
      expect(world.text(commitFileName(version))).toBe(Buffer.from(body).toString());
      expect(await world.incompleteItems()).toEqual([]);
    }
  });

  test("by several at once leaves the file as it is, and everybody content", async () => {
    await prepareByOther(1, commitBody("other"), `.tmp/${ONE}.x`);
    const writers = await Promise.all([world.writer(), world.writer(), world.writer()]);
    await Promise.all(writers.map(({ log }) => log.repair()));
    expect(texts()).toEqual(["zero", "other"]);
    expect(await world.incompleteItems()).toEqual([]);
  });

  test("takes an error of HEAD for no answer: the file is not taken to be there", async () => {
    await prepareByOther(1, commitBody("other"), `.tmp/${ONE}.x`);
    for (const [status, code] of [
      [403, "AccessDenied"],
      [500, "InternalError"],
    ] as const) {
      writer.faults.plan({ operation: "s3:HeadObject", times: 5, effect: { kind: "refuse", status, code } });
      await expect(writer.log.repair()).rejects.toThrow(RetryableError);
      expect(await world.incompleteItems()).toEqual([ONE]);
      writer.faults.forget();
    }
    await writer.log.repair();
    expect(texts()).toEqual(["zero", "other"]);
  });

  test("never overwrites: a file that is there already stays, whatever the temporary file says", async () => {
    await prepareByOther(1, commitBody("temporary"), `.tmp/${ONE}.x`);
    writer.faults.plan({
      operation: "s3:GetObject",
      about: ".tmp/",
      effect: { kind: "meanwhile", run: async () => world.put(ONE, commitBody("there")) },
    });
    await writer.log.repair();
    expect(texts()).toEqual(["zero", "there"]);
    expect(await world.incompleteItems()).toEqual([]);
  });

  test("completes an item below the newest one, too", async () => {
    writer.faults.plan({
      operation: "dynamodb:UpdateItem",
      effect: { kind: "refuse", status: 403, code: "AccessDenied" },
    });
    await writer.log.commit(1, commitBody("one"));
    await writer.log.commit(2, commitBody("two"));
    await writer.log.settled();
    expect(await world.incompleteItems()).toEqual([ONE]);
    await (await world.writer()).log.repair();
    expect(await world.incompleteItems()).toEqual([]);
  });

  test("refuses, and changes nothing, when temporary file and N.json are both gone", async () => {
    await putItem({ fileName: ONE, tempPath: `.tmp/${ONE}.gone`, complete: "false" });
    const before = cloud.s3.storage.bucket(BUCKET).keys();
    await expect(writer.log.repair()).rejects.toThrow(TableRefusedError);
    await expect(writer.log.repair()).rejects.toThrow(`.tmp/${ONE}.gone is gone`);
    await expect((await world.writer()).log.commit(1, commitBody("mine"))).rejects.toThrow(TableRefusedError);
    expect(cloud.s3.storage.bucket(BUCKET).keys()).toEqual(before);
    expect(await world.incompleteItems()).toEqual([ONE]);
  });

  test("of a table that was deleted and made anew names the items to remove", async () => {
    await writer.log.commit(1, commitBody("one"));
    await writer.log.settled();
    world.remove(ZERO);
    world.remove(ONE);
    const fresh = await world.writer();
    const message = `remove every item with tablePath "${world.location.tablePath}" from the DynamoDB table ${LOG_TABLE}`;
    await expect(fresh.log.repair()).rejects.toThrow(message);
    await expect(fresh.log.commit(0, commitBody("new"))).rejects.toThrow(TableRefusedError);
    expect(world.versions()).toEqual([]);
  });

  test.each([
    ["../../other/_delta_log/x.json"],
    [".tmp/../../x"],
    ["/absolute"],
    ["s3://other/x"],
    ["a//b"],
    ["./x"],
    [""],
  ])("refuses the temporary file %j, outside of the log's folder", async (tempPath) => {
    await putItem({ fileName: ONE, tempPath: tempPath === "" ? "x/" : tempPath, complete: "false" });
    await expect(writer.log.repair()).rejects.toThrow(TableRefusedError);
    expect(texts()).toEqual(["zero"]);
  });

  test.each([
    [{ fileName: "../x.json", tempPath: "x", complete: "false" }, "outside of _delta_log"],
    [{ fileName: "sub/x.json", tempPath: "x", complete: "false" }, "outside of _delta_log"],
    [{ fileName: ONE, complete: "false" }, "lacks"],
    [{ fileName: ONE, tempPath: "x" }, "lacks"],
  ])("refuses an item that S3DynamoDBLogStore never writes: %j", async (item, reason) => {
    await putItem(Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined)));
    await expect(writer.log.repair()).rejects.toThrow(reason);
  });
});

describe("completion", () => {
  test("leaves the item of a table that was made anew alone", async () => {
    const { clients } = await cloud.enter();
    writer.faults.plan({
      operation: "dynamodb:UpdateItem",
      effect: {
        kind: "meanwhile",
        run: async () => {
          const Key = { tablePath: { S: world.location.tablePath }, fileName: { S: ONE } };
          const ExpressionAttributeValues = { ":t": { S: "another" } };
          await clients.dynamodb.send(
            new UpdateItemCommand({
              TableName: LOG_TABLE,
              Key,
              UpdateExpression: "SET tempPath = :t",
              ExpressionAttributeValues,
            }),
          );
        },
      },
    });
    await writer.log.commit(1, commitBody("one"));
    await writer.log.settled();
    expect(await world.incompleteItems()).toEqual([ONE]);
  });
});

describe("versions follow each other", () => {
  test("a version without the one below it is refused", async () => {
    await expect(writer.log.commit(5, commitBody("far"))).rejects.toThrow("version 4 is not in the log");
    const fresh = await world.writer();
    await expect(fresh.log.commit(2, commitBody("far"))).rejects.toThrow(TableRefusedError);
    expect(await world.items()).toHaveLength(1);
  });

  test("the version below may be without an item: expired, or written outside of the log store", async () => {
    world.put(ONE, commitBody("one"));
    expect(await writer.log.commit(2, commitBody("two"))).toBe("committed");
    expect(texts()).toEqual(["zero", "one", "two"]);
  });
});

describe("requests", () => {
  test("four a commit in the steady state", async () => {
    writer.faults.forget();
    for (let version = 1; version <= 10; version++) {
      expect(await writer.log.commit(version, commitBody(`v${version}`))).toBe("committed");
    }
    await writer.log.settled();
    expect(writer.faults.counts()).toEqual({
      "s3:PutObject": 20,
      "dynamodb:PutItem": 10,
      "dynamodb:UpdateItem": 10,
    });
  });

  test("four a commit with the next temporary file put ahead, and its item only after N.json", async () => {
    writer.faults.forget();
    const bodies = Array.from({ length: 6 }, (_, version) => commitBody(`v${version}`));
    for (let version = 1; version < 6; version++) {
      const commit = writer.log.commit(version, bodies[version]!);
      if (version < 5) writer.log.prepare(version + 1, bodies[version + 1]!);
      expect(await commit).toBe("committed");
    }
    await writer.log.settled();
    expect(writer.faults.requests).toHaveLength(20);
    expect(await world.incompleteItems()).toEqual([]);
    expect(texts()).toEqual(["zero", "v1", "v2", "v3", "v4", "v5"]);
    const order = writer.faults.requests
      .filter(({ operation, subject }) => operation === "dynamodb:PutItem" || !subject.includes(".tmp/"))
      .filter(({ operation }) => operation !== "dynamodb:UpdateItem")
      .map(({ operation }) => operation);
    expect(order).toEqual(Array.from({ length: 5 }, () => ["dynamodb:PutItem", "s3:PutObject"]).flat());
  });

  test("a temporary file that was put ahead is used for its very body only", async () => {
    writer.log.prepare(1, commitBody("planned"));
    writer.faults.plan({ operation: "dynamodb:PutItem", effect: { kind: "kill after" } });
    await expect(writer.log.commit(1, commitBody("planned anew"))).rejects.toThrow("outcome is unknown");
    // Whoever carries it out takes the temporary file.
    await (await world.writer()).log.repair();
    expect(texts()).toEqual(["zero", "planned anew"]);
  });

  test("a temporary file whose put ahead failed is put again", async () => {
    const refusal = { kind: "refuse", status: 500, code: "InternalError" } as const;
    writer.faults.plan({ operation: "s3:PutObject", about: ".tmp/", times: 5, effect: refusal });
    const body = commitBody("one");
    writer.log.prepare(1, body);
    expect(await writer.log.commit(1, body)).toBe("committed");
  });

  test("a caller does not wait for the completion", async () => {
    let complete: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      complete = resolve;
    });
    writer.faults.plan({ operation: "dynamodb:UpdateItem", effect: { kind: "meanwhile", run: () => held } });
    expect(await writer.log.commit(1, commitBody("one"))).toBe("committed");
    expect(await world.incompleteItems()).toEqual([ONE]);
    complete();
    await writer.log.settled();
    expect(await world.incompleteItems()).toEqual([]);
  });
});

test("listing the whole log does not walk over the temporary files of a month", async () => {
  for (let i = 0; i < 30; i++) world.put(`.tmp/${ONE}.${i}`, commitBody("temporary"));
  cloud.s3.pageSize = 10;
  writer.faults.forget();
  const names: string[] = [];
  for await (const { name } of writer.log.list("")) names.push(name);
  cloud.s3.pageSize = 1000;
  expect(names).toEqual([ZERO]);
  expect(writer.faults.count("s3:ListObjectsV2")).toBe(1);
});
