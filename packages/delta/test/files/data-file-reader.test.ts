import type { Column, ColumnDefinition } from "@deltacap/parquet";
import { pagedParquetWriter } from "@deltacap/parquet";
import { describe, expect, test } from "vitest";
import { nodePageCompressor } from "../../../../src/node/page-compressor.ts";
import { nodePageDecompressors } from "../../../../src/node/page-decompressors.ts";
import { MemoryObjectStore } from "../../../../test/support/memory/memory-object-store.ts";
import { gzip, written } from "../../../../test/support/parquet/read-back.ts";
import { definition, type GroupValues, rowGroup } from "../../../../test/support/parquet/table-values.ts";
import { valuesOf } from "../../../../test/support/tables/column-values.ts";
import { inlineVector } from "../../../../test/support/tables/deletion-vectors.ts";
import { parquetStating, type StatedFile } from "../../../../test/support/tables/parquet-file.ts";
import type { DeletionVector } from "../../src/actions/actions.ts";
import { DataFileReader, UnreadableFileError } from "../../src/files/data-file-reader.ts";

/** A file with these columns, opened as one of a table with others. */
async function open(
  fileColumns: readonly ColumnDefinition[],
  groups: readonly GroupValues[],
  tableColumns: readonly ColumnDefinition[],
  store = new MemoryObjectStore(),
  deletionVector?: DeletionVector,
) {
  const rows = groups.map((values) => rowGroup(fileColumns, values));
  const bytes = await written(pagedParquetWriter({ compressor: gzip }), fileColumns, rows);
  await store.put("a.parquet", bytes);
  return await DataFileReader.open(
    store,
    { path: "a.parquet", size: bytes.length, ...(deletionVector && { deletionVector }) },
    tableColumns,
  );
}

const n = definition("n", "long");
const name = definition("name", "string");

describe("columns of a file and of the table", () => {
  test("are matched by name: what the file lacks is null, what the table lacks is not read", async () => {
    const reader = await open(
      [definition("other", "integer"), n],
      [
        [
          [1, 2],
          [3n, null],
        ],
      ],
      [name, n],
    );
    const group = await reader.read(0);
    expect(group.columns[0]).toBeNull();
    expect(valuesOf(group.columns[1]!)).toEqual([3n, null]);
  });

  test("integers are read as the longs that the column was widened to", async () => {
    const reader = await open([definition("n", "integer")], [[[-1, null, 0x7fffffff]]], [n]);
    expect(valuesOf((await reader.read(0)).columns[0]!)).toEqual([-1n, null, 0x7fffffffn]);
  });

  test.each([
    ["long", "integer"],
    ["timestamp", "long"],
    ["binary", "string"],
    ["string", "binary"],
    ["boolean", "integer"],
    ["integer", "timestamp"],
  ] as const)(
    "a column that is %s in the file and %s in the table is refused by name",
    async (found, wanted) => {
      const opening = open([definition("x", found)], [[[null]]], [definition("x", wanted)]);
      await expect(opening).rejects.toThrow(/^a\.parquet has the column x as .*, and the table as/);
      await expect(opening).rejects.toBeInstanceOf(UnreadableFileError);
    },
  );
});

test("a row group without any value of a column takes no memory for it", async () => {
  const reader = await open(
    [n, name],
    [
      [
        [null, null],
        ["a", "b"],
      ],
      [
        [1n, null],
        ["c", null],
      ],
    ],
    [n, name],
  );
  const [first, second] = reader.rowGroups;
  expect((await reader.read(0)).columns[0]).toBeNull();
  expect(first?.memoryBytes).toBeLessThan(second?.memoryBytes ?? 0);
});

test("rows of one text, which take next to no bytes in the file, count with the lists that reading them takes", async () => {
  const rows = 20_000;
  const texts = Array.from({ length: rows }, () => "car-1");
  const numbers = Array.from({ length: rows }, () => 7n);
  const reader = await open([n, name], [[numbers, texts]], [n, name]);
  const summary = reader.rowGroups[0];
  expect(summary?.memoryBytes).toBeGreaterThanOrEqual(12 * rows);
  // One column at a time: the one that takes most, 96 bytes a long.
  expect(summary?.readingBytes).toBeGreaterThanOrEqual(96 * rows);
  expect(summary?.readingBytes).toBeLessThan(100 * rows);
  const small = await open([n, name], [[numbers, texts]], [name]);
  expect(small.rowGroups[0]?.readingBytes).toBeGreaterThanOrEqual(32 * rows);
  expect(small.rowGroups[0]?.readingBytes).toBeLessThan(40 * rows);
});

