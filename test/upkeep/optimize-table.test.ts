import { readFileSync } from "node:fs";
import { DataFileReader } from "@deltacap/delta";
import { beforeEach, describe, expect, test } from "vitest";
import { optimizeDefaults } from "../../src/settings.ts";
import { type OptimizeLimits, type OptimizeOptions, optimizeTable } from "../../src/upkeep/optimize-table.ts";
import { fault, hasFaults } from "../support/captures/faults.ts";
import { type Gate, once } from "../support/memory/gated.ts";
import { written } from "../support/parquet/read-back.ts";
import { definition, rowGroup } from "../support/parquet/table-values.ts";
import { valuesOf } from "../support/tables/column-values.ts";
import { captureOf, DATE, DAY, NOW, PacketsWorld } from "../support/tables/packets-world.ts";

let world: PacketsWorld;

beforeEach(() => {
  world = new PacketsWorld();
});

function optimize(
  gate: Gate | null = null,
  limits: Partial<OptimizeLimits> = {},
  options: OptimizeOptions = {},
) {
  return optimizeTable(world.ports(gate), { ...optimizeDefaults, ...limits }, options);
}

/** Three versions of one file each, whose vehicles and captures interleave. */
async function threeFiles() {
  await world.ingest({ "car-2/a": captureOf(3), "car-1/b": captureOf(4, DAY, 1) });
  await world.ingest({ "car-1/a": captureOf(5, DAY, 2) });
  await world.ingest({ "car-3/a": captureOf(2, DAY, 3), "car-1/c": captureOf(1, DAY, 4) });
}

