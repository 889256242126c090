import { DataFileReader } from "@deltacap/delta";
import type { ColumnDefinition } from "@deltacap/parquet";
import { ParquetFile, pagedParquetWriter, RowGroupBuilder, type SparseRowGroup } from "@deltacap/parquet";
import { describe, expect, test } from "vitest";
import { mergeFiles, mergeInputs } from "../../src/upkeep/merge-files.ts";
import { type MergeInput, mergedSpans, peakMemory } from "../../src/upkeep/merge-row-groups.ts";
import { MemoryObjectStore } from "../support/memory/memory-object-store.ts";
import { parquetWasmWriter } from "../support/parquet/parquet-wasm-writer.ts";
import { randomTable } from "../support/parquet/random-table.ts";
import { gzip, readWithParquetWasm, written } from "../support/parquet/read-back.ts";
import { definition, type GroupValues, rowGroup, type Value } from "../support/parquet/table-values.ts";
import { Random, testSeed } from "../support/random.ts";
import { valuesOf } from "../support/tables/column-values.ts";

const seed = testSeed(20_261_130);
const keyColumns = [
  definition("vehicle_id", "string"),
  definition("capture", "string"),
  definition("packet_number", "long"),
  definition("record_number", "integer"),
  definition("source_id", "string"),
];
/** In UTF-16 units the last two sort the other way round; the long ones are cut off in statistics. */
const vehicles = [null, "", "car-1", "car-2", "x".repeat(200), `${"x".repeat(200)}y`, "\uffee", "\u{1f697}"];

/** Values of the key columns: few different ones, so that files overlap and captures lie in several. */
function keys(random: Random, rows: number): Value[][] {
  const of = (value: () => Value) => Array.from({ length: rows }, value);
  return [
    of(() => random.pick(vehicles) ?? null),
    of(() => `s3://bucket/${random.below(4)}`),
    of(() => BigInt(random.pick([1, 2, 3, 300, 2 ** 40]))),
    of(() => (random.chance(0.5) ? null : random.below(3))),
    of(() => random.pick(["a", "b"])),
  ];
}

interface RandomFile {
  readonly groups: readonly GroupValues[];
  readonly bytes: Uint8Array;
}

async function randomFile(
  random: Random,
  columns: readonly ColumnDefinition[],
  groups: readonly GroupValues[],
): Promise<RandomFile> {
  const keyed = groups.map((group) => {
    const rows = group[0]?.length ?? 0;
    const values = [...keys(random, rows), ...group];
    return random.chance(0.7) ? sortedRows(values) : values;
  });
  const factory = random.chance(0.5)
    ? pagedParquetWriter({ compressor: gzip, pageRows: random.pick([50, 131_072]) })
    : parquetWasmWriter;
  return {
    groups: keyed,
    bytes: await written(
      factory,
      columns,
      keyed.map((values) => rowGroup(columns, values)),
    ),
  };
}

const rowsOf = (columns: GroupValues): Value[][] =>
  (columns[0] ?? []).map((_, row) => columns.map((values) => values[row] ?? null));
const columnsOf = (rows: readonly Value[][], count: number): Value[][] =>
  Array.from({ length: count }, (_, i) => rows.map((row) => row[i] ?? null));
const sortedRows = (columns: GroupValues): Value[][] =>
  columnsOf(rowsOf(columns).sort(compareRows), columns.length);

/** The order that is wanted, said plainly. */
function compareRows(a: readonly Value[], b: readonly Value[]): number {
  for (let i = 0; i < keyColumns.length; i++) {
    const [x, y] = [a[i] ?? null, b[i] ?? null];
    if (x === y) continue;
    if (x === null || y === null) return x === null ? -1 : 1;
    if (typeof x === "string") return Buffer.compare(Buffer.from(x), Buffer.from(y as string));
    return x < y ? -1 : 1;
  }
  return 0;
}