test("a long value counts as it is held, and as its page has it while it is read", async () => {
  const frame = definition("frame", "binary");
  const length = 1_000_000;
  const reader = await open([frame], [[[new Uint8Array(length)]]], [frame]);
  const summary = reader.rowGroups[0];
  expect(summary?.memoryBytes).toBeGreaterThanOrEqual(length);
  expect(summary?.readingBytes).toBeGreaterThanOrEqual(length);
});

test("only the columns that are named are read, from the bytes of their chunks alone", async () => {
  const store = new MemoryObjectStore();
  const frames = [new Uint8Array(50_000).map((_, i) => i * i), null];
  const reader = await open(
    [n, definition("frame", "binary"), name],
    [[[1n, 2n], frames, ["a", "b"]]],
    [n, definition("frame", "binary"), name],
    store,
  );
  const reads: number[] = [];
  const { read } = store;
  store.read = async (path, range) => {
    reads.push(range?.length ?? 0);
    return await read.call(store, path, range);
  };
  const group = await reader.read(0, new Set(["name"]));
  expect(group.columns.map((column) => column?.kind)).toEqual([undefined, undefined, "string"]);
  expect(reads).toHaveLength(1);
  expect(reads[0]).toBeLessThan(1000);
});

describe("a file that is not what the log says", () => {
  test.each([
    ["is gone", async (store: MemoryObjectStore) => store.remove(["a.parquet"]), "is gone"],
    [
      "was cut",
      async (store: MemoryObjectStore) => store.put("a.parquet", new Uint8Array(10)),
      "shorter than the log says",
    ],
  ])("%s: reading it is an error that names it", async (_, change, message) => {
    const store = new MemoryObjectStore();
    const reader = await open([n], [[[1n]]], [n], store);
    await change(store);
    await expect(reader.read(0)).rejects.toThrow(message);
    await expect(reader.read(0)).rejects.toBeInstanceOf(UnreadableFileError);
  });
});

test("pages of zstd are read, by Node's own where it has one and by JavaScript", async () => {
  const values: GroupValues = [Array.from({ length: 5000 }, (_, i) => `text ${i * i}`)];
  const store = new MemoryObjectStore();
  const writer = pagedParquetWriter({ compressor: nodePageCompressor });
  const bytes = await written(writer, [name], [rowGroup([name], values)]);
  await store.put("a", bytes);
  for (const decompressors of [{}, nodePageDecompressors]) {
    const reader = await DataFileReader.open(store, { path: "a", size: bytes.length }, [name], decompressors);
    expect(valuesOf((await reader.read(0)).columns[0]!)).toEqual(values[0]);
  }
});

