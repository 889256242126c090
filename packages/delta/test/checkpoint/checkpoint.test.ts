import type { SchemaElement } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { beforeEach, describe, expect, test } from "vitest";
import type { MemoryObjectStore } from "../../../../test/support/memory/memory-object-store.ts";
import { deltaLogFixture } from "../../../../test/support/tables/delta-log-fixture.ts";
import { livePaths } from "../../../../test/support/tables/live-paths.ts";
import { checkpointBatches, newestCheckpoint } from "../../src/checkpoint/checkpoint.ts";
import { TableRefusedError } from "../../src/errors.ts";
import { readSnapshot } from "../../src/log/snapshot.ts";
import { ConditionalLogStore } from "../../src/stores/conditional-log-store.ts";
import { commitFileName, type LogFile, type LogStore } from "../../src/stores/log-store.ts";

const CLASSIC = "00000000000000000003.checkpoint.parquet";
const UUID = "80a083e8-7026-4e79-81be-64bd76c43a11";
const SIDECAR = "016ae953-37a9-438e-8683-9a9a4a79a395.parquet";

let store: MemoryObjectStore;
let log: LogStore;
let classic: Uint8Array;
beforeEach(async () => {
  store = await deltaLogFixture();
  log = new ConditionalLogStore(store);
  classic = (await log.read(CLASSIC))!;
});

const put = async (name: string, body: Uint8Array) => await store.put(`_delta_log/${name}`, body);
const bytes = (...lines: object[]) =>
  new TextEncoder().encode(lines.map((l) => JSON.stringify(l)).join("\n"));
const state = async () => ({
  snapshot: await readSnapshot(log),
  files: await livePaths(log),
});

/** Takes the commits up to the checkpoint away, and the checkpoint: another must take its place. */
async function onlyVersion4(): Promise<void> {
  const gone = [0, 1, 2, 3].map(commitFileName).concat(CLASSIC, "_last_checkpoint");
  await store.remove(gone.map((name) => `_delta_log/${name}`));
}

const sidecar = (path = SIDECAR, sizeInBytes = classic.length) => ({
  sidecar: { path, sizeInBytes, modificationTime: 1, tags: {} },
});

/** What a V2 checkpoint holds itself when its adds and removes are in a sidecar file. */
const withoutFiles = () => [
  { checkpointMetadata: { version: 3 } },
  { protocol: { minReaderVersion: 1, minWriterVersion: 2 } },
  {
    metaData: {
      id: "i",
      format: { provider: "parquet", options: {} },
      schemaString: '{"type":"struct","fields":[]}',
      partitionColumns: ["date"],
      configuration: {},
    },
  },
  { txn: { appId: "a", version: 7 } },
];

describe("a V2 checkpoint gives the state that the classic one gives", () => {
  test("in Parquet, named by a UUID", async () => {
    const before = await state();
    await onlyVersion4();
    await put(`00000000000000000003.checkpoint.${UUID}.parquet`, classic);
    expect(await state()).toEqual(before);
  });

  test.each([
    ["by its name", SIDECAR],
    ["percent-encoded", SIDECAR.replaceAll("-", "%2D")],
    ["by a URI of where the table was before", `s3://other/table/_delta_log/_sidecars/${SIDECAR}`],
  ])("in JSON, with a sidecar file that is named %s", async (_, path) => {
    const { files } = await state();
    await onlyVersion4();
    await put(`00000000000000000003.checkpoint.${UUID}.json`, bytes(...withoutFiles(), sidecar(path)));
    await put(`_sidecars/${SIDECAR}`, classic);
    const found = await state();
    expect(found.files).toEqual(files);
    expect(found.snapshot).toMatchObject({ version: 4, metadata: { id: "i" } });
    expect(found.snapshot?.transactions).toEqual(new Map([["a", 7]]));
  });

  test("in Parquet, by the classic name, with two sidecar files", async () => {
    const [first, second] = [add("a"), add("b")];
    await onlyVersion4();
    await put(CLASSIC, parquet([{ sidecar: sidecar("x", first.length).sidecar }, ...sidecars("y", second)]));
    await put("_sidecars/x", first);
    await put("_sidecars/y", second);
    const found = newestCheckpoint([await listed(CLASSIC)]);
    const batches = [];
    for await (const batch of checkpointBatches(log, found!, ["add"])) batches.push(batch);
    // As a commit has them: the statistics as JSON, not as a struct.
    const file = { partitionValues: { date: "2026-01-02" }, size: 1, stats: '{"numRecords":3}' };
    expect(batches.flat()).toEqual(["a", "b"].map((path) => ({ add: { path, ...file } })));
  });

  test("in JSON, with its files in itself", async () => {
    await onlyVersion4();
    const file = {
      path: "a",
      partitionValues: { date: null },
      size: 1,
      modificationTime: 1,
      dataChange: false,
    };
    await put(`00000000000000000003.checkpoint.${UUID}.json`, bytes(...withoutFiles(), { add: file }));
    expect((await state()).files).toContain("a");
  });
});