describe(`seed ${seed}`, () => {
  test.each([...Array(12).keys()])(
    "files of random columns merge into one that is sorted and has every row: %i",
    async (round) => {
      const random = new Random(seed + round);
      const { columns: others, groups } = randomTable(random);
      const columns = [...keyColumns, ...others];
      const store = new MemoryObjectStore();
      const files: RandomFile[] = [];
      const readers: DataFileReader[] = [];
      for (let i = 0; i < random.between(2, 4); i++) {
        const few = groups.map((group) => group.map((values) => values.slice(0, 400)));
        const file = await randomFile(random, columns, few);
        files.push(file);
        await store.put(`${i}.parquet`, file.bytes);
        readers.push(
          await DataFileReader.open(store, { path: `${i}.parquet`, size: file.bytes.length }, columns),
        );
      }
      const rows = files.flatMap((file) => file.groups.flatMap(rowsOf)).sort(compareRows);
      const parquet = pagedParquetWriter({ compressor: gzip });
      const output = new ParquetFile("out.parquet", null, parquet, (path) => store.create(path), columns);
      await mergeFiles(readers, columns, { rows: random.pick([70, 1000]), frameBytes: 1 << 20 }, output);
      expect((await output.finish()).rows).toBe(rows.length);
      const body = (await store.read("out.parquet")) ?? new Uint8Array();
      const found = readWithParquetWasm(body, columns).map((values) => values.map(plain));
      const expected = columnsOf(rows, columns.length).map((values) => values.map(plain));
      // Rows of one key keep the files' order among themselves, and JavaScript's sort is stable.
      expect(found).toEqual(expected);
    },
  );

  test.each([...Array(12).keys()])(
    "a file is read back as it was written, by either writer: %i",
    async (round) => {
      const random = new Random(seed + 100 + round);
      const { columns, groups } = randomTable(random);
      const store = new MemoryObjectStore();
      for (const factory of [pagedParquetWriter({ compressor: gzip }), parquetWasmWriter]) {
        const bytes = await written(
          factory,
          columns,
          groups.map((values) => rowGroup(columns, values)),
        );
        await store.put("a.parquet", bytes);
        const reader = await DataFileReader.open(store, { path: "a.parquet", size: bytes.length }, columns);
        const found = columns.map((): unknown[] => []);
        for (const index of reader.rowGroups.keys()) {
          const group = await reader.read(index);
          group.columns.forEach((column, i) => {
            found[i]?.push(...(column === null ? Array<null>(group.rows).fill(null) : valuesOf(column)));
          });
        }
        const expected = columns.map((_, i) => groups.flatMap((group) => (group[i] ?? []).map(plain)));
        expect(found).toEqual(expected);
      }
    },
  );

  test.each([...Array(12).keys()])("spans of random rows are put together as they are: %i", (round) => {
    const random = new Random(seed + 200 + round);
    const { columns, groups } = randomTable(random);
    const sources = groups.map((values): SparseRowGroup => {
      const group = rowGroup(columns, values);
      return {
        rows: group.rows,
        columns: group.columns.map((column) => (column.nullCount === group.rows ? null : column)),
      };
    });
    const builder = new RowGroupBuilder(columns);
    for (let take = 0; take < 2; take++) {
      const expected = columns.map((): unknown[] => []);
      for (let span = 0; span < random.between(1, 20); span++) {
        const which = random.below(sources.length);
        const from = random.between(0, sources[which]!.rows);
        const to = random.between(from, sources[which]!.rows);
        builder.append(sources[which]!, from, to);
        columns.forEach(
          (_, i) => void expected[i]?.push(...(groups[which]?.[i] ?? []).slice(from, to).map(plain)),
        );
      }
      const group = builder.take();
      expect(group.columns.map(valuesOf)).toEqual(expected);
      for (const column of group.columns) {
        if (column.kind === "string")
          expect(new Set(column.codes.filter((code) => code >= 0)).size).toBe(column.dictionary.length);
      }
      builder.clear();
    }
  });
});

/** As arrays compare: bytes as plain numbers, booleans as row groups have them. */
function plain(value: Value): unknown {
  if (typeof value === "boolean") return Number(value);
  return value instanceof Uint8Array ? [...value] : value;
}

const oneColumn = [definition("packet_number", "long")];

/** An input of these packet numbers, with a range; `read` is counted. */
function input(numbers: readonly number[], reads: string[], memoryBytes = 1): MergeInput {
  const values = numbers.map(BigInt);
  return {
    path: `file of ${numbers[0]}`,
    memoryBytes,
    readingBytes: 0,
    range: { lower: [BigInt(Math.min(...numbers))], upper: [BigInt(Math.max(...numbers))] },
    read: async () => {
      reads.push(`read ${numbers[0]}`);
      return rowGroup(oneColumn, [values]);
    },
  };
}

