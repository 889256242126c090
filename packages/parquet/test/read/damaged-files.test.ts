import { RetryableError } from "@deltacap/delta";
import { describe, expect, test } from "vitest";
import { parquetStating, type StatedFile } from "../../../../test/support/tables/parquet-file.ts";
import { DamagedParquetError } from "../../src/read/damaged-parquet.ts";
import { decodeDeltas, decodePrefixes } from "../../src/read/delta-encodings.ts";
import { openParquet } from "../../src/read/parquet-reader.ts";
import { decodeRunLengths } from "../../src/read/run-lengths.ts";

/** Each read takes a turn of the event loop, as one of a file does. */
function sourceOf(bytes: Uint8Array, size = bytes.length) {
  return {
    name: "a.parquet",
    size,
    read: async (start: number, length: number) => {
      await new Promise((resolve) => setImmediate(resolve));
      return bytes.subarray(start, start + length);
    },
  };
}

async function rowsOf(bytes: Uint8Array): Promise<unknown[]> {
  const reader = await openParquet(sourceOf(bytes));
  const rows: unknown[] = [];
  for (const index of reader.footer.rowGroups.keys()) {
    rows.push(
      ...(await reader.readRecords(
        index,
        () => true,
        () => null,
      )),
    );
  }
  return rows;
}

test("a file that states what is true is read", async () => {
  expect(await rowsOf(parquetStating())).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
});

test("metadata of GeoParquet is not looked at, whatever it holds", async () => {
  const geo = '{"columns":{"n":{"encoding":"WKB","crs":{"id":{}}}}}';
  expect(await rowsOf(parquetStating({ geo }))).toHaveLength(3);
});

const LEVELS_OF_2_BILLION = [6, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 1];

const damaged: readonly (readonly [string, Partial<StatedFile>, RegExp])[] = [
  ["children that are fewer than none", { rootChildren: -1 }, /schema has -1 children/],
  ["children that are more than all elements", { rootChildren: 9 }, /schema has 9 children/],
  ["elements that no group has", { rootChildren: 0 }, /its groups have 1 of them/],
  ["a column that is a group too", { childrenOfColumn: 1 }, /neither a column nor a group/],
  [
    "a column with children that are fewer than none",
    { childrenOfColumn: -1 },
    /neither a column nor a group/,
  ],
  ["a type that does not exist", { physical: 77 }, /physical type 77/],
  ["rows that are fewer than none", { rows: -3, groupRows: -3 }, /number of rows of the file is -3/],
  ["rows of a row group that are fewer than none", { groupRows: -3 }, /rows of a row group is -3/],
  ["other rows than the row groups have", { rows: 4 }, /states 4 rows, and its row groups have 3/],
  ["a row group of 2^50 rows", { rows: 2 ** 50, groupRows: 2 ** 50, values: 2 ** 50 }, /at most/],
  ["other values than rows", { values: 4 }, /4 values in a row group of 3 rows/],
  ["values that are fewer than none", { values: -1 }, /number of values of column n is -1/],
  ["too many columns", { columns: 2 }, /more than 1 columns/],
  ["too few columns", { columns: 0 }, /0 columns, and the schema 1/],
  ["a column of another name", { path: ["m"] }, /has the column m where the schema has n/],
  ["pages behind the file's end", { dataPageOffset: 1_000_000 }, /bytes 1000000 to/],
  ["pages before the file's beginning", { dataPageOffset: -4 }, /offset is -4/],
  [
    "a dictionary behind the file's end",
    { dictionaryPageOffset: 2 ** 40, dataPageOffset: 2 ** 40 },
    /columns end at/,
  ],
  ["a chunk longer than the file", { compressedBytes: 5_000 }, /columns end at/],
  ["a chunk of 2^40 bytes", { compressedBytes: 2 ** 40 }, /at most/],
  ["a codec that does not exist", { codec: 99 }, /codec 99 is not supported/],
  ["an encoding that does not exist", { encoding: 99 }, /encoding 99/],
  ["a dictionary that is not there", { encoding: 8 }, /dictionary that the column lacks/],
  ["a page of negative length", { pageBytes: -1 }, /a page has -1 bytes/],
  ["a page longer than its column", { pageBytes: 10_000 }, /a page has 10000 bytes/],
  ["a page that is negative when decompressed", { pageUncompressedBytes: -1 }, /-1 decompressed/],
  [
    "a page of 2^31-1 bytes decompressed",
    { codec: 6, pageUncompressedBytes: 2 ** 31 - 1 },
    /footer says 100/,
  ],
  [
    "a page with another length than its bytes",
    { pageUncompressedBytes: 99 },
    /12 bytes decompressed, and its header says 99/,
  ],
  ["values of a page that are fewer than none", { pageValues: -1 }, /a page has -1 values/],
  ["more values in a page than in the column", { pageValues: 2 ** 31 - 1 }, /footer says 3/],
  ["fewer values in the pages than in the column", { pageValues: 2 }, /column ends after 2 of 3 values/],
  ["values that the page cannot hold", { page: Uint8Array.of(1, 2, 3) }, /3 values of 12 bytes/],
  ["levels that the page does not hold", { repetition: 1, page: Uint8Array.of(9, 0, 0, 0) }, /levels of 9/],
  [
    "a run of levels without end",
    { repetition: 1, page: Uint8Array.from(LEVELS_OF_2_BILLION) },
    /3 values do not fit into a page of 0 bytes/,
  ],
  ["a footer longer than the file", { footerLength: 70_000 }, /the footer has 70000 bytes/],
  ["a footer that ends within a value", { footerLength: 20 }, /damaged, at byte/],
];