describe("reading a V2 checkpoint", () => {
  test("leaves the sidecar files alone when only protocol, metadata and transactions are wanted", async () => {
    await onlyVersion4();
    await put(`00000000000000000003.checkpoint.${UUID}.json`, bytes(...withoutFiles(), sidecar()));
    expect((await readSnapshot(log))?.version).toBe(4);
  });

  test("refuses by name a sidecar file that is gone, and one that is no Parquet file", async () => {
    await onlyVersion4();
    await put(`00000000000000000003.checkpoint.${UUID}.json`, bytes(...withoutFiles(), sidecar()));
    await expect(livePaths(log)).rejects.toThrow(TableRefusedError);
    await expect(livePaths(log)).rejects.toThrow(`_sidecars/${SIDECAR} is gone`);
    await put(`_sidecars/${SIDECAR}`, new Uint8Array(classic.length));
    await expect(livePaths(log)).rejects.toThrow(`_sidecars/${SIDECAR} is damaged, at byte`);
  });

  test("refuses by name a JSON checkpoint that is no JSON", async () => {
    await onlyVersion4();
    await put(`00000000000000000003.checkpoint.${UUID}.json`, new TextEncoder().encode("{"));
    await expect(readSnapshot(log)).rejects.toThrow(new RegExp(`line 1 of 0+3.checkpoint.${UUID}.json`));
  });
});

describe("what a checkpoint says of its own files is checked", () => {
  const files = (paths: readonly string[]) =>
    paths.map((path) => ({ add: { path, partitionValues: { date: "2026-01-02" }, size: 1 } }));

  test.each([
    ["shorter", 1],
    ["longer", -1],
    ["longer by a copy of itself", "twice"],
  ] as const)("a sidecar that is %s than stated is refused", async (_, change) => {
    await onlyVersion4();
    const body = parquet(files(["a", "b"]));
    const actual = change === "twice" ? new Uint8Array([...body, ...body]) : body;
    const stated = change === "twice" ? body.length : body.length + change;
    await put(CLASSIC, parquet([{ sidecar: sidecar("x", stated).sidecar }]));
    await put("_sidecars/x", actual);
    await expect(livePaths(log)).rejects.toThrow(TableRefusedError);
    await expect(livePaths(log)).rejects.toThrow("_sidecars/x");
  });

  test("two sidecars that were swapped are refused, whichever is the longer one", async () => {
    const bodies = [parquet(files(["a"])), parquet(files(["b", "c", "d", "a longer one"]))] as const;
    for (const [first, second] of [bodies, bodies.toReversed()] as [Uint8Array, Uint8Array][]) {
      store = await deltaLogFixture();
      log = new ConditionalLogStore(store);
      await onlyVersion4();
      await put(CLASSIC, parquet([...sidecars("x", first), ...sidecars("y", second)]));
      await put("_sidecars/x", second);
      await put("_sidecars/y", first);
      await expect(livePaths(log)).rejects.toThrow(TableRefusedError);
    }
  });

  test.each<[string, readonly (readonly string[])[]]>([
    ["one file", [["a", "b", "a"]]],
    ["two sidecars", [["a"], ["b", "a"]]],
  ])("a file that is live twice, in %s, is refused by name", async (_, parts) => {
    await onlyVersion4();
    const bodies = parts.map((paths) => parquet(files(paths)));
    await put(CLASSIC, parquet(bodies.flatMap((body, i) => sidecars(`x${i}`, body))));
    for (const [i, body] of bodies.entries()) await put(`_sidecars/x${i}`, body);
    await expect(livePaths(log)).rejects.toThrow(TableRefusedError);
    await expect(livePaths(log)).rejects.toThrow("the checkpoint of version 3 has the file a twice");
  });
});

