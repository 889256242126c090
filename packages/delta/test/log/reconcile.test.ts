import { beforeEach, describe, expect, test } from "vitest";
import { MemoryObjectStore } from "../../../../test/support/memory/memory-object-store.ts";
import { deltaLogFixture } from "../../../../test/support/tables/delta-log-fixture.ts";
import type { Action, Add } from "../../src/actions/actions.ts";
import type { ReconciledLog } from "../../src/actions/reconciled-log.ts";
import { TableRefusedError } from "../../src/errors.ts";
import { liveFiles, reconcileLog } from "../../src/log/reconcile.ts";
import { ConditionalLogStore } from "../../src/stores/conditional-log-store.ts";
import { commitFileName } from "../../src/stores/log-store.ts";

const PROTOCOL = { protocol: { minReaderVersion: 1, minWriterVersion: 2 } };
const METADATA = {
  metaData: {
    id: "t",
    format: { provider: "parquet", options: {} },
    schemaString: "{}",
    partitionColumns: [],
    configuration: {},
  },
};

let store: MemoryObjectStore;
let log: ConditionalLogStore;
beforeEach(() => {
  store = new MemoryObjectStore();
  log = new ConditionalLogStore(store);
});

async function putVersions(...versions: readonly (readonly object[])[]): Promise<void> {
  for (const [version, actions] of versions.entries()) {
    await store.put(
      `_delta_log/${commitFileName(version)}`,
      Buffer.from(actions.map((action) => JSON.stringify(action)).join("\n")),
    );
  }
}

const add = (path: string, more: object = {}) => ({
  add: { path, partitionValues: {}, size: 1, modificationTime: 1, dataChange: true, ...more },
});
const remove = (path: string, more: object = {}) => ({
  remove: { path, deletionTimestamp: 7, dataChange: true, ...more },
});
const vector = (id: string, offset?: number) => ({
  deletionVector: {
    storageType: "u",
    pathOrInlineDv: id,
    sizeInBytes: 1,
    cardinality: 1,
    ...(offset === undefined ? {} : { offset }),
  },
});

async function reconciled(version?: number): Promise<ReconciledLog> {
  const state = await reconcileLog(log, version);
  if (state === null) throw new Error("there is no table");
  return state;
}

async function fileActions(version?: number): Promise<Action[]> {
  const actions: Action[] = [];
  for await (const batch of (await reconciled(version)).files()) actions.push(...batch);
  return actions;
}

async function livePaths(version?: number): Promise<string[]> {
  const adds: Add[] = [];
  for await (const batch of liveFiles(log, version)) adds.push(...batch);
  return adds.map(({ path }) => path).sort();
}

const kept = (actions: readonly Action[]) =>
  actions.map(({ add, remove }) => (add === undefined ? `- ${remove?.path}` : `+ ${add.path}`)).sort();

describe("the newest action of each logical file counts", () => {
  test("also where commits have too many to be kept, so that they are read again", async () => {
    const names = (from: number) => Array.from({ length: 6_000 }, (_, i) => add(`f${from + i}`));
    await putVersions([PROTOCOL, METADATA, ...names(0)], names(6_000), [remove("f1"), remove("f6001")]);
    const actions = await fileActions();
    expect(actions.filter((action) => action.add !== undefined)).toHaveLength(11_998);
    expect(kept(actions.filter((action) => action.add === undefined))).toEqual(["- f1", "- f6001"]);
  });

  test("of a file that was removed the remove is left, of one that was added again the add", async () => {
    await putVersions(
      [PROTOCOL, METADATA, add("a"), add("b"), add("c")],
      [remove("a"), remove("b")],
      [add("b", { size: 2 })],
    );
    const actions = await fileActions();
    expect(kept(actions)).toEqual(["+ b", "+ c", "- a"]);
    expect(actions.find(({ add }) => add?.path === "b")?.add?.size).toBe(2);
    expect(await livePaths()).toEqual(["b", "c"]);
  });

  test("an add that comes again replaces what was known of the file", async () => {
    await putVersions([PROTOCOL, METADATA, add("a")], [add("a", { stats: '{"numRecords":3}' })]);
    expect(await fileActions()).toMatchObject([{ add: { stats: '{"numRecords":3}' } }]);
  });

  test("a version that removes and adds a file has it, in whatever order its lines are", async () => {
    await putVersions([PROTOCOL, METADATA, add("a")], [add("a", { size: 2 }), remove("a")]);
    expect(kept(await fileActions())).toEqual(["+ a"]);
  });

  test("a file is removed by its path as it was written, as in Spark and delta-rs", async () => {
    await putVersions(
      [PROTOCOL, METADATA, add("x=1/a%20b"), add("c%2520")],
      [remove("x%3D1/a%20b"), remove("c%2520")],
    );
    expect(kept(await fileActions())).toEqual(["+ x=1/a%20b", "- c%2520", "- x%3D1/a%20b"]);
  });

  test("a file with another deletion vector is another file, and the tombstone of the old one stays", async () => {
    await putVersions(
      [PROTOCOL, METADATA, add("a")],
      [remove("a"), add("a", vector("x", 1))],
      [remove("a", vector("x", 1)), add("a", vector("x", 2))],
      [remove("b", vector("x"))],
    );
    const actions = await fileActions();
    expect(kept(actions)).toEqual(["+ a", "- a", "- a", "- b"]);
    expect(actions.find((action) => action.add)?.add?.deletionVector).toMatchObject({ offset: 2 });
    expect(await livePaths()).toEqual(["a"]);
  });

  test("a deletion vector without an id is refused", async () => {
    await putVersions([PROTOCOL, METADATA, add("a", { deletionVector: { storageType: "u" } })]);
    await expect(fileActions()).rejects.toThrow(/deletionVector.pathOrInlineDv is missing/);
  });
});

