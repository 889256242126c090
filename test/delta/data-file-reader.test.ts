import { describe, expect, test } from "vitest";
import type { ColumnDefinition } from "../../src/columns/table-schema.ts";
import { DataFileReader, UnreadableFileError } from "../../src/delta/data-file-reader.ts";
import { nodePageCompressor } from "../../src/node/page-compressor.ts";
import { nodePageDecompressors } from "../../src/node/page-decompressors.ts";
import { pagedParquetWriter } from "../../src/parquet/paged-writer.ts";
import { gzip, written } from "../parquet/read-back.ts";
import { definition, type GroupValues, rowGroup } from "../parquet/table-values.ts";
import { valuesOf } from "../support/column-values.ts";
import { MemoryObjectStore } from "../support/memory-object-store.ts";

/** A file with these columns, opened as one of a table with others. */
async function open(
  fileColumns: readonly ColumnDefinition[],
  groups: readonly GroupValues[],
  tableColumns: readonly ColumnDefinition[],
  store = new MemoryObjectStore(),
) {
  const rows = groups.map((values) => rowGroup(fileColumns, values));
  const bytes = await written(pagedParquetWriter({ compressor: gzip }), fileColumns, rows);
  await store.put("a.parquet", bytes);
  return await DataFileReader.open(store, "a.parquet", bytes.length, tableColumns);
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
    const reader = await DataFileReader.open(store, "a", bytes.length, [name], decompressors);
    expect(valuesOf((await reader.read(0)).columns[0]!)).toEqual(values[0]);
  }
});
