import { beforeEach, describe, expect, test } from "vitest";
import { readForgotten } from "../../src/commit/commit-tags.ts";
import { optimizeDefaults } from "../../src/settings.ts";
import { type ForgetOptions, forgetVehicle } from "../../src/upkeep/forget-vehicle.ts";
import { optimizeTable } from "../../src/upkeep/optimize-table.ts";
import { LEAST_RETENTION, vacuumTable } from "../../src/upkeep/vacuum-table.ts";
import type { Gate } from "../support/memory/gated.ts";
import { once } from "../support/memory/gated.ts";
import { captureOf, DAY, NOW, PacketsWorld } from "../support/tables/packets-world.ts";

let world: PacketsWorld;

beforeEach(() => {
  world = new PacketsWorld();
});

function forget(vehicle: string, gate: Gate | null = null, options: ForgetOptions = {}) {
  return forgetVehicle(vehicle, world.ports(gate), optimizeDefaults, options);
}

const vehicles = async () => (await world.rows()).map(({ vehicle_id }) => vehicle_id);

/** One file of car-1 alone, one of car-1 and others, one of others alone. */
async function threeFiles() {
  await world.ingest({ "car-1/a": captureOf(3) });
  await world.ingest({
    "car-1/b": captureOf(4, DAY, 1),
    "car-2/a": captureOf(5, DAY, 2),
    "car-0/a": captureOf(2, DAY, 3),
  });
  await world.ingest({ "car-2/b": captureOf(6, DAY, 4), "car-3/a": captureOf(1, DAY, 5) });
}

test("the commit's tag names the sources of the vehicle, and no others", async () => {
  await threeFiles();
  const ids = async (vehicle: string) =>
    (await world.rows()).filter(({ vehicle_id }) => vehicle_id === vehicle).map(({ source_id }) => source_id);
  const ofCar1 = new Set(await ids("car-1"));
  await forget("car-1");
  const tags = (await world.actions(4)).find(({ commitInfo }) => commitInfo !== undefined)?.commitInfo?.tags;
  expect(readForgotten(tags)).toEqual([...ofCar1].sort());
  expect(ofCar1.size).toBe(2);
});