describe("what is no file", () => {
  test("is the newest protocol, metadata, transaction of each application, and domain", async () => {
    const domain = (name: string, configuration: string, removed = false) => ({
      domainMetadata: { domain: name, configuration, removed },
    });
    await putVersions(
      [PROTOCOL, METADATA, { txn: { appId: "a", version: 1 } }, domain("d", "1"), domain("e", "1")],
      [{ txn: { appId: "b", version: 1 } }, domain("d", "2"), domain("e", "", true), domain("f", "", true)],
      [{ txn: { appId: "a", version: 5 } }, { protocol: { minReaderVersion: 1, minWriterVersion: 4 } }],
    );
    const { version, protocol, metadata, transactions, domains } = await reconciled();
    expect({ version, protocol, id: metadata.id }).toEqual({
      version: 2,
      protocol: { minReaderVersion: 1, minWriterVersion: 4 },
      id: "t",
    });
    expect(transactions).toEqual([
      { appId: "a", version: 5 },
      { appId: "b", version: 1 },
    ]);
    expect(domains).toEqual([{ domain: "d", configuration: "2", removed: false }]);
  });

  test("is required: a log that begins without it is refused", async () => {
    await putVersions([PROTOCOL, add("a")]);
    await expect(reconcileLog(log)).rejects.toThrow(TableRefusedError);
  });
});

describe("at an earlier version", () => {
  beforeEach(async () => {
    await putVersions([PROTOCOL, METADATA, add("a")], [add("b")], [remove("a")]);
  });

  test("the state is that of then", async () => {
    expect(await livePaths(1)).toEqual(["a", "b"]);
    expect(await livePaths(2)).toEqual(["b"]);
    expect((await reconciled(0)).version).toBe(0);
  });

  test("a version that is not in the log is refused by name", async () => {
    await expect(livePaths(3)).rejects.toThrow("version 3 is not in the log: the newest up to it is 2");
  });
});

describe("with a checkpoint by another engine", () => {
  beforeEach(async () => {
    store = await deltaLogFixture();
    log = new ConditionalLogStore(store);
  });
  const removeCheckpoint = async () =>
    await store.remove(["_delta_log/00000000000000000003.checkpoint.parquet", "_delta_log/_last_checkpoint"]);

  test("files and tombstones are the same as from the commits", async () => {
    const [fromCheckpoint, paths] = [kept(await fileActions()), await livePaths()];
    await removeCheckpoint();
    expect(fromCheckpoint).toEqual(kept(await fileActions()));
    expect(paths).toEqual(await livePaths());
    expect(paths).toHaveLength(3);
  });

  test("what commits after it removed or added again counts", async () => {
    const [first] = await livePaths(3);
    await store.put(`_delta_log/${commitFileName(5)}`, Buffer.from(JSON.stringify(remove(first!))));
    expect(await livePaths()).not.toContain(first);
    await store.put(`_delta_log/${commitFileName(6)}`, Buffer.from(JSON.stringify(add(first!))));
    expect((await livePaths()).filter((path) => path === first)).toHaveLength(1);
  });

  test("an earlier version is told from the commits before it", async () => {
    expect(await livePaths(1)).toHaveLength(2);
  });
});

test("a folder without a log is no table, and has no files", async () => {
  expect(await reconcileLog(log)).toBeNull();
  expect(await livePaths()).toEqual([]);
});