describe("small files of one date", () => {
  test("become one, with the same rows, sorted by vehicle, capture and packet", async () => {
    await threeFiles();
    const before = await world.rows();
    const result = await optimize();
    expect(result).toMatchObject({
      version: 4,
      commits: 1,
      removedFiles: 3,
      addedFiles: 1,
      rows: 15,
      stopped: null,
    });
    expect(await world.rows()).toEqual(before);
    const [file, ...others] = await world.live();
    expect(others).toEqual([]);
    const rows = await world.rowsOf(file!);
    expect(rows.map(({ capture, packet_number }) => `${String(capture).slice(14)} ${packet_number}`)).toEqual(
      [
        ...["car-1/a 1", "car-1/a 2", "car-1/a 3", "car-1/a 4", "car-1/a 5"],
        ...["car-1/b 1", "car-1/b 2", "car-1/b 3", "car-1/b 4", "car-1/c 1"],
        ...["car-2/a 1", "car-2/a 2", "car-2/a 3", "car-3/a 1", "car-3/a 2"],
      ],
    );
  });

  test("are replaced by a commit that changes no data and names no sources", async () => {
    await threeFiles();
    const inputs = await world.live();
    await optimize();
    const actions = await world.actions(4);
    expect(actions[0]?.commitInfo).toMatchObject({
      operation: "OPTIMIZE",
      readVersion: 3,
      isBlindAppend: false,
      operationMetrics: { numRemovedFiles: "3", numAddedFiles: "1", numOutputRows: "15" },
    });
    expect(actions[0]?.commitInfo?.tags).toBeUndefined();
    const removes = actions.flatMap(({ remove }) => remove ?? []);
    expect(removes.map(({ path }) => path).sort()).toEqual(inputs.map(({ path }) => path));
    expect(
      removes.every(({ dataChange, deletionTimestamp }) => !dataChange && deletionTimestamp === NOW),
    ).toBe(true);
    const [add] = actions.flatMap((action) => action.add ?? []);
    expect(add).toMatchObject({ dataChange: false, partitionValues: { date: DATE } });
    expect(add?.path).toMatch(new RegExp(`^date=${DATE}/[A-Za-z0-9_.-]+-00000\\.parquet$`));
    expect(JSON.parse(add?.stats ?? "")).toMatchObject({
      numRecords: 15,
      minValues: { vehicle_id: "car-1", packet_number: 1, ts: "2026-03-01T00:00:00.000Z" },
      maxValues: { vehicle_id: "car-3", packet_number: 5, ts: "2026-03-01T00:00:04.000Z" },
      nullCount: { vehicle_id: 0, can_id: 15 },
    });
  });

  test("give the same bytes, whatever order the log gives them in", async () => {
    const bodies = [];
    for (let i = 0; i < 2; i++) {
      world = new PacketsWorld();
      await threeFiles();
      await optimize();
      const [file] = await world.live();
      bodies.push(world.objects.objects.get(file?.path ?? "")?.body);
    }
    expect(bodies[0]?.length).toBeGreaterThan(0);
    expect(bodies[1]).toEqual(bodies[0]);
  });

  test("are left alone once they are one: a second run commits nothing", async () => {
    await threeFiles();
    await optimize();
    expect(await optimize()).toMatchObject({ version: 4, commits: 0, removedFiles: 0 });
  });

  test("are merged by date, the null date among them, and only those of the date that is asked for", async () => {
    const twoDays = { "car-1/a": captureOf(2), "car-1/b": captureOf(2, DAY + 1) };
    await world.ingest(twoDays);
    await world.ingest({ "car-2/a": captureOf(2), "car-2/b": captureOf(2, DAY + 1) });
    const before = await world.rows();
    expect(await optimize(null, {}, { date: "2026-03-02" })).toMatchObject({ commits: 1, removedFiles: 2 });
    expect((await world.live()).map(({ partitionValues }) => partitionValues.date)).toEqual([
      DATE,
      DATE,
      "2026-03-02",
    ]);
    expect(await optimize()).toMatchObject({ commits: 1 });
    expect(await world.rows()).toEqual(before);
  });

  test("stay apart where they are large, or would be too large together", async () => {
    await threeFiles();
    const sizes = (await world.live()).map(({ size }) => size);
    expect(await optimize(null, { smallBytes: Math.min(...sizes) })).toMatchObject({ commits: 0 });
    expect(await optimize(null, { fileBytes: sizes[0]! + 1 })).toMatchObject({ commits: 1, removedFiles: 2 });
  });

  test("are merged a few at a time where memory does not suffice for all, and by the next runs into one", async () => {
    for (let i = 0; i < 6; i++) await world.ingest({ [`car-${i}/a`]: captureOf(40, DAY, i) });
    const before = await world.rows();
    const mergeBytes = 3 * 100_000;
    const first = await optimize(null, { mergeBytes });
    expect(first.commits).toBeGreaterThan(1);
    while ((await optimize(null, { mergeBytes })).commits > 0);
    expect((await world.live()).length).toBeLessThan(3);
    expect(await world.rows()).toEqual(before);
  });

  test("of which one takes more memory than there is are left out, and named with what to do", async () => {
    for (let i = 0; i < 3; i++) await world.ingest({ [`car-${i}/a`]: captureOf(40, DAY, i) });
    const result = await optimize(null, { mergeBytes: 1000 });
    expect(result).toMatchObject({ commits: 0 });
    expect(result.leftOut.map(({ reason }) => reason)).toEqual(
      Array(3).fill(
        "its row groups are too large to be merged (setting mergeBytes): Spark's OPTIMIZE can write it with smaller ones",
      ),
    );
  });

  test("of row groups written by memory's limits come out as such again", async () => {
    await world.ingest({ "car-1/a": captureOf(50), "car-3/a": captureOf(50, DAY, 1) }, { rows: 16 });
    await world.ingest({ "car-2/a": captureOf(50, DAY, 2), "car-1/b": captureOf(50, DAY, 3) }, { rows: 16 });
    const before = await world.rows();
    await optimize(null, { rows: 30 });
    expect(await world.rows()).toEqual(before);
    const rows = await world.rowsOf((await world.live())[0]!);
    const keys = rows.map((row) => `${row.capture} ${String(row.packet_number).padStart(3, "0")}`);
    expect(keys).toEqual([...keys].sort());
  });
});