describe("a file that states", () => {
  test.each(damaged)("%s is damaged, at a byte of it", async (_, stated, message) => {
    const bytes = parquetStating(stated);
    const error = await rowsOf(bytes).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(DamagedParquetError);
    const { message: text, offset } = error as DamagedParquetError;
    expect(text).toMatch(message);
    expect(text).toMatch(/^a\.parquet is damaged, at byte \d+ \((footer|(column n of )?row group 0)\): /);
    expect(offset).toBeLessThanOrEqual(bytes.length);
  });
});

describe("a file of which bytes are missing", () => {
  test.each([0, 4, 11])("because it has %i of them, is damaged", async (length) => {
    await expect(rowsOf(parquetStating().subarray(0, length))).rejects.toBeInstanceOf(DamagedParquetError);
  });

  test("because it is shorter than the log says, is damaged where it ends", async () => {
    const bytes = parquetStating();
    const source = sourceOf(bytes.subarray(0, 50), bytes.length);
    await expect(openParquet(source)).rejects.toThrow(/at byte 50: the file ends there/);
  });

  test("because the store failed, is not damaged", async () => {
    const failure = new RetryableError("no answer");
    const source = { ...sourceOf(parquetStating()), read: () => Promise.reject(failure) };
    await expect(openParquet(source)).rejects.toBe(failure);
  });
});

test("what a caller throws over a value is damage of that column, and reaches the caller", async () => {
  const bytes = parquetStating();
  const reader = await openParquet(sourceOf(bytes));
  const [chunk] = await reader.fetch(reader.footer.rowGroups[0]!.columns);
  const reject = () => {
    throw new Error("no such value");
  };
  expect(() => reader.readPages(0, chunk!, null, reject)).toThrow(
    "a.parquet is damaged, at byte 4 (column n of row group 0): no such value",
  );
});

test("a limit of values for each byte refuses a few bytes that stand for millions of nulls", async () => {
  const rows = 10_000_000;
  const bytes = parquetStating({ rows, groupRows: rows, values: rows, pageValues: rows, repetition: 1 });
  await expect(openParquet(sourceOf(bytes), { maxValuesPerByte: 64 })).rejects.toThrow(/10000000 values in/);
});

describe("an encoding", () => {
  test("of runs takes no more of a run than there is room for", () => {
    const levels = new Uint8Array(5);
    decodeRunLengths(Uint8Array.of(0xfe, 0xff, 0xff, 0xff, 0x0f, 1), 1, 1, levels);
    expect([...levels]).toEqual([1, 1, 1, 1, 1]);
  });

  test("of runs refuses values above the greatest, and bytes that end", () => {
    expect(() => decodeRunLengths(Uint8Array.of(10, 3), 2, 2, new Uint8Array(5))).toThrow(
      /is 3, and at most 2/,
    );
    expect(() => decodeRunLengths(Uint8Array.of(3, 1), 16, 9, new Uint32Array(8))).toThrow(/ends within/);
    expect(() => decodeRunLengths(new Uint8Array(9), 0, 0, new Uint8Array(20))).toThrow(/ends within/);
    expect(() => decodeRunLengths(Uint8Array.of(2), 33, 0, new Uint8Array(1))).toThrow(/33 bits/);
  });

  test.each([
    ["blocks of nothing", [0, 0, 3, 0]],
    ["blocks without parts", [0x80, 1, 0, 3, 0]],
    ["2^28 parts", [0x80, 0x80, 0x80, 0x80, 1, 0x80, 0x80, 0x80, 0x80, 1, 3, 0]],
    ["more values than the page", [0x80, 1, 4, 0xff, 0xff, 3, 0]],
    ["deltas of 255 bits", [0x80, 1, 4, 3, 0, 0, 255, 255, 255, 255]],
    ["no bytes for its deltas", [0x80, 1, 4, 3, 0, 0, 8, 8, 8, 8]],
  ])("of deltas refuses %s", (_, bytes) => {
    expect(() => decodeDeltas(Uint8Array.from(bytes), 0, new Int32Array(3))).toThrow();
    expect(() => decodeDeltas(Uint8Array.from(bytes), 0, new BigInt64Array(3))).toThrow();
  });

  test("of prefixes refuses one that is longer than the value before", () => {
    // Prefixes 0, 9; suffixes "a", "b".
    const prefixes = [0x80, 1, 4, 2, 0, 18, 0, 0, 0, 0];
    const suffixes = [0x80, 1, 4, 2, 2, 0, 0, 0, 0, 0, 0x61, 0x62];
    expect(() => decodePrefixes(Uint8Array.from([...prefixes, ...suffixes]), 2)).toThrow(
      /9 bytes of one that has 1/,
    );
  });
});