async function merged(inputs: readonly MergeInput[], reads: string[] = []): Promise<string[]> {
  for await (const { group, from, to } of mergedSpans(inputs, oneColumn)) {
    reads.push(valuesOf(group.columns[0]!).slice(from, to).join(" "));
  }
  return reads;
}

test("a row group is read when the merge has come to its least key, not before", async () => {
  const reads: string[] = [];
  const inputs = [input([5, 6], reads), input([1, 2, 3], reads), input([3, 4, 5], reads)];
  expect(await merged(inputs, reads)).toEqual([
    "read 1",
    "1 2",
    "read 3",
    "3",
    "3 4",
    "read 5",
    "5",
    "5",
    "6",
  ]);
});

test("row groups that are not sorted are sorted when they are read", async () => {
  expect(await merged([input([3, 1, 2], [])])).toEqual(["1 2 3"]);
});

test("a row below the least key that a file's statistics give is an error that names the file", async () => {
  const wrong = { ...input([1, 9], []), range: { lower: [5n], upper: [9n] } };
  await expect(merged([wrong])).rejects.toThrow("file of 1 has rows before 5");
});

test("memory is counted where key ranges overlap, and once each where they do not", () => {
  const range = (from: number, to: number) => input([from, to], [], 100);
  expect(peakMemory([range(1, 3), range(4, 6), range(7, 9)])).toBe(100);
  expect(peakMemory([range(1, 3), range(3, 6), range(7, 9)])).toBe(200);
  expect(peakMemory([range(1, 9), range(2, 3), range(4, 5)])).toBe(200);
  const unknown = { ...range(1, 1), range: { lower: [null], upper: [] } };
  expect(peakMemory([range(1, 3), range(4, 6), unknown])).toBe(200);
});

test("the memory of reading a row group counts once, the largest of those that are open together", () => {
  const range = (from: number, to: number, readingBytes: number) => ({
    ...input([from, to], [], 100),
    readingBytes,
  });
  expect(peakMemory([range(1, 5, 30), range(2, 6, 50), range(3, 7, 10)])).toBe(350);
  expect(peakMemory([range(1, 2, 30), range(3, 4, 500)])).toBe(600);
});

test("statistics give the ranges: what no file says is not taken for known", async () => {
  const columns = [definition("vehicle_id", "string"), definition("packet_number", "long")];
  const store = new MemoryObjectStore();
  const groups: GroupValues[] = [
    [
      ["b", "c"],
      [7n, 2n],
    ],
    [
      ["b", null],
      [1n, 2n],
    ],
    [
      [null, null],
      [5n, 4n],
    ],
  ];
  const bytes = await written(
    pagedParquetWriter({ compressor: gzip }),
    columns,
    groups.map((values) => rowGroup(columns, values)),
  );
  await store.put("a", bytes);
  const reader = await DataFileReader.open(store, { path: "a", size: bytes.length }, columns);
  expect(mergeInputs([reader], columns).map(({ range }) => range)).toEqual([
    { lower: ["b", 2n], upper: ["c", 7n] },
    { lower: [null, 1n], upper: ["b", 2n] },
    { lower: [null, 4n], upper: [null, 5n] },
  ]);
});

test("a bound that is cut within a character is a bound all the same, or none", async () => {
  const columns = [definition("vehicle_id", "string")];
  const store = new MemoryObjectStore();
  const bytes = await written(pagedParquetWriter({ compressor: gzip }), columns, [
    rowGroup(columns, [["ab\u00e9"]]),
  ]);
  // As a writer leaves it that cuts bytes: the statistics' two copies of the value end within its last character.
  const cut = Buffer.from(bytes);
  const value = Buffer.from("ab\u00e9");
  const footer = cut.length - 8 - cut.readUInt32LE(cut.length - 8);
  for (let at = cut.indexOf(value, footer); at >= 0; at = cut.indexOf(value, at + 1)) cut[at + 3] = 0xff;
  await store.put("a", cut);
  const reader = await DataFileReader.open(store, { path: "a", size: cut.length }, columns);
  expect(mergeInputs([reader], columns)[0]?.range).toEqual({ lower: ["ab"], upper: [] });
});