describe("beside other writers", () => {
  test("appends during the rewriting are kept, and the rewriting is committed behind them", async () => {
    await threeFiles();
    const gate = once("table.commit", "after", () => world.ingest({ "car-9/a": captureOf(6, DAY, 9) }));
    expect(await optimize(gate)).toMatchObject({ version: 5, commits: 1, removedFiles: 3 });
    expect(await world.rows()).toHaveLength(21);
    expect(await world.live()).toHaveLength(2);
  });

  test("a file that another writer removed meanwhile makes its group be given up, and its rows stay removed", async () => {
    await threeFiles();
    const [first, ...others] = await world.live();
    const gate = once("log.commit", "before", () =>
      world.foreignCommit([{ remove: { path: first?.path, dataChange: true, deletionTimestamp: NOW } }]),
    );
    expect(await optimize(gate)).toMatchObject({ commits: 0, givenUp: 1, stopped: null });
    expect(await world.live()).toEqual(others);
    expect(await optimize()).toMatchObject({ commits: 1, removedFiles: 2 });
  });

  test.each([
    ["got a deletion vector", []],
    ["got another deletion vector", [0]],
  ])("a file that %s meanwhile is not merged without it, and with it by the next run", async (_, before) => {
    await threeFiles();
    let [first] = await world.live();
    if (before.length > 0) first = await world.deleteRows(first!, before);
    let expected: Record<string, unknown>[] = [];
    const gate = once("log.commit", "before", async () => {
      await world.deleteRows(first!, [...before, 1, 2]);
      expected = await world.rows();
    });
    expect(await optimize(gate)).toMatchObject({ commits: 0, givenUp: 1 });
    expect(await optimize()).toMatchObject({ commits: 1, removedFiles: 3, rows: 13 - before.length });
    expect(await world.rows()).toEqual(expected);
  });

  test.each(["metaData", "protocol"])(
    "a changed %s stops the run before anything is committed",
    async (kind) => {
      await threeFiles();
      const created = (await world.actions(0)).find((action) => kind in action);
      const gate = once("log.commit", "before", () =>
        world.foreignCommit([{ [kind]: created?.[kind as "protocol"] }]),
      );
      const result = await optimize(gate);
      expect(result.commits).toBe(0);
      expect(result.stopped).toContain("version 4 changed the table's");
      expect(await world.live()).toHaveLength(3);
    },
  );

  test("files of two dates are judged against all that was committed since they were listed", async () => {
    const both = (seed: number) => ({
      [`car-${seed}/a`]: captureOf(2, DAY, seed),
      [`car-${seed}/b`]: captureOf(2, DAY + 1, seed),
    });
    await world.ingest(both(1));
    await world.ingest(both(2));
    await world.ingest({ "car-3/a": captureOf(2, DAY, 3) });
    // The second date's file goes while the first date, which has more files, is being committed.
    const second = (await world.live()).find(({ partitionValues }) => partitionValues.date === "2026-03-02");
    const gate = once("log.commit", "after", () =>
      world.foreignCommit([{ remove: { path: second?.path, dataChange: true, deletionTimestamp: NOW } }]),
    );
    expect(await optimize(gate)).toMatchObject({ commits: 1, removedFiles: 3, givenUp: 1 });
    expect(await world.rows()).toHaveLength(8);
  });
});

describe("a run that ends between putting the file and committing it", () => {
  test("changes nothing, and the next run does the work", async () => {
    await threeFiles();
    const before = await world.live();
    const gate = once("log.commit", "before", async () => {
      throw new Error("killed");
    });
    await expect(optimize(gate)).rejects.toThrow("killed");
    expect(await world.live()).toEqual(before);
    expect(await optimize()).toMatchObject({ commits: 1, removedFiles: 3 });
  });

  test("leaves sources known: the same captures add nothing afterwards", async () => {
    await threeFiles();
    await optimize();
    await expect(world.convert({ "car-1/a": captureOf(5, DAY, 2) })).rejects.toThrow("in the table already");
  });
});

describe("files that cannot be merged", () => {
  test("are left out by name, and the others are merged", async () => {
    await threeFiles();
    const [first] = await world.live();
    await world.objects.put(first?.path ?? "", new Uint8Array(first?.size ?? 0));
    const result = await optimize();
    expect(result).toMatchObject({ commits: 1, removedFiles: 2 });
    expect(result.leftOut).toEqual([
      { path: first?.path, reason: expect.stringContaining("is damaged, at byte") },
    ]);
  });

  test.skipIf(!hasFaults)(
    "because three of its bytes were changed, is named, and nothing is rejected later",
    async () => {
      await threeFiles();
      const body = new Uint8Array(readFileSync(fault("parquet/unhandled-1.parquet")));
      await world.objects.putIfAbsent("damaged.parquet", body);
      const { length: size } = body;
      const partitionValues = { date: DATE };
      const add = { path: "damaged.parquet", partitionValues, size, modificationTime: 1, dataChange: true };
      await world.foreignCommit([{ add }]);
      const result = await optimize();
      expect(result).toMatchObject({ commits: 1, removedFiles: 3 });
      const reason = "damaged.parquet is damaged, at byte 2484 (column source_id of row group 0): ";
      expect(result.leftOut).toEqual([{ path: "damaged.parquet", reason: expect.stringContaining(reason) }]);
    },
  );

  test("because a page is damaged, are found out while merging", async () => {
    await threeFiles();
    const [first] = await world.live();
    const body = Uint8Array.from(world.objects.objects.get(first?.path ?? "")?.body ?? []);
    body.fill(0xff, 4, 300);
    await world.objects.put(first?.path ?? "", body);
    const result = await optimize();
    expect(result.leftOut.map(({ path }) => path)).toEqual([first?.path]);
    expect(result).toMatchObject({ commits: 1, removedFiles: 2 });
  });
});

