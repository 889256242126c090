import { readdirSync, readFileSync } from "node:fs";
import type { NestedField, ParquetField } from "@deltacap/parquet";
import { NestedWriter } from "@deltacap/parquet";
import { beforeEach, describe, expect, test } from "vitest";
import { fault, hasFaults } from "../../../../test/support/captures/faults.ts";
import { MemoryObjectStore } from "../../../../test/support/memory/memory-object-store.ts";
import type { Add } from "../../src/actions/actions.ts";
import { fieldsWithoutPlace } from "../../src/checkpoint/checkpoint-content.ts";
import { checkpointSchema } from "../../src/checkpoint/checkpoint-schema.ts";
import { writeCheckpoint } from "../../src/checkpoint/checkpoint-writer.ts";
import { statisticsJson, statisticText } from "../../src/checkpoint/parsed-statistics.ts";
import { liveFiles, reconcileLog } from "../../src/log/reconcile.ts";
import { readLogSegment } from "../../src/log/snapshot.ts";
import { ConditionalLogStore } from "../../src/stores/conditional-log-store.ts";

const OLD = "_delta_log/00000000000000000003.checkpoint.parquet";

let store: MemoryObjectStore;
let log: ConditionalLogStore;
beforeEach(() => {
  store = new MemoryObjectStore();
  log = new ConditionalLogStore(store);
});

const metaData = {
  id: "t",
  format: { provider: "parquet", options: {} },
  schemaString: '{"type":"struct","fields":[]}',
  partitionColumns: [],
  configuration: {},
};
const file = (path: string, more: object = {}) => ({
  add: { path, partitionValues: {}, size: 1, modificationTime: 2, dataChange: false, ...more },
});

const bounds = [
  { name: "id", type: "long" },
  { name: "within", type: "struct", fields: [{ name: "name", type: "string" }] },
] as const satisfies readonly NestedField[];
const statsParsed: NestedField = {
  name: "stats_parsed",
  type: "struct",
  fields: [
    { name: "numRecords", type: "long" },
    { name: "minValues", type: "struct", fields: bounds },
    { name: "maxValues", type: "struct", fields: bounds },
    { name: "nullCount", type: "struct", fields: [{ name: "id", type: "long" }] },
    { name: "tightBounds", type: "boolean" },
  ],
};

/** Our checkpoint's schema, the adds with more fields. */
function schemaWith(...fields: readonly NestedField[]): NestedField[] {
  return checkpointSchema.map((field) =>
    field.name === "add" && field.type === "struct"
      ? { ...field, fields: [...field.fields, ...fields] }
      : field,
  );
}

/** Another writer's checkpoint of version 3 with these adds, and version 4. */
async function checkpointed(fields: readonly NestedField[], adds: readonly object[]): Promise<void> {
  const chunks: Uint8Array[] = [];
  const sink = async (chunk: Uint8Array) => void chunks.push(chunk.slice());
  const writer = new NestedWriter(fields, null, { rows: 100, bytes: 1e6 }, sink);
  await writer.write({ protocol: { minReaderVersion: 1, minWriterVersion: 2 } });
  await writer.write({ metaData });
  for (const add of adds) await writer.write(add as Record<string, unknown>);
  await writer.finish();
  await store.put(OLD, new Uint8Array(Buffer.concat(chunks)));
  const commit = JSON.stringify({ commitInfo: { operation: "WRITE", txnId: "x" } });
  await store.put("_delta_log/00000000000000000004.json", new TextEncoder().encode(commit));
}

async function statsOf(from: ConditionalLogStore): Promise<Record<string, string | undefined>> {
  const adds: Add[] = [];
  for await (const batch of liveFiles(from)) adds.push(...batch);
  return Object.fromEntries(adds.map(({ path, stats }) => [path, stats]));
}

const parsed = {
  numRecords: 9_007_199_254_740_993n,
  minValues: { id: -5, within: { name: 'a "quoted" name' } },
  maxValues: { id: null, within: { name: "z" } },
  nullCount: { id: 0 },
  tightBounds: true,
};
const JSON_OF_PARSED =
  '{"numRecords":9007199254740993,"minValues":{"id":-5,"within":{"name":"a \\"quoted\\" name"}},"maxValues":{"within":{"name":"z"}},"nullCount":{"id":0},"tightBounds":true}';

describe("statistics that a checkpoint holds as a struct only", () => {
  test("are read as JSON; where there is JSON too, it counts", async () => {
    await checkpointed(schemaWith(statsParsed), [
      file("a", { stats_parsed: parsed }),
      file("b", { stats: '{"numRecords":1}', stats_parsed: parsed }),
      file("c"),
    ]);
    expect(await statsOf(log)).toEqual({ a: JSON_OF_PARSED, b: '{"numRecords":1}', c: undefined });
  });

  test("are in the next checkpoint", async () => {
    await checkpointed(schemaWith(statsParsed), [file("a", { stats_parsed: parsed }), file("b")]);
    const state = await reconcileLog(log);
    expect((await writeCheckpoint(store, state!, 0, null)).outcome).toBe("created");
    await store.remove([OLD]);
    expect(await statsOf(log)).toEqual({ a: JSON_OF_PARSED, b: undefined });
  });

  test.skipIf(!hasFaults)("of a table whose properties changed since are kept", async () => {
    const folder = fault("tables/struct_stats_propunset/_delta_log");
    for (const name of readdirSync(folder)) {
      await store.put(`_delta_log/${name}`, new Uint8Array(readFileSync(`${folder}/${name}`)));
    }
    const before = await statsOf(log);
    expect(Object.values(before)).toHaveLength(5);
    expect(Object.values(before).sort()[0]).toBe(
      '{"numRecords":1,"minValues":{"id":1,"value":"value_1"},"maxValues":{"id":1,"value":"value_1"},"nullCount":{"id":0,"value":0},"tightBounds":true}',
    );
    await writeCheckpoint(store, (await reconcileLog(log))!, 0, null);
    await store.remove(["_delta_log/00000000000000000005.checkpoint.parquet"]);
    expect(await statsOf(log)).toEqual(before);
  });
});

