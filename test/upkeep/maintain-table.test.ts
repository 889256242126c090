import { ConditionalLogStore, commitFileName, RetryableError } from "@deltacap/delta";
import { beforeEach, describe, expect, test } from "vitest";
import { createTableBody } from "../../src/commit/commit-body.ts";
import { nodePageCompressor } from "../../src/node/page-compressor.ts";
import { nodeParquetWriter } from "../../src/node/parquet.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import { optimizeDefaults } from "../../src/settings.ts";
import { checkpointTable } from "../../src/upkeep/checkpoint-table.ts";
import { type MaintenanceSettings, maintainTable } from "../../src/upkeep/maintain-table.ts";
import { MemoryObjectStore } from "../support/memory/memory-object-store.ts";

const NOW = Date.UTC(2026, 10, 30);

let store: MemoryObjectStore;
beforeEach(() => {
  store = new MemoryObjectStore();
});

const portsNow = () => ({
  log: new ConditionalLogStore(store),
  table: store,
  parquet: nodeParquetWriter,
  checkpointCompressor: nodePageCompressor,
  now: () => NOW,
  newId: () => "id",
  random: () => 0,
  sleep: async () => {},
  engineInfo: "test/1.0.0",
});

async function putVersions(last: number, configuration: object = {}, protocol: object = {}): Promise<void> {
  for (let version = 0; version <= last; version++) {
    const [info, , meta] = Buffer.from(
      createTableBody(packetTable, "t", { txnId: "t", timestamp: 1, engineInfo: "e" }),
    )
      .toString()
      .split("\n");
    const metadata = JSON.parse(meta ?? "{}") as { metaData: { configuration: object } };
    const first = [
      info,
      JSON.stringify({ protocol: { minReaderVersion: 1, minWriterVersion: 2, ...protocol } }),
      JSON.stringify({ metaData: { ...metadata.metaData, configuration } }),
    ].join("\n");
    const file = {
      path: `date=2026-01-01/f${version}.parquet`,
      partitionValues: { date: "2026-01-01" },
      size: version * 100,
      modificationTime: 1,
      dataChange: true,
    };
    await store.put(
      `_delta_log/${commitFileName(version)}`,
      Buffer.from(version === 0 ? first : JSON.stringify({ add: file })),
    );
  }
}

const checkpoint = async (interval: number, always = false) =>
  await checkpointTable(portsNow(), { interval, always });

describe("a checkpoint is due", () => {
  test("so many versions after the last, and not before", async () => {
    await putVersions(9);
    expect(await checkpoint(10)).toEqual({ outcome: "not due", version: 9, checkpoint: null });
    await putVersions(10);
    expect(await checkpoint(10)).toMatchObject({ outcome: "written", version: 10, files: 10, actions: 12 });
    await putVersions(19);
    expect(await checkpoint(10)).toEqual({ outcome: "not due", version: 19, checkpoint: 10 });
    await putVersions(20);
    expect(await checkpoint(10)).toMatchObject({ outcome: "written", version: 20, files: 20 });
  });

  test("once for many that were missed", async () => {
    await putVersions(57);
    expect(await checkpoint(10)).toMatchObject({ outcome: "written", version: 57 });
    expect(await checkpoint(10)).toMatchObject({ outcome: "not due", checkpoint: 57 });
  });

  test.each([
    ["3", "written"],
    ["4", "not due"],
    ["often", "not due"],
    ["0", "not due"],
  ])("as often as the table's property says: %s", async (interval, outcome) => {
    await putVersions(3, { "delta.checkpointInterval": interval });
    expect(await checkpoint(10)).toMatchObject({ outcome });
  });

  test("always, where somebody asks for it, but of a version that has one", async () => {
    await putVersions(0);
    expect(await checkpoint(10, true)).toMatchObject({ outcome: "written", version: 0 });
    expect(await checkpoint(10, true)).toMatchObject({ outcome: "not due", version: 0, checkpoint: 0 });
    await putVersions(1);
    expect(await checkpoint(10, true)).toMatchObject({ outcome: "written", version: 1 });
  });

  test("never of a table that does not exist yet", async () => {
    expect(await checkpoint(1)).toEqual({ outcome: "no table" });
  });

  test("and left alone where somebody is faster", async () => {
    await putVersions(10);
    const ports = portsNow();
    const create = (path: string) => {
      // Another writer's, put while ours was built: no reader of this test looks into it.
      store.objects.set(path, { body: Buffer.from("theirs"), modifiedMs: 1 });
      return store.create(path);
    };
    const table = Object.assign(Object.create(store) as MemoryObjectStore, { create });
    expect(await checkpointTable({ ...ports, table }, { interval: 10 })).toEqual({
      outcome: "exists",
      version: 10,
    });
    expect(await store.read("_delta_log/_last_checkpoint")).toBeNull();
  });
});

