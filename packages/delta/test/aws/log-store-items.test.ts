import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { commitBody } from "../../../../test/conformance/log-store.ts";
import { ManualClock } from "../../../../test/support/aws/clock.ts";
import { Cloud, LOG_TABLE } from "../../../../test/support/aws/cloud.ts";
import type { Fault } from "../../../../test/support/aws/faults.ts";
import { LogWorld, type LogWriter } from "../../../../test/support/aws/log-world.ts";
import { DynamoDbLogStore } from "../../src/aws/dynamodb-log-store.ts";
import { CommitInDoubtError, RetryableError, TableRefusedError } from "../../src/errors.ts";
import { commitFileName } from "../../src/stores/log-store.ts";

const HOUR = 3_600_000;
const clock = new ManualClock();
let cloud: Cloud;
let world: LogWorld;
let writer: LogWriter;
beforeAll(async () => {
  cloud = await Cloud.start(clock);
});
afterAll(async () => await cloud.close());
beforeEach(async () => {
  cloud.everybodyOut();
  world = new LogWorld(cloud);
  writer = await world.writer();
  await commit(writer.log, 0);
});

async function commit(log: DynamoDbLogStore, version: number): Promise<void> {
  expect(await log.commit(version, commitBody(`v${version}`))).toBe("committed");
  await log.settled();
}

async function putItem(version: number, tempPath: string): Promise<void> {
  const { clients } = await cloud.enter();
  const { tablePath } = world.location;
  const item = { tablePath, fileName: commitFileName(version), tempPath, complete: "false" };
  const Item = Object.fromEntries(Object.entries(item).map(([name, value]) => [name, { S: value }]));
  await clients.dynamodb.send(new PutItemCommand({ TableName: LOG_TABLE, Item }));
}

/** A step 4 that fails for good: the role lacks UpdateItem. */
const UPDATE_DENIED: Fault = {
  operation: "dynamodb:UpdateItem",
  times: Number.POSITIVE_INFINITY,
  effect: { kind: "refuse", status: 400, code: "AccessDeniedException" },
};

describe("the age of an incomplete commit", () => {
  test("counts from its temporary file", async () => {
    clock.advance(HOUR);
    const preparedMs = Math.floor(clock.now() / 1_000) * 1_000;
    world.put(".tmp/one", commitBody("one"));
    await putItem(1, ".tmp/one");
    clock.advance(HOUR);
    expect(await writer.log.incompleteCommit()).toEqual({
      fileName: commitFileName(1),
      sinceMs: preparedMs,
      reason: null,
    });
  });

  test("counts from N.json where the temporary file is gone", async () => {
    const sinceMs = Math.floor(clock.now() / 1_000) * 1_000;
    world.put(commitFileName(1), commitBody("one"));
    await putItem(1, ".tmp/gone");
    clock.advance(HOUR);
    expect((await writer.log.incompleteCommit())?.sinceMs).toBe(sinceMs);
  });

  test("counts from the version below where both files are gone, so that the alarm fires", async () => {
    const sinceMs = Math.floor(clock.now() / 1_000) * 1_000;
    clock.advance(HOUR);
    await putItem(1, ".tmp/gone");
    expect(await writer.log.incompleteCommit()).toMatchObject({ fileName: commitFileName(1), sinceMs });
    await expect(writer.log.repair()).rejects.toThrow(TableRefusedError);
  });

  test("is the largest possible where nothing of the log is left", async () => {
    world.remove(commitFileName(0));
    await putItem(0, ".tmp/gone");
    expect((await writer.log.incompleteCommit())?.sinceMs).toBe(0);
  });

  test("is null when every commit is complete", async () => {
    expect(await writer.log.incompleteCommit()).toBeNull();
  });
});

