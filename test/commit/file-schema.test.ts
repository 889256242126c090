import { RetryableError } from "@deltacap/delta";
import { type ColumnSource, parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, test } from "vitest";
import { parquetFileCheck } from "../../src/commit/file-schema.ts";
import type { DataFile } from "../../src/manifest/manifest.ts";
import { MemoryObjectStore } from "../support/memory/memory-object-store.ts";
import { smallTable } from "../support/tables/committer-world.ts";

async function problemOf(body: Uint8Array, rows = 2): Promise<string | null> {
  const store = new MemoryObjectStore();
  await store.put("a.parquet", body);
  const file: DataFile = { path: "a.parquet", size: body.length, partitionValues: {}, rows, stats: "" };
  return await parquetFileCheck(store, smallTable)(file);
}

const n: ColumnSource = { name: "n", data: [1n, 2n], type: "INT64" };
const frame: ColumnSource = { name: "frame", data: [Uint8Array.of(1), Uint8Array.of(2)], type: "BYTE_ARRAY" };
const parquet = (...columnData: ColumnSource[]) => new Uint8Array(parquetWriteBuffer({ columnData }));

describe("a data file's own schema", () => {
  test("is the table's, or lacks columns that came later", async () => {
    expect(await problemOf(parquet(n, frame))).toBeNull();
    expect(await problemOf(parquet(n))).toBeNull();
  });

  test.each<[string, Uint8Array, string]>([
    [
      "a column of another type",
      parquet({ name: "n", data: ["a", "b"], type: "STRING" }),
      "n of a.parquet is string, and the table's is long",
    ],
    [
      "a column that is text instead of bytes",
      parquet(n, { name: "frame", data: ["a", "b"], type: "STRING" }),
      "frame of a.parquet is string",
    ],
    [
      "a column that the table has not",
      parquet(n, { name: "more", data: [true, false], type: "BOOLEAN" }),
      "has the column more",
    ],
    [
      "the partition column",
      parquet(n, { name: "date", data: ["a", "b"], type: "STRING" }),
      "has the column date",
    ],
    ["no Parquet at all", new Uint8Array(100), "is damaged, at byte 96 (footer)"],
    ["nothing", new Uint8Array(), "is damaged, at byte 0 (footer): 0 bytes are too few for a Parquet file"],
  ])("%s is named", async (_, body, named) => {
    expect(await problemOf(body)).toContain(named);
  });

  test("other rows than the manifest says are named with both numbers", async () => {
    expect(await problemOf(parquet(n), 3)).toMatch(/has 2 rows, and its manifest says 3/);
  });
});

describe("a problem is believed when a second reading finds the same", () => {
  const body = parquet(n, frame);
  const file: DataFile = { path: "a.parquet", size: body.length, partitionValues: {}, rows: 2, stats: "" };

  /** Checks the file where the nth read of the store gives `change` of the bytes. */
  async function checkWith(
    change: (bytes: Uint8Array) => Uint8Array,
    wrongReads: number,
  ): Promise<string | null> {
    const store = new MemoryObjectStore();
    await store.put("a.parquet", body);
    const read = store.read.bind(store);
    let reads = 0;
    store.read = async (path, range) => {
      const bytes = await read(path, range);
      return ++reads <= wrongReads && bytes !== null ? change(bytes) : bytes;
    };
    return await parquetFileCheck(store, smallTable)(file);
  }

  test.each<[string, (bytes: Uint8Array) => Uint8Array]>([
    ["short", (bytes) => bytes.subarray(0, bytes.length - 4)],
    ["empty", (bytes) => bytes.subarray(0, 0)],
    ["of zeros", (bytes) => new Uint8Array(bytes.length)],
  ])("one reply that is %s throws, and does not condemn the file", async (_, change) => {
    await expect(checkWith(change, 1)).rejects.toThrow(RetryableError);
    await expect(checkWith(change, 1)).rejects.toThrow("disagree");
    expect(await checkWith(change, 9)).toContain("is damaged, at byte");
  });
});
