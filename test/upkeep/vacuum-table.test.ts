import { beforeEach, describe, expect, test } from "vitest";
import { optimizeDefaults } from "../../src/settings.ts";
import { checkpointTable } from "../../src/upkeep/checkpoint-table.ts";
import { optimizeTable } from "../../src/upkeep/optimize-table.ts";
import { LEAST_RETENTION, type VacuumOptions, vacuumTable } from "../../src/upkeep/vacuum-table.ts";
import { gzip } from "../support/parquet/read-back.ts";
import { captureOf, DATE, DAY, PacketsWorld } from "../support/tables/packets-world.ts";

let world: PacketsWorld;

beforeEach(() => {
  world = new PacketsWorld();
});

/** The store's clock counts puts, so that all that is there now is older than `moment()`, and younger than what follows. */
const moment = () => world.objects.objects.size + 1;

/** Vacuum, at a time when files from before `cutoffMs` are past the retention. */
async function vacuum(cutoffMs: number, options: Partial<VacuumOptions> = {}) {
  const ports = { ...world.ports(), now: () => cutoffMs + (options.retentionMs ?? LEAST_RETENTION) };
  const names: string[] = [];
  const onFile = ({ path }: { path: string }) => void names.push(path);
  return { ...(await vacuumTable(ports, { delete: true, onFile, ...options })), names };
}

const paths = async () => (await world.live()).map(({ path }) => path);
const isThere = (path: string) => world.objects.objects.has(path);

async function put(path: string) {
  await world.objects.put(path, new Uint8Array(10));
}

/** A table of two files that became one at time `removedMs`. */
async function optimized(removedMs: number) {
  await world.ingest({ "car-1/a": captureOf(3) });
  await world.ingest({ "car-2/a": captureOf(3, DAY, 1) });
  const removed = await paths();
  world.nowMs = removedMs;
  await optimizeTable(world.ports(), optimizeDefaults);
  return removed;
}

const orphan = `date=${DATE}/nobody-00000.parquet`;

test("deletes files that nobody committed, and spares those that are live", async () => {
  await world.ingest({ "car-1/a": captureOf(3) });
  await put(orphan);
  const live = await paths();
  expect(await vacuum(moment())).toMatchObject({
    files: 1,
    bytes: 10,
    names: [orphan],
    deleted: true,
    version: 1,
  });
  expect(isThere(orphan)).toBe(false);
  expect(live.every(isThere)).toBe(true);
  expect(await world.rows()).toHaveLength(3);
});

test("only tells what it would delete, unless it is told to", async () => {
  await world.ingest({ "car-1/a": captureOf(3) });
  await put(orphan);
  expect(await vacuum(moment(), { delete: false })).toMatchObject({
    files: 1,
    names: [orphan],
    deleted: false,
  });
  expect(isThere(orphan)).toBe(true);
});

test("spares a converter's files that wait for their commit, which then succeeds", async () => {
  await world.ingest({ "car-1/a": captureOf(3) });
  const cutoff = moment();
  const manifest = await world.convert({ "car-2/a": captureOf(4, DAY, 1) });
  expect(await vacuum(cutoff)).toMatchObject({ files: 0 });
  expect(await world.commit(manifest)).toMatchObject([{ outcome: "committed" }]);
  expect(await world.rows()).toHaveLength(7);
});

test("a file that waited longer than the retention is gone, and its captures are sent back instead of committed", async () => {
  await world.ingest({ "car-1/a": captureOf(3) });
  const manifest = await world.convert({ "car-2/a": captureOf(4, DAY, 1) });
  expect(await vacuum(moment())).toMatchObject({ files: 1 });
  expect(await world.commit(manifest)).toMatchObject([{ outcome: "sent back", sources: 1 }]);
});