describe("a vehicle's rows", () => {
  test("are gone, and all others stay as they are and in their order", async () => {
    await threeFiles();
    const others = (await world.rows()).filter(({ vehicle_id }) => vehicle_id !== "car-1");
    expect(await forget("car-1")).toEqual({
      version: 4,
      commits: 1,
      rows: 7,
      removedFiles: 1,
      rewrittenFiles: 1,
      lateFiles: 0,
      remaining: [],
      stopped: null,
    });
    expect(await world.rows()).toEqual(others);
    const [rewritten] = (await world.live()).filter(({ path }) => path.includes("id-"));
    const rows = await world.rowsOf(rewritten!);
    expect(rows.map(({ vehicle_id }) => vehicle_id)).toEqual(
      [..."aa", ..."bbbbb"].map((x) => (x === "a" ? "car-0" : "car-2")),
    );
    expect(JSON.parse(rewritten?.stats ?? "")).toMatchObject({
      numRecords: 7,
      minValues: { vehicle_id: "car-0" },
    });
  });

  test("are removed by a commit that changes data, and touches no file without them", async () => {
    await threeFiles();
    await forget("car-1");
    const actions = await world.actions(4);
    expect(actions[0]?.commitInfo).toMatchObject({
      operation: "DELETE",
      operationParameters: { predicate: `["(vehicle_id = 'car-1')"]` },
      readVersion: 3,
      isBlindAppend: false,
      operationMetrics: { numRemovedFiles: "2", numAddedFiles: "1", numDeletedRows: "7", numOutputRows: "7" },
    });
    const files = actions.flatMap(({ add, remove }) => add ?? remove ?? []);
    expect(files).toHaveLength(3);
    expect(files.every(({ dataChange }) => dataChange)).toBe(true);
  });

  test("in a row group that takes too much memory to be read stay, and their file is named with what to do", async () => {
    await threeFiles();
    const before = await world.rows();
    const limits = { ...optimizeDefaults, readBytes: 1000 };
    const result = await forgetVehicle("car-1", world.ports(null), limits);
    expect(result).toMatchObject({ commits: 0, rows: 0 });
    expect(result.remaining).toHaveLength(2);
    for (const { path, reason } of result.remaining) {
      expect(reason).toMatch(
        new RegExp(
          `^${path} has a row group of \\d+ rows, which takes some \\d+ bytes to be read, and 1000 are allowed \\(setting readBytes\\): let Spark's DELETE`,
        ),
      );
    }
    expect(await world.rows()).toEqual(before);
  });

  test("of a vehicle that the table does not have: nothing is committed", async () => {
    await threeFiles();
    expect(await forget("car-10")).toMatchObject({ version: 3, commits: 0, rows: 0 });
  });

  test("in files whose statistics do not say are found too", async () => {
    await threeFiles();
    const adds = await world.live();
    await world.foreignCommit(adds.map(({ stats, ...add }) => ({ add })));
    expect(await forget("car-1")).toMatchObject({ rows: 7, removedFiles: 1, rewrittenFiles: 1 });
    expect(await vehicles()).not.toContain("car-1");
  });

  test("in several row groups are all removed", async () => {
    const captures: Record<string, Uint8Array> = {};
    for (const vehicle of ["car-1", "car-2", "car-3"]) {
      for (const name of ["a", "b", "c"])
        captures[`${vehicle}/${name}`] = captureOf(10, DAY, name.charCodeAt(0));
    }
    await world.ingest(captures, { rows: 16 });
    expect(await world.live()).toHaveLength(1);
    expect(await forget("car-2")).toMatchObject({ rows: 30, rewrittenFiles: 1 });
    expect(await vehicles()).toEqual([...Array(60).keys()].map(() => expect.stringMatching(/car-[13]/)));
  });

  test("without a vehicle are nobody's", async () => {
    const source = world.captures.put("x", captureOf(3), null);
    expect(source.vehicleId).toBeNull();
    await world.ingest({ "car-1/a": captureOf(3) });
    await world.convertSources([source]).then((manifest) => world.commit(manifest));
    expect(await forget("car-1")).toMatchObject({ rows: 3, removedFiles: 1, rewrittenFiles: 0 });
    expect(await vehicles()).toEqual([null, null, null]);
  });
});

test("the captures stay known: announced again, they are not ingested again", async () => {
  await threeFiles();
  await forget("car-1");
  await expect(world.convert({ "car-1/a": captureOf(3) })).rejects.toThrow("in the table already");
  world.ledger.entries.clear();
  world.ledger.mark = null;
  // From the log alone: the ledger was lost.
  await world.ingest({ "car-5/a": captureOf(1, DAY, 7) });
  await expect(world.convert({ "car-1/a": captureOf(3) })).rejects.toThrow("in the table already");
});

test("the bytes are gone once vacuum has run after the retention, not before", async () => {
  await threeFiles();
  world.nowMs = 1_000;
  await forget("car-1");
  const holds = () => [...world.objects.objects.keys()].filter((path) => path.includes("batch-")).length;
  const vacuum = async (now: number) =>
    await vacuumTable({ ...world.ports(), now: () => now }, { delete: true });
  await vacuum(1_000 + LEAST_RETENTION);
  expect(holds()).toBe(3);
  await vacuum(1_001 + LEAST_RETENTION);
  expect(holds()).toBe(1);
});