describe("a completion that always fails", () => {
  test("blocks neither the next commits, nor repairs, nor other writers", async () => {
    const other = await world.writer();
    for (const { faults } of [writer, other]) faults.plan(UPDATE_DENIED);
    await commit(writer.log, 1);
    await writer.log.repair();
    await commit(writer.log, 2);
    await other.log.repair();
    await commit(other.log, 3);
    expect(world.versions()).toHaveLength(4);
    expect(await world.incompleteItems()).toEqual([1, 2, 3].map(commitFileName));
  });

  test("is reported with its reason and the age of the oldest, however many commits follow", async () => {
    writer.faults.plan(UPDATE_DENIED);
    const sinceMs = Math.floor(clock.now() / 1_000) * 1_000;
    for (let version = 1; version <= 15; version++) {
      await commit(writer.log, version);
      clock.advance(60_000);
    }
    await writer.log.repair();
    const incomplete = await writer.log.incompleteCommit();
    expect(incomplete).toMatchObject({ fileName: commitFileName(1), sinceMs });
    expect(incomplete?.reason).toContain("AccessDeniedException");
    // One attempt for each of the newest ten, and one for an older one: not one for each commit of the day.
    expect(writer.faults.count("dynamodb:UpdateItem")).toBe(15 + 1 + 10 + 1);

    writer.faults.forget();
    await writer.log.repair();
    expect(await writer.log.incompleteCommit()).toBeNull();
    expect(await world.incompleteItems()).toEqual([]);
  });
});

describe("items older than the newest ones", () => {
  test("are completed by the first repair of a process, whoever left them", async () => {
    const careless = await world.writer();
    careless.faults.plan({ ...UPDATE_DENIED, times: 3 });
    for (let version = 1; version <= 30; version++) await commit(careless.log, version);
    expect(await world.incompleteItems()).toEqual([1, 2, 3].map(commitFileName));
    await writer.log.repair();
    expect(await world.incompleteItems()).toEqual([]);
    expect(world.versions()).toHaveLength(31);
  });

  test("are looked for once an hour", async () => {
    let nowMs = 0;
    const { clients, faults } = await cloud.enter();
    const log = new DynamoDbLogStore({
      dynamodb: clients.dynamodb,
      logTable: LOG_TABLE,
      store: writer.store,
      tablePath: world.location.tablePath,
      now: () => nowMs,
      newId: () => "id",
    });
    for (nowMs = 0; nowMs < 2 * HOUR; nowMs += 60_000) await log.repair();
    expect(faults.count("dynamodb:Query")).toBe(120 + 2);
  });

  test("need neither of their files: log cleanup may have removed them", async () => {
    await putItem(1, ".tmp/removed");
    for (let version = 2; version <= 20; version++) world.put(commitFileName(version), commitBody("other"));
    for (let version = 2; version <= 20; version++) await putItem(version, ".tmp/removed");
    await writer.log.repair();
    expect(await world.incompleteItems()).toEqual([]);
    expect(world.text(commitFileName(1))).toBeNull();
  });
});

describe("in doubt is only what nobody can know", () => {
  const failedCommit = async (fault: Fault): Promise<unknown> => {
    writer.faults.plan(fault);
    try {
      return await writer.log.commit(1, commitBody("mine"));
    } catch (error) {
      return error;
    }
  };

  test.each([
    [400, "AccessDeniedException"],
    [400, "ResourceNotFoundException"],
    [403, "AccessDenied"],
  ])("an item that DynamoDB refuses with %i %s was not put", async (status, code) => {
    const error = await failedCommit({
      operation: "dynamodb:PutItem",
      effect: { kind: "refuse", status, code },
    });
    expect(error).toBeInstanceOf(RetryableError);
    expect(error).not.toBeInstanceOf(CommitInDoubtError);
    expect(await world.items()).toHaveLength(1);
  });

  test("an item whose first put got no answer is in doubt, though the second was refused", async () => {
    writer.faults.plan({ operation: "dynamodb:PutItem", effect: { kind: "lose reply" } });
    const refusal = { kind: "refuse", status: 400, code: "AccessDeniedException" } as const;
    const error = await failedCommit({ operation: "dynamodb:PutItem", effect: refusal });
    expect(error).toBeInstanceOf(CommitInDoubtError);
    await (await world.writer()).log.repair();
    expect(world.versions()).toHaveLength(2);
  });

  test("a version that another writer holds is not ours, even if finishing it for them fails", async () => {
    world.put(".tmp/other", commitBody("other"));
    writer.faults.plan({
      operation: "dynamodb:PutItem",
      effect: { kind: "meanwhile", run: () => putItem(1, ".tmp/other") },
    });
    const error = await failedCommit({
      operation: "s3:GetObject",
      about: ".tmp/other",
      effect: { kind: "refuse", status: 403, code: "AccessDenied" },
    });
    expect(error).toBeInstanceOf(RetryableError);
    expect(error).not.toBeInstanceOf(CommitInDoubtError);
  });
});