describe("times of other writers", () => {
  const columns = [
    definition("source_id", "string"),
    definition("packet_number", "long"),
    definition("ts", "timestamp"),
  ];

  async function foreignFile(path: string, times: readonly (bigint | null)[]) {
    const numbers = times.map((_, i) => BigInt(i + 1));
    const group = rowGroup(columns, [times.map(() => path), numbers, times]);
    const body = await written(world.ports().parquet, columns, [group]);
    await world.objects.putIfAbsent(path, body);
    const add = {
      path,
      partitionValues: { date: DATE },
      size: body.length,
      modificationTime: 1,
      dataChange: true,
    };
    await world.foreignCommit([{ add }]);
  }

  test("infinite, before the year 1 and after 9999, are kept, and no statistics are given of their years", async () => {
    await threeFiles();
    const times = [
      2n ** 63n - 1n,
      -(2n ** 63n) + 1n,
      -63_517_824_000_000_000n,
      253_402_300_800_000_000n,
      null,
    ];
    await foreignFile("foreign-1.parquet", times);
    expect(await optimize()).toMatchObject({ commits: 1, removedFiles: 4, rows: 20 });
    const [file, ...others] = await world.live();
    expect(others).toEqual([]);
    const stats = JSON.parse(file?.stats ?? "") as Record<string, Record<string, unknown>>;
    expect(stats.minValues).toHaveProperty("source_id");
    expect(stats.minValues).not.toHaveProperty("ts");
    expect(stats.maxValues).not.toHaveProperty("ts");
    expect(stats.nullCount).toMatchObject({ ts: 1 });
    const reader = await DataFileReader.open(world.objects, file!, columns);
    const found = (await reader.read(0)).columns[2];
    const ours = valuesOf(found!).slice(0, 5);
    expect(ours).toEqual(times);
  });

  test("that are alone in their file leave no file behind that no version refers to", async () => {
    await world.ingest({ "car-1/a": captureOf(1) });
    await foreignFile("foreign-1.parquet", [2n ** 63n - 1n]);
    await foreignFile("foreign-2.parquet", [-63_517_824_000_000_000n]);
    const before = world.objects.objects.size;
    expect(await optimize()).toMatchObject({ removedFiles: 3 });
    expect((await world.live()).map(({ path }) => path)).toHaveLength(1);
    // The new file, and its commit.
    expect(world.objects.objects.size).toBe(before + 2);
  });
});