describe("beside other writers", () => {
  test("rows of the vehicle that are appended meanwhile are found, and removed too", async () => {
    await threeFiles();
    const gate = once("log.commit", "before", () => world.ingest({ "car-1/late": captureOf(9, DAY, 9) }));
    expect(await forget("car-1", gate)).toMatchObject({
      version: 6,
      commits: 2,
      rows: 16,
      lateFiles: 1,
      remaining: [],
    });
    expect(await vehicles()).not.toContain("car-1");
  });

  test("rows that an OPTIMIZE moves into another file meanwhile are removed there", async () => {
    await threeFiles();
    const gate = once("log.commit", "before", () => optimizeTable(world.ports(), optimizeDefaults));
    expect(await forget("car-1", gate)).toMatchObject({
      version: 5,
      rows: 7,
      rewrittenFiles: 1,
      removedFiles: 0,
    });
    expect(await vehicles()).toHaveLength(14);
    expect(await vehicles()).not.toContain("car-1");
  });

  test("an OPTIMIZE that a forgetting overtakes gives up: the rows do not come back", async () => {
    await threeFiles();
    const gate = once("log.commit", "before", () => forget("car-1"));
    expect(await optimizeTable(world.ports(gate), optimizeDefaults)).toMatchObject({
      commits: 0,
      givenUp: 1,
    });
    expect(await vehicles()).not.toContain("car-1");
    expect(await vehicles()).toHaveLength(14);
  });

  test("a changed schema is read anew, and the work is done under it", async () => {
    await threeFiles();
    const metaData = (await world.actions(0)).flatMap((action) => action.metaData ?? [])[0]!;
    const gate = once("log.commit", "before", () => world.foreignCommit([{ metaData }]));
    expect(await forget("car-1", gate)).toMatchObject({ version: 5, rows: 7, remaining: [] });
    expect(await vehicles()).not.toContain("car-1");
  });

  test("others who take each file first: what remains is named", async () => {
    await threeFiles();
    const gate: Gate = {
      pass: async (step, moment) => {
        if (step !== "log.commit" || moment !== "before") return;
        const adds = (await world.live()).map((add) => ({ add }));
        await world.foreignCommit(adds);
      },
    };
    const result = await forget("car-1", gate);
    expect(result).toMatchObject({ commits: 0, rows: 0 });
    expect(result.remaining.map(({ reason }) => reason)).toContain("other writers were faster each time");
  });
});

test("a crash between putting and committing changes nothing, and the next run does the work", async () => {
  await threeFiles();
  const gate = once("log.commit", "before", async () => {
    throw new Error("killed");
  });
  const before = await world.rows();
  await expect(forget("car-1", gate)).rejects.toThrow("killed");
  expect(await world.rows()).toEqual(before);
  expect(await forget("car-1")).toMatchObject({ rows: 7 });
});

test("a file that cannot be read is named as one that may still have rows, and the others are done", async () => {
  await threeFiles();
  const [first] = await world.live();
  await world.objects.put(first?.path ?? "", new Uint8Array(first?.size ?? 0));
  const result = await forget("car-1");
  expect(result.rows).toBe(4);
  expect(result.remaining).toEqual([
    { path: first?.path, reason: expect.stringContaining("is damaged, at byte") },
  ]);
});