describe("files that were removed", () => {
  test("stay until their removal is as long ago as the retention, however old they are", async () => {
    const removed = await optimized(1_000);
    expect(await vacuum(1_000)).toMatchObject({ files: 0 });
    expect(removed.every(isThere)).toBe(true);
    expect(await vacuum(1_001)).toMatchObject({ files: 2, names: removed });
    expect(await world.rows()).toHaveLength(6);
  });

  test("stay where the time of their removal is not known", async () => {
    await world.ingest({ "car-1/a": captureOf(3) });
    const [path] = await paths();
    await world.foreignCommit([{ remove: { path, dataChange: true } }]);
    expect(await vacuum(1_000_000)).toMatchObject({ files: 0 });
  });

  test("stay for as long as the table's property asks, which is then the default", async () => {
    await world.ingest({ "car-1/a": captureOf(3) });
    const metaData = (await world.actions(0)).flatMap((action) => action.metaData ?? [])[0]!;
    const configuration = {
      ...metaData.configuration,
      "delta.deletedFileRetentionDuration": "interval 2 weeks",
    };
    await world.foreignCommit([{ metaData: { ...metaData, configuration } }]);
    const ports = { ...world.ports(), now: () => 10 * LEAST_RETENTION };
    const result = await vacuumTable(ports, { delete: false });
    expect(result.retentionMs).toBe(2 * LEAST_RETENTION);
    await expect(vacuumTable(ports, { delete: true, retentionMs: LEAST_RETENTION })).rejects.toThrow(
      "at least 336 are needed",
    );
  });
});

test("a removal that the checkpoint has forgotten counts as long as vacuum's own retention", async () => {
  await world.ingest({ "car-1/a": captureOf(3) });
  const metaData = (await world.actions(0)).flatMap((action) => action.metaData ?? [])[0]!;
  const configuration = {
    ...metaData.configuration,
    "delta.deletedFileRetentionDuration": "interval 1 hours",
  };
  await world.foreignCommit([{ metaData: { ...metaData, configuration } }]);
  const [path = ""] = await paths();
  const cutoff = moment();
  await world.foreignCommit([{ remove: { path, dataChange: true, deletionTimestamp: cutoff } }]);
  const now = () => cutoff + 2 * 3_600_000;
  const ports = { ...world.ports(), checkpointCompressor: gzip, now };
  expect(await checkpointTable(ports, { interval: 1 })).toMatchObject({ outcome: "written", version: 3 });
  expect(await vacuum(cutoff)).toMatchObject({ files: 0, retentionMs: LEAST_RETENTION });
  expect(isThere(path)).toBe(true);
  expect(await vacuum(1_000_000)).toMatchObject({ files: 1 });
});

test("a file that another writer brings back while vacuum lists is spared", async () => {
  const removed = await optimized(1_000);
  const adds = (await world.actions(1)).concat(await world.actions(2)).flatMap(({ add }) => add ?? []);
  const { table } = world.ports();
  let restored = false;
  const list = async function* (prefix: string, after?: string) {
    yield* table.list(prefix, after);
    if (!restored) await world.foreignCommit(adds.map((add) => ({ add })));
    restored = true;
  };
  const ports = {
    ...world.ports(),
    table: { ...world.objects, list, remove: async () => Promise.reject(new Error("deleted")) } as never,
  };
  const result = await vacuumTable({ ...ports, now: () => 2_000 + LEAST_RETENTION }, { delete: true });
  expect(result).toMatchObject({ files: 0, version: 4 });
  expect(removed.every(isThere)).toBe(true);
});

describe("what is not the table's data", () => {
  test("hidden files and folders are never touched, at any depth", async () => {
    await world.ingest({ "car-1/a": captureOf(3) });
    const hidden = [
      "_manifests/m.parquet",
      "_deltacap/tmp/x.parquet",
      ".trash/x.parquet",
      `date=${DATE}/_x/y.parquet`,
      `date=${DATE}/.y.parquet`,
      "_z.parquet",
    ];
    for (const path of hidden) await put(path);
    await put("zz/orphan.parquet");
    expect(await vacuum(moment())).toMatchObject({ names: ["zz/orphan.parquet"] });
    expect(hidden.every(isThere)).toBe(true);
    expect(await world.versions()).toEqual([0, 1]);
  });

  test("files of another kind are counted, and left", async () => {
    await world.ingest({ "car-1/a": captureOf(3) });
    await put("README.txt");
    expect(await vacuum(moment())).toMatchObject({ files: 0, otherFiles: 1 });
    expect(isThere("README.txt")).toBe(true);
  });
});