describe("files with a deletion vector", () => {
  test.each(["log", "file"] as const)(
    "are merged without the deleted rows: the vector in the %s",
    async (place) => {
      await threeFiles();
      const [first] = await world.live();
      const { deletionVector } = await world.deleteRows(first!, [0, 2, 3], place);
      const before = await world.rows();
      expect(before).toHaveLength(12);
      expect(await optimize()).toMatchObject({ commits: 1, removedFiles: 3, rows: 12, leftOut: [] });
      expect(await world.rows()).toEqual(before);
      const [merged, ...others] = await world.live();
      expect(others).toEqual([]);
      expect(merged).not.toHaveProperty("deletionVector");
      // The remove names the logical file: the same path with another vector would be another one.
      const removes = (await world.actions(5)).flatMap(({ remove }) => remove ?? []);
      expect(removes.find(({ path }) => path === first?.path)).toMatchObject({
        deletionVector,
        dataChange: false,
      });
    },
  );

  test("are rewritten alone once enough of their rows are deleted, however large they are", async () => {
    await world.ingest({ "car-1/a": captureOf(40) });
    const [file] = await world.live();
    const limits = { smallBytes: 1, deletedShare: 0.05 };
    const two = await world.deleteRows(file!, [7, 8]);
    expect(await optimize(null, limits)).toMatchObject({ commits: 0, removedFiles: 0 });
    await world.deleteRows(two, [7, 8, 9]);
    const before = await world.rows();
    expect(await optimize(null, limits)).toMatchObject({
      commits: 1,
      removedFiles: 1,
      addedFiles: 1,
      rows: 37,
    });
    expect(await world.rows()).toEqual(before);
    expect(await optimize(null, limits)).toMatchObject({ commits: 0 });
  });

  test("that are large are not merged with small ones", async () => {
    await threeFiles();
    const [first, ...small] = await world.live();
    await world.deleteRows(first!, [0]);
    const smallBytes = first?.size ?? 0;
    expect(small.every(({ size }) => size < smallBytes)).toBe(true);
    expect(await optimize(null, { smallBytes })).toMatchObject({
      commits: 2,
      removedFiles: 3,
      addedFiles: 2,
    });
  });

  test("of which every row is deleted are removed, and nothing comes in their place", async () => {
    await world.ingest({ "car-1/a": captureOf(3) });
    const [file] = await world.live();
    await world.deleteRows(file!, [0, 1, 2], "file");
    expect(await optimize()).toMatchObject({ commits: 1, removedFiles: 1, addedFiles: 0, rows: 0 });
    expect(await world.live()).toEqual([]);
  });

  test("that cannot be read are left out by name", async () => {
    await threeFiles();
    const [first] = await world.live();
    await world.deleteRows(first!, [0], "file");
    const vector = [...world.objects.objects.keys()].find((path) => path.startsWith("deletion_vector_"));
    await world.objects.remove([vector ?? ""]);
    const result = await optimize();
    expect(result).toMatchObject({ commits: 1, removedFiles: 2 });
    expect(result.leftOut).toEqual([
      { path: first?.path, reason: expect.stringContaining(`${vector} is gone`) },
    ]);
  });
});

test("a file from before a column was added gets nulls for it", async () => {
  await threeFiles();
  const created = (await world.actions(0)).find(({ metaData }) => metaData !== undefined)?.metaData;
  const schema = JSON.parse(created?.schemaString ?? "") as { fields: object[] };
  schema.fields.push({ name: "weather", type: "string", nullable: true, metadata: {} });
  await world.foreignCommit([{ metaData: { ...created, schemaString: JSON.stringify(schema) } }]);
  expect(await optimize()).toMatchObject({ commits: 1 });
  const rows = await world.rows();
  expect(rows).toHaveLength(15);
  expect(rows.every((row) => "weather" in row && row.weather === null)).toBe(true);
});

test("a table that asks for what rewriting does not do is refused by name before anything is written", async () => {
  await threeFiles();
  const created = (await world.actions(0)).find(({ metaData }) => metaData !== undefined)?.metaData;
  const schema = JSON.parse(created?.schemaString ?? "") as { fields: object[] };
  schema.fields.push({ name: "speed", type: "double", nullable: true, metadata: {} });
  await world.foreignCommit([{ metaData: { ...created, schemaString: JSON.stringify(schema) } }]);
  const objects = world.objects.objects.size;
  await expect(optimize()).rejects.toThrow("column speed of type double");
  expect(world.objects.objects.size).toBe(objects);
});

test("a run looks at so many small files at most, and the next ones at the rest", async () => {
  await threeFiles();
  expect(await optimize(null, { filesPerRun: 2 })).toMatchObject({ commits: 1, removedFiles: 2 });
  expect(await optimize(null, { filesPerRun: 2 })).toMatchObject({ commits: 1, removedFiles: 2 });
  expect(await world.live()).toHaveLength(1);
});

test("a group whose files others took before its turn costs no writing", async () => {
  await threeFiles();
  const [first, second] = await world.live();
  const removes = [first, second].map((add) => ({
    remove: { path: add?.path, dataChange: true, deletionTimestamp: NOW },
  }));
  // After the files were listed and opened.
  const gate = once("table.read", "after", () => world.foreignCommit(removes));
  const objects = world.objects.objects.size;
  expect(await optimize(gate)).toMatchObject({ commits: 0, givenUp: 1 });
  expect(world.objects.objects.size).toBe(objects + 1);
});

test("no group is begun after the deadline", async () => {
  await threeFiles();
  const result = await optimize(null, {}, { deadlineMs: NOW });
  expect(result).toMatchObject({ commits: 0, stopped: "the time was up; the next run goes on" });
});
