import { ConditionalLogStore, commitFileName, type LogStore } from "@deltacap/delta";
import { beforeEach, describe, expect, test } from "vitest";
import { readableFiles } from "../../cli/tables/live-files.ts";
import type { MemoryObjectStore } from "../support/memory/memory-object-store.ts";
import { deltaLogFixture } from "../support/tables/delta-log-fixture.ts";

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

describe("the files of a table that is read", () => {
  const expected = [
    {
      path: expect.stringMatching(/^date=2026-01-02\//) as string,
      partitionValues: { date: "2026-01-02" },
      rows: 1,
      size: 758,
    },
    {
      path: expect.stringMatching(/^date=__HIVE/) as string,
      partitionValues: { date: null },
      rows: 1,
      size: 763,
    },
    {
      path: expect.stringMatching(/^date=2026-01-05\//) as string,
      partitionValues: { date: "2026-01-05" },
      rows: 1,
      size: 768,
    },
  ];

  test("are the same from the checkpoint as from the commits", async () => {
    const fromCheckpoint = await readableFiles(log);
    await removeLog(CHECKPOINT, "_last_checkpoint");
    const fromCommits = await readableFiles(log);
    expect(fromCommits).toMatchObject(expected);
    const paths = (files: readonly { path: string }[]) => files.map(({ path }) => path).sort();
    expect(paths(fromCheckpoint)).toEqual(paths(fromCommits));
    expect(fromCheckpoint).toHaveLength(3);
  });

  test("a path is decoded once, and removed as it was written, as in Spark and delta-rs", async () => {
    const add = (path: string) => JSON.stringify({ add: { path, partitionValues: {}, size: 1 } });
    await putLog(commitFileName(5), [add("a%20b%2520"), add("c=d"), add("e%3Df")].join("\n"));
    await putLog(commitFileName(6), '{"remove":{"path":"c%3Dd"}}\n{"remove":{"path":"e%3Df"}}\n');
    const paths = (await readableFiles(log)).map(({ path }) => path);
    expect(paths).toContain("a b%20");
    expect(paths).toContain("c=d");
    expect(paths).not.toContain("e=f");
  });

  test("a version that removes and adds a path has it, in whatever order", async () => {
    await putLog(commitFileName(5), '{"add":{"path":"a","partitionValues":{},"size":1}}');
    await putLog(
      commitFileName(6),
      '{"add":{"path":"a","partitionValues":{},"size":2}}\n{"remove":{"path":"a"}}',
    );
    expect((await readableFiles(log)).filter(({ path }) => path === "a")).toMatchObject([
      { size: 2, rows: null },
    ]);
  });

  test("rows that a deletion vector deletes are not counted among a file's", async () => {
    const add = {
      path: "a",
      partitionValues: {},
      size: 1,
      stats: '{"numRecords":10}',
      deletionVector: { storageType: "u", pathOrInlineDv: "x", offset: 1, cardinality: 3 },
    };
    await putLog(commitFileName(5), JSON.stringify({ add }));
    const [file] = (await readableFiles(log)).filter(({ path }) => path === "a");
    expect(file).toMatchObject({ rows: 7, deletedRows: 3 });
  });

  test("a deletion vector of a file that is gone is nobody's concern", async () => {
    const deletionVector = { storageType: "u", pathOrInlineDv: "x", offset: 1 };
    const add = { path: "a", partitionValues: {}, size: 1, deletionVector };
    await putLog(commitFileName(5), JSON.stringify({ add }));
    await putLog(commitFileName(6), JSON.stringify({ remove: { path: "a", deletionVector } }));
    expect(await readableFiles(log)).toHaveLength(3);
  });
});