describe("a table that asks for other checkpoints keeps its own writers'", () => {
  test.each<[string, object, object, string]>([
    [
      "an unknown feature",
      {},
      { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ["x"], writerFeatures: ["x"] },
      "table feature x",
    ],
    [
      "a newer version",
      {},
      { minReaderVersion: 4, minWriterVersion: 8 },
      "minReaderVersion 4; minWriterVersion 8",
    ],
    [
      "statistics as structs",
      { "delta.checkpoint.writeStatsAsStruct": "TRUE" },
      {},
      "delta.checkpoint.writeStatsAsStruct = TRUE",
    ],
    [
      "no statistics as JSON",
      { "delta.checkpoint.writeStatsAsJson": "false" },
      {},
      "delta.checkpoint.writeStatsAsJson = false",
    ],
  ])("%s", async (_, configuration, protocol, reason) => {
    await putVersions(10, configuration, protocol);
    expect(await checkpoint(10)).toEqual({ outcome: "left to others", version: 10, reason });
    expect([...store.objects.keys()].filter((path) => path.includes("checkpoint"))).toEqual([]);
  });

  test.each<[string, object, object]>([
    [
      "features whose fields a checkpoint has",
      {},
      {
        minReaderVersion: 3,
        minWriterVersion: 7,
        readerFeatures: ["deletionVectors", "v2Checkpoint"],
        writerFeatures: ["deletionVectors", "v2Checkpoint", "rowTracking", "domainMetadata"],
      },
    ],
    ["the V2 policy, under which classic ones are allowed", { "delta.checkpointPolicy": "v2" }, {}],
    [
      "statistics as JSON by name",
      { "delta.checkpoint.writeStatsAsJson": "true", "delta.checkpoint.writeStatsAsStruct": "false" },
      {},
    ],
  ])("but not one with %s", async (_, configuration, protocol) => {
    await putVersions(10, configuration, protocol);
    expect(await checkpoint(10)).toMatchObject({ outcome: "written" });
  });
});