describe("paths are read as the log writes them", () => {
  const odd = "date=2026-03-01/a b%41+&=ä.parquet";

  test("decoded once, so that a name with a percent sign is spared", async () => {
    await world.ingest({ "car-1/a": captureOf(3) });
    await put(odd);
    // Decoded twice it would be this one, which nobody refers to.
    const twice = "date=2026-03-01/a bA+&=ä.parquet";
    await put(twice);
    const path = odd
      .split("/")
      .map((segment) => encodeURIComponent(segment))
      .join("/");
    await world.foreignCommit([
      { add: { path, partitionValues: { date: DATE }, size: 10, modificationTime: 1, dataChange: true } },
    ]);
    expect(await vacuum(moment())).toMatchObject({ names: [twice] });
  });

  test("an absolute path spares the file of that name in this folder", async () => {
    await world.ingest({ "car-1/a": captureOf(3) });
    await put(orphan);
    await world.foreignCommit([
      {
        add: {
          path: `s3://bucket/table/${orphan}`,
          partitionValues: { date: DATE },
          size: 10,
          modificationTime: 1,
          dataChange: true,
        },
      },
    ]);
    expect(await vacuum(moment())).toMatchObject({ files: 0 });
  });

  test("a deletion vector's file is spared while its data file is, and deleted when nobody refers to it", async () => {
    await world.ingest({ "car-1/a": captureOf(3) });
    // The UUID's name in Z85, as the Delta protocol's example has it.
    const used = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin";
    const unused = "deletion_vector_00000000-0000-0000-0000-000000000001.bin";
    await put(used);
    await put(unused);
    const [file] = await world.live();
    const deletionVector = {
      storageType: "u",
      pathOrInlineDv: "ab^-aqEH.-t@S}K{vb[*k^",
      offset: 1,
      sizeInBytes: 36,
      cardinality: 1,
    };
    await world.foreignCommit([
      { remove: { path: file?.path, dataChange: true, deletionTimestamp: 1 } },
      { add: { ...file, deletionVector } },
    ]);
    expect(await vacuum(moment())).toMatchObject({ names: [unused] });
    await world.foreignCommit([
      { add: { ...file, deletionVector: { ...deletionVector, storageType: "x" } } },
    ]);
    await expect(vacuum(moment())).rejects.toThrow("storage type x");
  });
});

describe("is refused, before anything is deleted,", () => {
  test("with a retention under a week, unless that is allowed", async () => {
    await world.ingest({ "car-1/a": captureOf(3) });
    await put(orphan);
    await expect(vacuum(moment(), { retentionMs: 3_600_000 })).rejects.toThrow(
      "a retention of 1 hours: at least 168",
    );
    expect(isThere(orphan)).toBe(true);
    expect(await vacuum(moment(), { retentionMs: 3_600_000, allowShortRetention: true })).toMatchObject({
      files: 1,
    });
  });

  test.each([
    [
      { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ["novelty"], writerFeatures: ["novelty"] },
      "table feature novelty",
    ],
    [
      { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ["catalogManaged"] },
      "table feature catalogManaged",
    ],
    [{ minReaderVersion: 4, minWriterVersion: 7, writerFeatures: [] }, "minReaderVersion 4"],
  ])("for a protocol that is not understood: %j", async (protocol, reason) => {
    await world.ingest({ "car-1/a": captureOf(3) });
    await put(orphan);
    await world.foreignCommit([{ protocol }]);
    await expect(vacuum(moment())).rejects.toThrow(reason);
    expect(isThere(orphan)).toBe(true);
  });

  test("where there is no table", async () => {
    await put(orphan);
    await expect(vacuum(moment())).rejects.toThrow("no table");
  });
});

test("what was removed at a time that is none is not taken for removed long ago: refused by name", async () => {
  await world.ingest({ "car-1/a": captureOf(3) });
  const [file] = await world.live();
  await world.foreignCommit([{ remove: { path: file?.path, dataChange: true, deletionTimestamp: "x" } }]);
  await expect(vacuum(moment())).rejects.toThrow(
    /line 2 of 0{19}2.json in the log: remove.deletionTimestamp is "x"/,
  );
  expect(isThere(file?.path ?? "")).toBe(true);
});

test("vacuumProtocolCheck is what it does anyway", async () => {
  await world.ingest({ "car-1/a": captureOf(3) });
  await put(orphan);
  const features = ["vacuumProtocolCheck", "deletionVectors"];
  await world.foreignCommit([
    {
      protocol: {
        minReaderVersion: 3,
        minWriterVersion: 7,
        readerFeatures: features,
        writerFeatures: features,
      },
    },
  ]);
  expect(await vacuum(moment())).toMatchObject({ names: [orphan] });
});

test("nothing is deleted after the deadline", async () => {
  await world.ingest({ "car-1/a": captureOf(3) });
  await put(orphan);
  const result = await vacuum(moment(), { deadlineMs: 1 });
  expect(result).toMatchObject({ files: 0, stopped: "the time was up; the next run goes on" });
  expect(isThere(orphan)).toBe(true);
});