describe("rows that a deletion vector deletes", () => {
  const groups: GroupValues[] = [
    [
      [1n, 2n, 3n],
      ["a", "b", "a"],
      [null, null, null],
    ],
    [
      [4n, 5n],
      ["b", "c"],
      [null, null],
    ],
    [[6n], ["c"], [null]],
  ];
  const columns = [n, name, definition("empty", "integer")];
  const values = (column: Column | null | undefined) => column && valuesOf(column);

  test("are not read, counted by their numbers in the whole file", async () => {
    const reader = await open(columns, groups, columns, new MemoryObjectStore(), inlineVector([0, 2, 3, 5]));
    expect(reader.rows).toBe(2);
    expect(reader.rowGroups.map(({ rows, liveRows }) => [rows, liveRows])).toEqual([
      [3, 1],
      [2, 1],
      [1, 0],
    ]);
    const read = [await reader.read(0), await reader.read(1), await reader.read(2)];
    expect(read.map(({ rows }) => rows)).toEqual([1, 1, 0]);
    expect(read.map((group) => values(group.columns[0]))).toEqual([[2n], [5n], null]);
    expect(read.map((group) => values(group.columns[1]))).toEqual([["b"], ["c"], null]);
    // What has no value takes no memory, whether rows are deleted or not.
    expect(read.map((group) => group.columns[2])).toEqual([null, null, null]);
  });

  test("are read where the rows of the file are asked for, and told apart", async () => {
    const reader = await open(columns, groups, columns, new MemoryObjectStore(), inlineVector([0, 2, 3]));
    const stored = await reader.readStored(0);
    expect(values(stored.columns[0])).toEqual([1n, 2n, 3n]);
    expect([...reader.liveSpans(0)]).toEqual([{ from: 1, to: 2 }]);
    expect([...reader.liveSpans(1)]).toEqual([{ from: 1, to: 2 }]);
    expect([...reader.liveSpans(2)]).toEqual([{ from: 0, to: 1 }]);
  });

  test("cost the memory of the copy without them", async () => {
    const [whole, some, none] = await Promise.all(
      [[], [0], [0, 1, 2]].map(async (rows) =>
        open(
          columns,
          groups,
          columns,
          new MemoryObjectStore(),
          rows.length === 0 ? undefined : inlineVector(rows),
        ),
      ),
    );
    const bytes = whole?.rowGroups[0]?.memoryBytes ?? 0;
    expect(some?.rowGroups[0]?.memoryBytes).toBe(2 * bytes);
    expect(none?.rowGroups[0]?.memoryBytes).toBe(0);
    expect(some?.openBytes).toBeGreaterThan(whole?.openBytes ?? 0);
  });

  test("are not guessed at: a vector with a row that the file has not makes the file unreadable", async () => {
    const opening = open(columns, groups, columns, new MemoryObjectStore(), inlineVector([6]));
    await expect(opening).rejects.toThrow(UnreadableFileError);
    await expect(opening).rejects.toThrow("a.parquet has a deletion vector that cannot be read: byte");
  });
});

describe("times in another form than ours", () => {
  const INT96 = 3;
  const INT64 = 2;
  const ts = definition("n", "timestamp");

  async function times(page: Uint8Array, stated: Partial<StatedFile>) {
    const store = new MemoryObjectStore();
    const rows = page.length / (stated.physical === INT96 ? 12 : 8);
    const bytes = parquetStating({ page, rows, groupRows: rows, values: rows, pageValues: rows, ...stated });
    await store.put("a.parquet", bytes);
    return await DataFileReader.open(store, { path: "a.parquet", size: bytes.length }, [ts]);
  }

  /** Nanoseconds of the day, and the Julian day. */
  function int96(...values: readonly (readonly [bigint, number])[]): Uint8Array {
    const view = new DataView(new ArrayBuffer(12 * values.length));
    values.forEach(([nanos, day], i) => {
      view.setBigInt64(12 * i, nanos, true);
      view.setInt32(12 * i + 8, day, true);
    });
    return new Uint8Array(view.buffer);
  }

  test("INT96 is read for every day that microseconds can hold", async () => {
    const page = int96([0n, 2_440_588], [1_999n, 2_440_588], [-1n, 2_440_588], [0n, 0], [0n, 109_000_000]);
    const reader = await times(page, { physical: INT96 });
    const day = 86_400_000_000n;
    const last = (109_000_000n - 2_440_588n) * day;
    expect(valuesOf((await reader.read(0)).columns[0]!)).toEqual([0n, 1n, -1n, -2_440_588n * day, last]);
    expect(reader.rowGroups[0]?.ranges.get("n")).toEqual({ nullCount: null, min: null, max: null });
  });

  test("INT96 of a day that microseconds cannot hold makes the file unreadable", async () => {
    const reader = await times(int96([0n, 2 ** 31 - 1]), { physical: INT96 });
    await expect(reader.read(0)).rejects.toThrow(/nanoseconds does not fit into 64 bits of microseconds/);
  });

  test("milliseconds that microseconds cannot hold make the file unreadable, and name the value", async () => {
    const page = new Uint8Array(new BigInt64Array([5n, 2n ** 63n - 1n]).buffer);
    const reader = await times(page, { physical: INT64, converted: 9 });
    await expect(reader.read(0)).rejects.toThrow(
      /^a\.parquet is damaged, at byte 4 \(column n of row group 0\): a timestamp of 9223372036854775807 milliseconds/,
    );
    await expect(reader.read(0)).rejects.toBeInstanceOf(UnreadableFileError);
  });
});