describe("maintenance", () => {
  const settings: MaintenanceSettings = {
    checkpointInterval: 10,
    optimize: null,
    vacuumMs: null,
    smallBytes: 500,
    deadlineMs: NOW + 1,
  };

  test("writes the checkpoint that is due, and counts the small files of its version", async () => {
    await putVersions(10);
    expect(await maintainTable(portsNow(), settings)).toMatchObject({
      checkpoint: { result: { outcome: "written", files: 10 } },
      // Of 100 to 1,000 bytes.
      smallFiles: { result: 4 },
      optimize: null,
      vacuum: null,
    });
  });

  test("counts the small files where no checkpoint is due, or the table's is left to others", async () => {
    await putVersions(9);
    expect(await maintainTable(portsNow(), settings)).toMatchObject({
      checkpoint: { result: { outcome: "not due" } },
      smallFiles: { result: 4 },
    });
    await putVersions(10, { "delta.checkpoint.writeStatsAsStruct": "true" });
    expect(await maintainTable(portsNow(), settings)).toMatchObject({
      checkpoint: { result: { outcome: "left to others" } },
      smallFiles: { result: 4 },
    });
  });

  test("goes on after a checkpoint that fails", async () => {
    await putVersions(10);
    const ports = {
      ...portsNow(),
      checkpointCompressor: {
        codec: 0 as const,
        compress: () => {
          throw new Error("no memory");
        },
      },
    };
    const report = await maintainTable(ports, { ...settings, vacuumMs: 1 });
    expect(report.checkpoint).toEqual({ error: new Error("no memory") });
    expect(report.smallFiles).toEqual({ result: 4 });
    expect(report.vacuum).toMatchObject({ result: { files: 0, retentionMs: 168 * 3_600_000 } });
  });

  test("reads each commit since the last checkpoint once, whether or not one is due", async () => {
    await putVersions(10);
    for (const interval of [11, 10]) {
      const reads = new Map<string, number>();
      const { log, ...ports } = portsNow();
      const read = (name: string, range?: { start: number; length: number }) => {
        if (name.endsWith(".json")) reads.set(name, (reads.get(name) ?? 0) + 1);
        return log.read(name, range);
      };
      const counting = Object.assign(Object.create(log) as typeof log, {
        read,
        list: (from: string) => log.list(from),
      });
      await maintainTable({ ...ports, log: counting }, { ...settings, checkpointInterval: interval });
      expect([reads.size, ...new Set(reads.values())]).toEqual([11, 1]);
    }
  });

  test("says that files cannot be listed, which fails no checkpoint that is not due", async () => {
    await putVersions(10);
    await maintainTable(portsNow(), settings);
    await putVersions(11);
    const { log, ...ports } = portsNow();
    let left = Number.POSITIVE_INFINITY;
    let reads = 0;
    const failing = Object.assign(Object.create(log) as typeof log, {
      list: (from: string) => log.list(from),
      read: (name: string, range?: { start: number; length: number }) => {
        if (name.endsWith(".checkpoint.parquet") && ++reads > left) throw new RetryableError("S3 is away");
        return log.read(name, range);
      },
    });
    // As many as the state takes without its files.
    await checkpointTable({ ...ports, log: failing }, { interval: 10 });
    left = reads;
    reads = 0;
    expect(await maintainTable({ ...ports, log: failing }, settings)).toMatchObject({
      checkpoint: { result: { outcome: "not due" } },
      smallFiles: { error: new RetryableError("S3 is away") },
    });
  });

  test("has no number of small files where the log cannot be read, and says why", async () => {
    await putVersions(3);
    await store.remove([`_delta_log/${commitFileName(1)}`]);
    const report = await maintainTable(portsNow(), settings);
    expect(report).toMatchObject({ checkpoint: { error: expect.any(Error) }, smallFiles: null });
  });

  test("goes on after an optimize that is refused", async () => {
    await putVersions(10, { "delta.appendOnly": "true" });
    const report = await maintainTable(portsNow(), { ...settings, optimize: optimizeDefaults, vacuumMs: 1 });
    expect(report.checkpoint).toMatchObject({ result: { outcome: "written" } });
    expect(report.optimize === null || "error" in report.optimize || "result" in report.optimize).toBe(true);
    expect(report.vacuum).toMatchObject({ result: { version: 10 } });
  });

  test("begins nothing after the deadline but the checkpoint", async () => {
    await putVersions(10);
    const report = await maintainTable(portsNow(), {
      ...settings,
      optimize: optimizeDefaults,
      vacuumMs: 1,
      deadlineMs: NOW,
    });
    expect(report).toMatchObject({
      checkpoint: { result: { outcome: "written" } },
      optimize: null,
      vacuum: null,
    });
  });

  test("has nothing to do where there is no table yet", async () => {
    const report = await maintainTable(portsNow(), { ...settings, optimize: optimizeDefaults, vacuumMs: 1 });
    expect(report).toEqual({
      checkpoint: { result: { outcome: "no table" } },
      smallFiles: null,
      optimize: null,
      vacuum: null,
    });
  });
});
