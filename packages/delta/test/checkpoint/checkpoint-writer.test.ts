import type { PageCompressor } from "@deltacap/parquet";
import { NestedWriter } from "@deltacap/parquet";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { nodePageCompressor } from "../../../../src/node/page-compressor.ts";
import { MemoryObjectStore } from "../../../../test/support/memory/memory-object-store.ts";
import type { Action } from "../../src/actions/actions.ts";
import type { ReconciledLog } from "../../src/actions/reconciled-log.ts";
import { CheckpointCheck } from "../../src/checkpoint/checkpoint-check.ts";
import { checkpointRow, checkpointSchema } from "../../src/checkpoint/checkpoint-schema.ts";
import { type WrittenCheckpoint, writeCheckpoint } from "../../src/checkpoint/checkpoint-writer.ts";
import { reconcileLog } from "../../src/log/reconcile.ts";
import { ConditionalLogStore } from "../../src/stores/conditional-log-store.ts";
import { commitFileName, type LogStore } from "../../src/stores/log-store.ts";

const NOW = Date.UTC(2026, 10, 30);
const HOUR = 3_600_000;
const CHECKPOINT = "_delta_log/00000000000000000001.checkpoint.parquet";
const HINT = "_delta_log/_last_checkpoint";

const metaData = (configuration: object = {}) => ({
  metaData: {
    id: "t",
    format: { provider: "parquet", options: {} },
    schemaString: '{"type":"struct","fields":[]}',
    partitionColumns: ["date"],
    configuration,
    createdTime: 5,
  },
});
const PROTOCOL = { protocol: { minReaderVersion: 1, minWriterVersion: 2 } };
const add = (path: string, more: object = {}) => ({
  add: { path, partitionValues: { date: null }, size: 1, modificationTime: 2, dataChange: true, ...more },
});
const remove = (path: string, deletionTimestamp: number | undefined) => ({
  remove: { path, dataChange: true, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
});

let store: MemoryObjectStore;
beforeEach(() => {
  store = new MemoryObjectStore();
});

/** What was written, and where: a folder that has nothing else. */
type Built = WrittenCheckpoint & { readonly version: number; readonly folder: MemoryObjectStore };

async function putVersions(...versions: readonly (readonly object[])[]): Promise<void> {
  for (const [version, actions] of versions.entries()) {
    if (actions.length === 0) continue;
    const lines = actions.map((action) => JSON.stringify(action));
    await store.put(`_delta_log/${commitFileName(version)}`, Buffer.from(lines.join("\n")));
  }
}

async function state(): Promise<ReconciledLog> {
  const found = await reconcileLog(new ConditionalLogStore(store));
  if (found === null) throw new Error("there is no table");
  return found;
}

/** Checkpoint of the newest version, after these were put; an empty one is left as it is. */
async function built(...versions: readonly (readonly object[])[]): Promise<Built> {
  await putVersions(...versions);
  const folder = new MemoryObjectStore();
  const reconciled = await state();
  const written = await writeCheckpoint(folder, reconciled, NOW, nodePageCompressor);
  return { ...written, version: reconciled.version, folder };
}

/** As hyparquet reads it: another implementation than the writer's. */
async function rowsOf({ folder }: Built): Promise<Record<string, unknown>[]> {
  const [path] = [...folder.objects.keys()];
  const file = Uint8Array.from((await folder.read(path ?? "")) ?? []).buffer;
  return await parquetReadObjects({ file, metadata: parquetMetadata(file), compressors });
}

/** The state as it is read through the checkpoint alone. */
async function stateFromCheckpoint({ folder }: Built) {
  const found = await reconcileLog(new ConditionalLogStore(folder));
  if (found === null) throw new Error("there is no table");
  const files: Action[] = [];
  for await (const actions of found.files()) files.push(...actions);
  return { ...found, files };
}

const kept = (files: readonly Action[]) =>
  files.map(({ add, remove }) => add?.path ?? `-${remove?.path}`).sort();

describe("the table's state comes back from the checkpoint alone", () => {
  test("protocol, metadata, transactions, domains, files and tombstones", async () => {
    const checkpoint = await built(
      [
        PROTOCOL,
        metaData({ "a.b": "c" }),
        add("gone"),
        add("kept", { stats: '{"numRecords":1}', tags: { k: "v" } }),
      ],
      [
        { txn: { appId: "app", version: 7, lastUpdated: 3 } },
        { domainMetadata: { domain: "d", configuration: "{}", removed: false } },
        remove("gone", NOW - HOUR),
      ],
    );
    expect(checkpoint).toMatchObject({ version: 1, actions: 6, adds: 1, outcome: "created" });
    const state = await stateFromCheckpoint(checkpoint);
    expect(state).toMatchObject({
      version: 1,
      ...PROTOCOL,
      metadata: metaData({ "a.b": "c" }).metaData,
      transactions: [{ appId: "app", version: 7, lastUpdated: 3 }],
      domains: [{ domain: "d", configuration: "{}", removed: false }],
    });
    expect(kept(state.files)).toEqual(["-gone", "kept"]);
    expect(state.files.find((action) => action.add)).toEqual({
      add: { ...add("kept", { stats: '{"numRecords":1}', tags: { k: "v" } }).add, dataChange: false },
    });
  });

  test("deletion vectors, row ids and clustering, field by field", async () => {
    const more = {
      deletionVector: {
        storageType: "u",
        pathOrInlineDv: "ab^-aqEH.-t@S}K{vb[*k^",
        offset: 4,
        sizeInBytes: 40,
        cardinality: 6,
      },
      baseRowId: 4071,
      defaultRowCommitVersion: 41,
      clusteringProvider: "liquid",
    };
    const tombstone = {
      ...remove("a", NOW).remove,
      dataChange: false,
      extendedFileMetadata: true,
      partitionValues: { date: "2026-01-01" },
      size: 9,
    };
    const checkpoint = await built([
      PROTOCOL,
      metaData(),
      add("a", more),
      { remove: { ...tombstone, deletionVector: { ...more.deletionVector, offset: 5 } } },
    ]);
    const { files } = await stateFromCheckpoint(checkpoint);
    expect(files).toEqual([
      { add: { ...add("a", more).add, dataChange: false } },
      { remove: { ...tombstone, deletionVector: { ...more.deletionVector, offset: 5 } } },
    ]);
  });

  test("through a second checkpoint that builds on the first", async () => {
    await putVersions([PROTOCOL, metaData(), add("a"), add("b")], [add("c")]);
    await writeCheckpoint(store, await state(), NOW, nodePageCompressor);
    const second = await built([], [], [remove("a", NOW), add("c", { size: 2 })], [add("d")]);
    expect(second).toMatchObject({ version: 3, adds: 3, actions: 6 });
    expect(kept((await stateFromCheckpoint(second)).files)).toEqual(["-a", "b", "c", "d"]);
  });

  test("numbers beyond 2^53 exactly", async () => {
    const checkpoint = await built([PROTOCOL, metaData(), { txn: { appId: "a", version: 1 } }]);
    await store.put(
      `_delta_log/${commitFileName(1)}`,
      Buffer.from('{"txn":{"appId":"a","version":9007199254740993}}'),
    );
    expect(checkpoint.actions).toBe(3);
    const state = await stateFromCheckpoint(await built());
    expect(state.transactions).toEqual([{ appId: "a", version: 9007199254740993n }]);
  });
});

describe("as the protocol asks", () => {
  test("no file is a change of the data", async () => {
    const rows = await rowsOf(await built([PROTOCOL, metaData(), add("a"), remove("b", NOW)]));
    const files = rows
      .map((row) => row.add ?? row.remove)
      .filter((file) => file !== undefined && file !== null);
    expect(files).toMatchObject([
      { path: "a", dataChange: false },
      { path: "b", dataChange: false },
    ]);
  });

  test.each([
    [
      { minReaderVersion: 1, minWriterVersion: 2, readerFeatures: ["x"] },
      { minReaderVersion: 1, minWriterVersion: 2 },
    ],
    [
      { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ["appendOnly"] },
      { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ["appendOnly"] },
    ],
    [
      { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: [], writerFeatures: [] },
      { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: [], writerFeatures: [] },
    ],
  ])(
    "the features of protocol %j are there exactly where its versions have them",
    async (given, expected) => {
      expect((await stateFromCheckpoint(await built([{ protocol: given }, metaData()]))).protocol).toEqual(
        expected,
      );
    },
  );

  test.each<[string, object, number | undefined, boolean]>([
    ["within a week", {}, NOW - 167 * HOUR, true],
    ["older than a week", {}, NOW - 169 * HOUR, false],
    ["without a time", {}, undefined, false],
    [
      "older, and the table keeps them longer",
      { "delta.deletedFileRetentionDuration": "interval 30 days" },
      NOW - 169 * HOUR,
      true,
    ],
    [
      "within a week, and the table keeps them shorter",
      { "delta.deletedFileRetentionDuration": "interval 2 hours" },
      NOW - 3 * HOUR,
      false,
    ],
    [
      "however old, and for how long is not known",
      { "delta.deletedFileRetentionDuration": "for ever" },
      0,
      true,
    ],
  ])("a tombstone %s", async (_, configuration, time, isKept) => {
    const { files } = await stateFromCheckpoint(
      await built([PROTOCOL, metaData(configuration), remove("a", time)]),
    );
    expect(kept(files)).toEqual(isKept ? ["-a"] : []);
  });
});

describe("put", () => {
  beforeEach(async () => {
    await putVersions([PROTOCOL, metaData()], [add("a")]);
  });

  test("once, and then named in the hint, which has no parts", async () => {
    const { outcome, bytes } = await writeCheckpoint(store, await state(), NOW, nodePageCompressor);
    expect(outcome).toBe("created");
    const hint: unknown = JSON.parse(Buffer.from((await store.read(HINT)) ?? []).toString());
    expect(hint).toEqual({ version: 1, size: 3, sizeInBytes: bytes, numOfAddFiles: 1 });
    expect((await store.read(CHECKPOINT))?.length).toBe(bytes);
  });

  test("never over another writer's, whose size the hint would not tell", async () => {
    const ours = await state();
    await store.put(CHECKPOINT, Buffer.from("theirs"));
    expect((await writeCheckpoint(store, ours, NOW, nodePageCompressor)).outcome).toBe("exists");
    expect(Buffer.from((await store.read(CHECKPOINT)) ?? []).toString()).toBe("theirs");
    expect(await store.read(HINT)).toBeNull();
  });

  test("what cannot be put is dropped, and the failure is told", async () => {
    let dropped = false;
    const failing = new MemoryObjectStore();
    failing.create = () => ({
      write: async () => {},
      commit: () => Promise.reject(new Error("the disk is full")),
      abort: async () => {
        dropped = true;
      },
    });
    await expect(writeCheckpoint(failing, await state(), NOW, nodePageCompressor)).rejects.toThrow(
      "the disk is full",
    );
    expect(dropped).toBe(true);
    expect(await failing.read(HINT)).toBeNull();
  });
});

test("an action that the schema does not hold stops it, before anything is put", async () => {
  await expect(built([PROTOCOL, metaData(), add("a", { baseRowId: "x" })])).rejects.toThrow(/add.baseRowId/);
});

test("a page that the compressor spoils is found when it is read back, and nothing is put", async () => {
  await putVersions(
    [PROTOCOL, metaData()],
    Array.from({ length: 50 }, (_, i) => add(`file-${i}`)),
  );
  const spoiling: PageCompressor = {
    codec: 0,
    compress: (page, out) => {
      const spoiled = page.slice();
      const at = Buffer.from(spoiled).indexOf("file-7");
      if (at >= 0) spoiled[at + 5] = 0x38;
      out.append(spoiled);
    },
  };
  await expect(writeCheckpoint(store, await state(), NOW, spoiling)).rejects.toThrow(
    /row group 0 of .* is read back as 52 actions .* 52 actions .* was written/,
  );
  expect([...store.objects.keys()].filter((path) => !path.endsWith(".json"))).toEqual([]);
});

test("a footer that does not stand the check keeps the checkpoint from being put", async () => {
  await putVersions([PROTOCOL, metaData()]);
  vi.spyOn(CheckpointCheck.prototype, "checkFooter").mockImplementation(() => {
    throw new Error("another footer");
  });
  onTestFinished(() => void vi.restoreAllMocks());
  await expect(writeCheckpoint(store, await state(), NOW, null)).rejects.toThrow("another footer");
  expect([...store.objects.keys()].filter((path) => !path.endsWith(".json"))).toEqual([]);
});

test("whoever needs no files reads one row group, however many there are", async () => {
  const chunks: Uint8Array[] = [];
  const writer = new NestedWriter(checkpointSchema, null, { rows: 2, bytes: 1 << 20 }, async (chunk) => {
    chunks.push(chunk);
  });
  for (const action of [PROTOCOL, metaData(), ...Array.from({ length: 20 }, (_, i) => add(`file-${i}`))]) {
    await writer.write(checkpointRow(action as Action));
  }
  await writer.finish();
  await store.put(CHECKPOINT, Buffer.concat(chunks));
  const log = new ConditionalLogStore(store);
  const reads: (number | undefined)[] = [];
  const counting: LogStore = {
    repair: async () => {},
    list: (from) => log.list(from),
    remains: async () => await log.remains(),
    commit: (version, body) => log.commit(version, body),
    read: (name, range) => {
      if (name.includes("checkpoint.parquet")) reads.push(range?.start);
      return log.read(name, range);
    },
  };
  expect((await reconcileLog(counting))?.metadata.id).toBe("t");
  const footer = parquetMetadata(Uint8Array.from(Buffer.concat(chunks)).buffer);
  const second = Number(footer.row_groups[1]?.columns[0]?.meta_data?.data_page_offset);
  const ofData = reads.filter(
    (start) => start !== undefined && start < Buffer.concat(chunks).length - footer.metadata_length - 8,
  );
  expect(footer.row_groups).toHaveLength(11);
  expect(ofData.length).toBeGreaterThan(0);
  expect(ofData.filter((start) => Number(start) >= second)).toEqual([]);
});

describe("the check of a checkpoint", () => {
  const rows = Array.from({ length: 10 }, (_, i) => checkpointRow(add(`file-${i}`)));

  /** Of three row groups; `spoil` may change the footer before it is looked at. */
  async function checked(spoil: (footer: Uint8Array) => Uint8Array): Promise<void> {
    const check = new CheckpointCheck("c");
    const limits = { rows: 4, bytes: 1 << 20 };
    const writer = new NestedWriter(checkpointSchema, null, limits, async () => {}, check.checkRowGroup);
    for (const row of rows) {
      check.add(row);
      await writer.write(row);
    }
    check.checkFooter(spoil((await writer.finish()).slice()));
  }

  test("takes many row groups whose footer is right", async () => {
    await checked((footer) => footer);
  });

  test("finds a footer that tells of another place", async () => {
    // The offset of a chunk in the third row group, as a zigzag number of three bytes.
    await expect(
      checked((footer) => {
        const metadata = parquetMetadata(Uint8Array.from(footer).buffer);
        const offset = Number(metadata.row_groups[2]?.columns[5]?.meta_data?.data_page_offset);
        const zigzag = [((offset * 2) & 0x7f) | 0x80, ((offset * 2) >> 7) & 0x7f];
        footer[Buffer.from(footer).lastIndexOf(Buffer.from(zigzag))]! ^= 2;
        return footer;
      }),
    ).rejects.toThrow("the footer of c tells of 3 row groups, and not as they were written");
  });

  test("finds rows that were given to the writer alone", async () => {
    const check = new CheckpointCheck("c");
    const writer = new NestedWriter(
      checkpointSchema,
      null,
      { rows: 9, bytes: 1 << 20 },
      async () => {},
      check.checkRowGroup,
    );
    await writer.write(checkpointRow(add("a")));
    await expect(writer.finish()).rejects.toThrow(/is read back as 1 actions .* 0 actions/);
  });
});
