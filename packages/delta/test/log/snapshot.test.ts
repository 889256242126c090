import { beforeEach, describe, expect, test } from "vitest";
import { MemoryObjectStore } from "../../../../test/support/memory/memory-object-store.ts";
import { deltaLogFixture } from "../../../../test/support/tables/delta-log-fixture.ts";
import { TableRefusedError } from "../../src/errors.ts";
import { readSnapshot, refreshed } from "../../src/log/snapshot.ts";
import { ConditionalLogStore } from "../../src/stores/conditional-log-store.ts";
import { commitFileName, type LogStore } from "../../src/stores/log-store.ts";

const CHECKPOINT = "00000000000000000003.checkpoint.parquet";

let store: MemoryObjectStore;
let log: LogStore;
beforeEach(async () => {
  store = await deltaLogFixture();
  log = new ConditionalLogStore(store);
});

const removeLog = async (...names: string[]) => await store.remove(names.map((name) => `_delta_log/${name}`));
const putLog = async (name: string, text: string) =>
  await store.put(`_delta_log/${name}`, new TextEncoder().encode(text));
const commits = (...versions: number[]) => versions.map(commitFileName);

/** Reads counted by file. */
function counting(names: string[]): LogStore {
  return {
    repair: async () => {},
    list: (from) => log.list(from),
    remains: async () => await log.remains(),
    commit: async (version, body) => await log.commit(version, body),
    read: async (name, range) => {
      names.push(name);
      return await log.read(name, range);
    },
  };
}

describe("the newest state of a log that another engine wrote", () => {
  test("is the same from the checkpoint as from the commits", async () => {
    const snapshot = await readSnapshot(log);
    expect(snapshot).toMatchObject({
      version: 4,
      protocol: { minReaderVersion: 1, minWriterVersion: 2 },
      metadata: { partitionColumns: ["date"], configuration: {}, format: { provider: "parquet" } },
    });
    await removeLog(CHECKPOINT, "_last_checkpoint");
    const replayed = await readSnapshot(log);
    expect(replayed).toMatchObject({ ...snapshot, metadata: { ...snapshot?.metadata } });
  });

  test("needs no commit before the checkpoint, and reads none", async () => {
    const read: string[] = [];
    await readSnapshot(counting(read));
    expect(new Set(read)).toEqual(new Set(["_last_checkpoint", CHECKPOINT, commitFileName(4)]));
    await removeLog(...commits(0, 1, 2, 3));
    expect((await readSnapshot(log))?.version).toBe(4);
    await removeLog(...commits(4));
    expect((await readSnapshot(log))?.version).toBe(3);
  });

  test.each<[string, string | null]>([
    ["missing", null],
    ["no JSON", '{"vers'],
    ["stale", '{"version":1,"size":1}'],
    ["beyond the log", '{"version":77,"size":1}'],
    ["nonsense", '{"version":"3"}'],
    ["an array", "[]"],
  ])("is the same when _last_checkpoint is %s", async (_, hint) => {
    if (hint === null) await removeLog("_last_checkpoint");
    else await putLog("_last_checkpoint", hint);
    const read: string[] = [];
    expect((await readSnapshot(counting(read)))?.version).toBe(4);
    expect(read).not.toContain(commitFileName(2));
  });

  test("holds the newest version of each application's transactions", async () => {
    await putLog(commitFileName(5), '{"txn":{"appId":"a","version":1}}\n{"txn":{"appId":"b","version":7}}');
    await putLog(commitFileName(6), '{"txn":{"appId":"a","version":9007199254740993}}');
    expect((await readSnapshot(log))?.transactions).toEqual(
      new Map<string, number | bigint>([
        ["a", 9007199254740993n],
        ["b", 7],
      ]),
    );
  });

  test("is found again from an earlier snapshot by what came since", async () => {
    const earlier = await readSnapshot(log);
    await putLog(commitFileName(5), '{"protocol":{"minReaderVersion":1,"minWriterVersion":4}}');
    const read: string[] = [];
    const now = await refreshed(counting(read), earlier!);
    expect(now).toMatchObject({ version: 5, protocol: { minWriterVersion: 4 } });
    expect(read).toEqual(commits(5));
  });

  test("is read anew when the earlier snapshot's version is gone", async () => {
    const earlier = await readSnapshot(log);
    await removeLog(...commits(4));
    expect((await refreshed(log, earlier!))?.version).toBe(3);
  });

  test("of an empty log is none", async () => {
    expect(await readSnapshot(new ConditionalLogStore(new MemoryObjectStore()))).toBeNull();
  });
});

describe("logs that are refused, by name", () => {
  test.each<[string, () => Promise<void>, string]>([
    ["a missing commit", async () => await putLog(commitFileName(6), "{}"), "version 4 is followed by 6"],
    [
      "a gap after the checkpoint",
      async () => await removeLog(...commits(4)).then(async () => await putLog(commitFileName(5), "{}")),
      "version 3 is followed by 5",
    ],
    [
      "an early log that is gone, without a checkpoint",
      async () => await removeLog(...commits(0, 1), CHECKPOINT, "_last_checkpoint"),
      "begins at version 2",
    ],
    ["a broken checkpoint", async () => await putLog(CHECKPOINT, "PAR1 is not enough"), CHECKPOINT],
    [
      "a log without metadata",
      async () => {
        await removeLog(...commits(0, 1, 2, 3, 4), CHECKPOINT, "_last_checkpoint");
        await putLog(commitFileName(0), '{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}');
      },
      "no metadata",
    ],
  ])("%s", async (_, spoil, named) => {
    await spoil();
    await expect(readSnapshot(log)).rejects.toThrow(TableRefusedError);
    await expect(readSnapshot(log)).rejects.toThrow(named);
  });

  test("an incomplete multi-part checkpoint is no checkpoint", async () => {
    const part = (await log.read(CHECKPOINT))!;
    await removeLog(CHECKPOINT, "_last_checkpoint");
    await store.put("_delta_log/00000000000000000003.checkpoint.0000000001.0000000002.parquet", part);
    const read: string[] = [];
    expect((await readSnapshot(counting(read)))?.version).toBe(4);
    expect(read).toContain(commitFileName(0));
  });

  test("a complete multi-part checkpoint is read whole", async () => {
    const part = (await log.read(CHECKPOINT))!;
    await removeLog(CHECKPOINT, "_last_checkpoint", ...commits(0, 1, 2, 3));
    // Both parts are the same here: the second changes nothing.
    await store.put("_delta_log/00000000000000000003.checkpoint.0000000001.0000000002.parquet", part);
    await store.put("_delta_log/00000000000000000003.checkpoint.0000000002.0000000002.parquet", part);
    expect((await readSnapshot(log))?.version).toBe(4);
  });
});