describe("fields of an old checkpoint that a new one would lose", () => {
  const newField: NestedField = { name: "newField", type: "string" };
  const newKind: NestedField = { name: "newKind", type: "struct", fields: [newField] };

  async function lost(): Promise<string[]> {
    const segment = await readLogSegment(log);
    return await fieldsWithoutPlace(log, segment!.checkpoint!);
  }

  test("are named where they have values", async () => {
    const fields = [...schemaWith(statsParsed, newField), newKind];
    await checkpointed(fields, [file("a", { newField: "x" }), { newKind: { newField: "y" } }]);
    expect(await lost()).toEqual(["add.newField", "newKind"]);
  });

  test("are none where they have no values, and where others say the same", async () => {
    const fields = [...schemaWith(statsParsed, newField), newKind];
    await checkpointed(fields, [file("a", { stats_parsed: parsed })]);
    expect(await lost()).toEqual([]);
  });
});

describe("the JSON of a statistic", () => {
  const field = (more: Partial<ParquetField>, side = "minValues"): ParquetField => ({
    name: "x",
    path: ["add", "stats_parsed", side, "x"],
    repetition: "OPTIONAL",
    physical: "INT64",
    typeLength: 0,
    converted: null,
    logical: null,
    scale: 0,
    children: [],
    maxDefinition: 4,
    maxRepetition: 0,
    column: 0,
    ...more,
  });
  const timestamp = (isAdjustedToUtc: boolean, unit: "MILLIS" | "MICROS" | "NANOS") =>
    ({ logical: { type: "TIMESTAMP", isAdjustedToUtc, unit, isSigned: true, bitWidth: null } }) as const;
  const micros = timestamp(true, "MICROS");

  test.each([
    ["a long beyond 2^53", field({}), 2n ** 63n - 1n, "9223372036854775807"],
    ["an integer", field({ physical: "INT32" }), -7, "-7"],
    ["a boolean", field({ physical: "BOOLEAN" }), true, "true"],
    ["a double", field({ physical: "DOUBLE" }), 1e21, "1e+21"],
    ["not a number", field({ physical: "DOUBLE" }), Number.NaN, null],
    ["an infinite float", field({ physical: "FLOAT" }), Number.POSITIVE_INFINITY, null],
    ["bytes", field({ physical: "BYTE_ARRAY" }), Uint8Array.of(1), null],
    ["text", field({ physical: "BYTE_ARRAY", converted: "UTF8" }), Buffer.from('ä"\n'), '"ä\\"\\n"'],
    ["a date", field({ physical: "INT32", converted: "DATE" }), 20_513, '"2026-03-01"'],
    ["a date before 1970", field({ physical: "INT32", converted: "DATE" }), -1, '"1969-12-31"'],
    ["a date of the year 10000", field({ physical: "INT32", converted: "DATE" }), 2_932_897, null],
    ["a time, rounded down", field(micros), 1_767_225_600_000_001n, '"2026-01-01T00:00:00.000Z"'],
    ["a time, rounded up", field(micros, "maxValues"), 1_767_225_600_000_001n, '"2026-01-01T00:00:00.001Z"'],
    ["an infinite time", field(micros), 2n ** 63n - 1n, null],
    ["a local time", field(timestamp(false, "MICROS")), 1_767_225_600_000_000n, '"2026-01-01T00:00:00.000"'],
    ["nanoseconds before 1970", field({ physical: "INT96" }), -1n, '"1969-12-31T23:59:59.999Z"'],
    [
      "nanoseconds, rounded up",
      field(timestamp(true, "NANOS"), "maxValues"),
      1n,
      '"1970-01-01T00:00:00.001Z"',
    ],
    ["milliseconds", field({ converted: "TIMESTAMP_MILLIS" }), 5n, '"1970-01-01T00:00:00.005Z"'],
    [
      "a decimal of 18 digits",
      field({ converted: "DECIMAL", scale: 2 }),
      123_456_789_012_345_678n,
      "1234567890123456.78",
    ],
    ["a small decimal below 0", field({ physical: "INT32", converted: "DECIMAL", scale: 3 }), -5, "-0.005"],
    [
      "a decimal in bytes",
      field({ physical: "FIXED_LEN_BYTE_ARRAY", converted: "DECIMAL", scale: 1 }),
      Uint8Array.of(0xff, 0x38),
      "-20.0",
    ],
  ] as const)("that is %s", (_, column, raw, json) => {
    expect(statisticText(column)(raw)).toBe(json);
  });

  test("keeps a column that is called __proto__", () => {
    const value = { minValues: Object.fromEntries([["__proto__", "1"]]) };
    expect(statisticsJson(value)).toBe('{"minValues":{"__proto__":1}}');
  });
});