describe("is refused, before anything is written,", () => {
  test.each(["delta.appendOnly", "delta.enableChangeDataFeed"])("with %s", async (property) => {
    await threeFiles();
    const metaData = (await world.actions(0)).flatMap((action) => action.metaData ?? [])[0]!;
    const configuration = { ...metaData.configuration, [property]: "true" };
    await world.foreignCommit([{ metaData: { ...metaData, configuration } }]);
    const objects = world.objects.objects.size;
    await expect(forget("car-1")).rejects.toThrow(`${property} = true`);
    expect(world.objects.objects.size).toBe(objects);
  });

  test("with advice that works: Spark's DELETE is refused on an append-only table as well", async () => {
    await threeFiles();
    const metaData = (await world.actions(0)).flatMap((action) => action.metaData ?? [])[0]!;
    const configuration = { ...metaData.configuration, "delta.appendOnly": "true" };
    await world.foreignCommit([{ metaData: { ...metaData, configuration } }]);
    const refusal = await forget("car-1").catch((error: unknown) => String(error));
    expect(refusal).not.toMatch(/run Spark's DELETE/);
    expect(refusal).toContain("UNSET TBLPROPERTIES ('delta.appendOnly')");
    // The advice, followed.
    await world.foreignCommit([{ metaData }]);
    expect(await forget("car-1")).toMatchObject({ rows: 7, remaining: [] });
  });
});

describe("where rows are deleted by deletion vectors", () => {
  /** The file that has rows of car-0 (rows 0 and 1), car-1 (2 to 5) and car-2 (6 to 10). */
  const mixed = async () => (await world.live()).find(({ stats }) => stats?.includes("car-0"))!;

  test.each(["log", "file"] as const)(
    "they do not come back when their file is written anew (%s)",
    async (place) => {
      await threeFiles();
      await world.deleteRows(await mixed(), [0, 3, 10], place);
      const others = (await world.rows()).filter(({ vehicle_id }) => vehicle_id !== "car-1");
      expect(await forget("car-1")).toMatchObject({
        rows: 6,
        removedFiles: 1,
        rewrittenFiles: 1,
        remaining: [],
      });
      expect(await world.rows()).toEqual(others);
    },
  );

  test("a file in which nothing else is left is removed", async () => {
    await threeFiles();
    await world.deleteRows(await mixed(), [0, 1, 6, 7, 8, 9, 10]);
    expect(await forget("car-1")).toMatchObject({ rows: 7, removedFiles: 2, rewrittenFiles: 0 });
    expect(await vehicles()).not.toContain("car-1");
  });

  test("rows of the vehicle that were deleted already are taken out of their file too", async () => {
    await threeFiles();
    const before = await mixed();
    // Statistics of the rows that are left, as a writer may compute them anew.
    const stats = JSON.stringify({ ...JSON.parse(before.stats ?? ""), minValues: { vehicle_id: "car-2" } });
    await world.deleteRows({ ...before, stats }, [0, 1, 2, 3, 4, 5]);
    const others = (await world.rows()).filter(({ vehicle_id }) => vehicle_id !== "car-1");
    expect(await forget("car-1")).toMatchObject({ rows: 3, removedFiles: 1, rewrittenFiles: 1 });
    expect(await world.rows()).toEqual(others);
    expect((await world.live()).map(({ path }) => path)).not.toContain(before.path);
    await forget("car-0");
    expect(await forget("car-0")).toMatchObject({ commits: 0 });
  });

  test("a vector that cannot be read leaves its file among those that may still have rows", async () => {
    await threeFiles();
    const file = await mixed();
    const deletionVector = { storageType: "i", pathOrInlineDv: "00000", sizeInBytes: 4, cardinality: 1 };
    await world.foreignCommit([
      { remove: { path: file.path, dataChange: true, deletionTimestamp: NOW } },
      { add: { ...file, deletionVector } },
    ]);
    const result = await forget("car-1");
    expect(result).toMatchObject({ rows: 3, commits: 1 });
    expect(result.remaining).toEqual([
      { path: file.path, reason: expect.stringContaining("has a deletion vector that cannot be read") },
    ]);
  });

  test("rows that are deleted while their file is being written anew do not come back", async () => {
    await threeFiles();
    const file = await mixed();
    const gate = once("log.commit", "before", async () => void (await world.deleteRows(file, [0, 2])));
    expect(await forget("car-1", gate)).toMatchObject({ rows: 6, lateFiles: 1, remaining: [] });
    expect(await vehicles()).not.toContain("car-1");
    expect((await vehicles()).filter((vehicle) => vehicle === "car-0")).toHaveLength(1);
  });
});

test("no file is begun after the deadline; what remains is named", async () => {
  await threeFiles();
  const result = await forget("car-1", null, { deadlineMs: NOW });
  expect(result).toMatchObject({ commits: 0, stopped: "the time was up; run it again" });
  expect(result.remaining).toHaveLength(2);
});