describe("the newest checkpoint", () => {
  const file = (name: string): LogFile => ({ name, size: 1, modifiedMs: 0 });
  const named = (version: number, rest: string) => `${String(version).padStart(20, "0")}.checkpoint.${rest}`;

  test.each([
    [[named(1, "parquet"), named(2, `${UUID}.json`)], 2],
    [[named(3, "parquet"), named(2, `${UUID}.parquet`)], 3],
    [[named(4, "0000000001.0000000002.parquet"), named(4, "0000000002.0000000002.parquet")], 4],
    [[named(4, "0000000001.0000000003.parquet"), named(4, "0000000002.0000000002.parquet")], null],
    [[named(5, "json"), named(5, "crc"), named(5, `${UUID}.crc`), named(5, "parquet.tmp")], null],
  ])("of %j is at version %j", (names, version) => {
    expect(newestCheckpoint(names.map(file))?.version ?? null).toBe(version);
  });

  test("is one of two at the same version, not both", () => {
    const other = UUID.replace("8", "9");
    const found = newestCheckpoint([named(2, `${UUID}.json`), named(2, `${other}.json`)].map(file));
    expect(found?.files).toHaveLength(1);
  });
});

async function listed(name: string): Promise<LogFile> {
  for await (const file of log.list(name)) if (file.name === name) return file;
  throw new Error(`${name} is not listed`);
}

function sidecars(name: string, body: Uint8Array) {
  return [{ sidecar: sidecar(name, body.length).sidecar }];
}

function add(path: string): Uint8Array {
  return parquet([
    { add: { path, partitionValues: { date: "2026-01-02" }, size: 1, stats_parsed: { numRecords: 3 } } },
  ]);
}

const leaf = (
  name: string,
  type: NonNullable<SchemaElement["type"]>,
  more: Partial<SchemaElement> = {},
): SchemaElement => ({
  name,
  type,
  repetition_type: "OPTIONAL",
  ...more,
});
const group = (name: string, children: number, more: Partial<SchemaElement> = {}): SchemaElement => ({
  name,
  num_children: children,
  repetition_type: "OPTIONAL",
  ...more,
});

/** Rows of a checkpoint with the fields that this test needs. */
function parquet(rows: readonly { sidecar?: unknown; add?: unknown }[]): Uint8Array {
  const schema: SchemaElement[] = [
    { name: "root", num_children: 2 },
    group("sidecar", 2),
    leaf("path", "BYTE_ARRAY", { converted_type: "UTF8" }),
    leaf("sizeInBytes", "INT64"),
    group("add", 4),
    leaf("path", "BYTE_ARRAY", { converted_type: "UTF8" }),
    group("partitionValues", 1, { converted_type: "MAP" }),
    group("key_value", 2, { repetition_type: "REPEATED" }),
    leaf("key", "BYTE_ARRAY", { repetition_type: "REQUIRED", converted_type: "UTF8" }),
    leaf("value", "BYTE_ARRAY", { converted_type: "UTF8" }),
    leaf("size", "INT64"),
    group("stats_parsed", 1),
    leaf("numRecords", "INT64"),
  ];
  const exact = (value: unknown): unknown => {
    if (typeof value === "number") return BigInt(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, exact(item)]));
  };
  const columnData = (["sidecar", "add"] as const).map((name) => ({
    name,
    data: rows.map((row) => exact(row[name] ?? null)),
  }));
  return new Uint8Array(parquetWriteBuffer({ columnData, schema }));
}
