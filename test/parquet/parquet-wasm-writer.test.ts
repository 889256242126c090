import { expect, test } from "vitest";
import { parquetWasmWriter } from "../../src/parquet/parquet-wasm-writer.ts";
import { Random, testSeed } from "../support/random.ts";
import { randomTable } from "./random-table.ts";
import { metadata, readWithHyparquet, written } from "./read-back.ts";
import { definition, rowGroup, type Value } from "./table-values.ts";

const columns = [
  definition("i", "integer"),
  definition("l", "long"),
  definition("t", "timestamp"),
  definition("s", "string"),
  definition("flag", "boolean"),
  definition("bytes", "binary", false),
];

const group = (...rows: Value[][]) =>
  rowGroup(
    columns,
    columns.map((_, i) => rows.map((row) => row[i] ?? null)),
  );
const one = group([1, 2n, -1n, "a", true, Uint8Array.of(1)]);
const two = group(
  [null, null, null, null, null, null],
  [3, 2n ** 62n, 253_402_300_799_999_999n, "é", false, new Uint8Array(0)],
);

test("row groups come back with their values and nulls", async () => {
  const file = await written(parquetWasmWriter, columns, [one, two]);
  expect(await readWithHyparquet(file, columns)).toEqual([
    [1, null, 3],
    [2n, null, 2n ** 62n],
    [-1n, null, 253_402_300_799_999_999n],
    ["a", null, "é"],
    [true, null, false],
    [Uint8Array.of(1), null, new Uint8Array(0)],
  ]);
});

const seed = testSeed(12);
test(`random tables come back with their values (seed ${seed})`, async () => {
  const random = new Random(seed);
  for (let i = 0; i < 15; i++) {
    const table = randomTable(random);
    const groups = table.groups.map((values) => rowGroup(table.columns, values));
    const file = await written(parquetWasmWriter, table.columns, groups);
    const expected = table.columns.map((_, column) => table.groups.flatMap((values) => values[column] ?? []));
    expect(await readWithHyparquet(file, table.columns), `table ${i}`).toEqual(expected);
  }
});

test("ts is INT64 TIMESTAMP(MICROS) in UTC, pages are zstd, and every column may be null", async () => {
  const { schema, row_groups } = metadata(await written(parquetWasmWriter, columns, [one]));
  expect(schema.find(({ name }) => name === "t")).toMatchObject({
    type: "INT64",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
    repetition_type: "OPTIONAL",
  });
  expect(schema.slice(1).map(({ repetition_type }) => repetition_type)).toEqual(
    columns.map(() => "OPTIONAL"),
  );
  const codecs = row_groups.flatMap((rowGroup) => rowGroup.columns.map(({ meta_data }) => meta_data?.codec));
  expect(new Set(codecs)).toEqual(new Set(["ZSTD"]));
});

test("columns that queries filter by have bounds in the file, bytes have none", async () => {
  const { row_groups } = metadata(await written(parquetWasmWriter, columns, [two]));
  const statistics = new Map(
    row_groups[0]?.columns.map(({ meta_data }) => [meta_data?.path_in_schema[0], meta_data?.statistics]),
  );
  expect(statistics.get("l")).toMatchObject({ null_count: 1n, min_value: 2n ** 62n, max_value: 2n ** 62n });
  expect(statistics.get("s")).toMatchObject({ min_value: "é", max_value: "é" });
  expect(statistics.get("bytes")).toBeUndefined();
});

test("the arrays of a row group may be used again once it was taken", async () => {
  const group = rowGroup([definition("i", "integer")], [[1, 2, 3]]);
  const chunks: Uint8Array[] = [];
  const writer = parquetWasmWriter([definition("i", "integer")], async (chunk) => void chunks.push(chunk));
  await writer.write(group);
  const [column] = group.columns;
  if (column?.kind === "integer") column.values.fill(9);
  await writer.finish();
  expect(await readWithHyparquet(Buffer.concat(chunks), [definition("i", "integer")])).toEqual([[1, 2, 3]]);
});

test("a group without rows is left out, and a file without any is refused", async () => {
  const writer = parquetWasmWriter(columns, async () => {});
  await writer.write(group());
  await expect(writer.finish()).rejects.toThrow("at least one row group");
  const file = await written(parquetWasmWriter, columns, [group(), one, group()]);
  expect(metadata(file).num_rows).toBe(1n);
});

test("an error of the sink comes out of the writer, and abort then ends quietly", async () => {
  const writer = parquetWasmWriter(columns, async () => {
    throw new Error("the disk is full");
  });
  const writing = async () => {
    await writer.write(one);
    await writer.finish();
  };
  await expect(writing()).rejects.toThrow("the disk is full");
  await writer.abort();
});

test.each([0, 1, 3])("abort after %i row groups ends quietly, and nothing more comes", async (groups) => {
  let chunks = 0;
  const writer = parquetWasmWriter(columns, async () => void chunks++);
  for (let i = 0; i < groups; i++) await writer.write(one);
  await writer.abort();
  const before = chunks;
  await writer.abort();
  expect(chunks).toBe(before);
});
