import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { commitBody } from "../../../../test/conformance/log-store.ts";
import { Cloud } from "../../../../test/support/aws/cloud.ts";
import type { Effect, Fault } from "../../../../test/support/aws/faults.ts";
import { LogWorld } from "../../../../test/support/aws/log-world.ts";
import { CommitInDoubtError, RetryableError } from "../../src/errors.ts";
import { commitFileName, type LogStore } from "../../src/stores/log-store.ts";

/** The steps of `DynamoDbLogStore`, by the request that each makes. */
const STEPS: readonly { step: string; operation: string; about?: string; prepared: boolean }[] = [
  { step: "1, the newest item", operation: "dynamodb:Query", prepared: false },
  { step: "1, its file", operation: "s3:HeadObject", prepared: false },
  { step: "1, the listing", operation: "s3:ListObjectsV2", prepared: false },
  { step: "2, the temporary file", operation: "s3:PutObject", about: "/.tmp/", prepared: false },
  { step: "2, the item", operation: "dynamodb:PutItem", prepared: true },
  { step: "3, N.json", operation: "s3:PutObject", about: "_delta_log/0000", prepared: true },
  { step: "4, completion", operation: "dynamodb:UpdateItem", prepared: true },
];

const ALWAYS = Number.POSITIVE_INFINITY;

/** What happens to the step's request, and whether the writer may live to tell. */
const FATES: readonly { fate: string; effect: Effect; times: number; deadly: boolean }[] = [
  {
    fate: "one error before it",
    effect: { kind: "refuse", status: 500, code: "InternalServerError" },
    times: 1,
    deadly: false,
  },
  {
    fate: "errors before it, on and on",
    effect: { kind: "refuse", status: 500, code: "InternalServerError" },
    times: ALWAYS,
    deadly: true,
  },
  {
    fate: "a permission that is missing",
    effect: { kind: "refuse", status: 403, code: "AccessDenied" },
    times: ALWAYS,
    deadly: true,
  },
  { fate: "no connection", effect: { kind: "disconnect" }, times: ALWAYS, deadly: true },
  { fate: "one reply lost after it", effect: { kind: "lose reply" }, times: 1, deadly: false },
  { fate: "every reply lost after it", effect: { kind: "lose reply" }, times: ALWAYS, deadly: true },
  { fate: "the process killed before it", effect: { kind: "kill before" }, times: 1, deadly: true },
  { fate: "the process killed after it", effect: { kind: "kill after" }, times: 1, deadly: true },
];

describe("whatever happens to a step of a commit, a fresh run finds a log without holes and one winner", () => {
  let cloud: Cloud;
  let world: LogWorld;
  beforeAll(async () => {
    cloud = await Cloud.start();
  });
  afterAll(async () => await cloud.close());
  beforeEach(() => {
    cloud.everybodyOut();
    world = new LogWorld(cloud);
  });

  for (const { step, operation, about, prepared } of STEPS) {
    for (const { fate, effect, times, deadly } of FATES) {
      test(`step ${step}: ${fate}`, async () => {
        await createTable(world);
        const { log, faults } = await world.writer();
        const fault: Fault = { operation, effect, times, ...(about === undefined ? {} : { about }) };
        faults.plan(fault);
        const outcome = await outcomeOf(log, 1, commitBody("first"));
        await log.settled();
        expect(faults.unused).toEqual([]);

        // Step 4 is nobody's concern; every other one that cannot be done is told.
        if (!deadly || operation === "dynamodb:UpdateItem") expect(outcome).toBe("committed");
        else expect(outcome).toBe(prepared && !isRefusal(operation, effect) ? "in doubt" : "failed");

        // The fresh run: repair, then the same batch again, unless the log has it, then one of its own.
        const next = await world.writer();
        await next.log.repair();
        const found = world.versions().filter((text) => text.includes('"first"')).length;
        if (outcome === "committed") expect(found).toBe(1);
        if (outcome === "failed") expect(found).toBe(0);
        if (found === 0) expect(await next.log.commit(1, commitBody("first"))).toBe("committed");
        expect(await next.log.commit(2, commitBody("second"))).toBe("committed");
        await next.log.settled();

        const versions = world.versions();
        expect(versions.map(nameOf)).toEqual(["zero", "first", "second"]);
        expect(await world.incompleteItems()).toEqual([]);
      });

      test(`step ${step}: ${fate}, while another writer goes on without a repair`, async () => {
        await createTable(world);
        const { log, faults } = await world.writer();
        const fault: Fault = { operation, effect, times, ...(about === undefined ? {} : { about }) };
        faults.plan(fault);
        const outcome = await outcomeOf(log, 1, commitBody("first"));
        await log.settled();

        const other = await world.writer();
        const version = (await other.log.commit(1, commitBody("other"))) === "committed" ? 1 : 2;
        if (version === 2) expect(await other.log.commit(2, commitBody("other"))).toBe("committed");
        await other.log.settled();
        const names = world.versions().map(nameOf);
        expect(names).toEqual(version === 1 ? ["zero", "other"] : ["zero", "first", "other"]);
        if (outcome === "committed") expect(version).toBe(2);
        if (outcome === "failed") expect(version).toBe(1);
        await other.log.repair();
        expect(await world.incompleteItems()).toEqual([]);
      });
    }
  }

  test("the first version of a table may die anywhere, too", async () => {
    for (const { operation, about } of STEPS.slice(3)) {
      const fresh = new LogWorld(cloud);
      const { log, faults } = await fresh.writer();
      faults.plan({ operation, effect: { kind: "kill after" }, ...(about === undefined ? {} : { about }) });
      await outcomeOf(log, 0, commitBody("zero"));
      await log.settled();
      const next = await fresh.writer();
      await next.log.repair();
      if (fresh.versions().length === 0)
        expect(await next.log.commit(0, commitBody("zero"))).toBe("committed");
      expect(fresh.versions().map(nameOf)).toEqual(["zero"]);
    }
  });
});

/** DynamoDB answered that it did not put the item. A refused N.json is in doubt all the same: its item makes others put it. */
function isRefusal(operation: string, effect: Effect): boolean {
  return operation === "dynamodb:PutItem" && effect.kind === "refuse" && effect.status === 403;
}

async function createTable(world: LogWorld): Promise<void> {
  const { log } = await world.writer();
  expect(await log.commit(0, commitBody("zero"))).toBe("committed");
  await log.settled();
}

type Told = "committed" | "conflict" | "in doubt" | "failed";

async function outcomeOf(log: LogStore, version: number, body: Uint8Array): Promise<Told> {
  try {
    return await log.commit(version, body);
  } catch (error) {
    if (error instanceof CommitInDoubtError) return "in doubt";
    // Nothing of the SDK comes out.
    expect(error).toBeInstanceOf(RetryableError);
    expect(error).not.toHaveProperty("$metadata");
    return "failed";
  }
}

function nameOf(text: string): string {
  return /"txnId":"(\w+)"/.exec(text)?.[1] ?? `no commit: ${text} (${commitFileName(0)} was expected)`;
}
