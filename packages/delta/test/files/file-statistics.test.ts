import type { ColumnType } from "@deltacap/parquet";
import { type Bounds, compareUtf8 } from "@deltacap/parquet";
import { describe, expect, test } from "vitest";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { parseJson } from "../../src/actions/json.ts";
import { deltaStatistics, lowerBound, upperBound } from "../../src/files/file-statistics.ts";

function statistics(type: ColumnType, bounds: Bounds | null, nullCount = 0, kept = true) {
  const column = { name: 'a "quoted" name', type, meaning: "", statistics: kept };
  return parseJson(deltaStatistics(10, [{ column, nullCount, bounds }])) as {
    numRecords: number;
    minValues: Record<string, unknown>;
    maxValues: Record<string, unknown>;
    nullCount: Record<string, number>;
  };
}
const name = 'a "quoted" name';

describe("a file's statistics", () => {
  test("are the JSON that the protocol asks for", () => {
    const column = (columnName: string, type: ColumnType) => ({
      name: columnName,
      type,
      meaning: "",
      statistics: true,
    });
    expect(
      deltaStatistics(3, [
        {
          column: column("ts", "timestamp"),
          nullCount: 1,
          bounds: { min: 1_767_225_600_000_001n, max: 1_767_225_600_123_456n },
        },
        { column: column("n", "long"), nullCount: 0, bounds: { min: -(2n ** 63n), max: 2n ** 53n + 1n } },
        { column: column("vehicle_id", "string"), nullCount: 0, bounds: { min: "a", max: "b" } },
        { column: column("none", "integer"), nullCount: 3, bounds: null },
      ]),
    ).toBe(
      '{"numRecords":3,"minValues":{"ts":"2026-01-01T00:00:00.000Z","n":-9223372036854775808,"vehicle_id":"a"},' +
        '"maxValues":{"ts":"2026-01-01T00:00:00.124Z","n":9007199254740993,"vehicle_id":"b"},' +
        '"nullCount":{"ts":1,"n":0,"vehicle_id":0,"none":3}}',
    );
  });

  test("a column whose values are all null has a null count and no bounds", () => {
    expect(statistics("integer", null, 10)).toEqual({
      numRecords: 10,
      minValues: {},
      maxValues: {},
      nullCount: { [name]: 10 },
    });
  });

  test("boolean and binary columns have no bounds, columns that are not filtered by have nothing", () => {
    expect(statistics("boolean", null)).toMatchObject({ minValues: {}, maxValues: {} });
    expect(statistics("binary", null)).toMatchObject({ minValues: {}, maxValues: {} });
    expect(statistics("integer", { min: 1, max: 2 }, 0, false).nullCount).toEqual({});
  });

  test.each([
    [1_767_225_600_000_000n, "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"],
    [1_767_225_600_000_001n, "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.001Z"],
    [-1n, "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"],
    [-1000n, "1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"],
    [-62_135_596_800_000_000n, "0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000Z"],
    [253_402_300_799_999_000n, "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ])("a time of %s microseconds is rounded outwards to milliseconds", (micros, min, max) => {
    const found = statistics("timestamp", { min: micros, max: micros });
    expect([found.minValues[name], found.maxValues[name]]).toEqual([min, max]);
  });

  test("the last microseconds of year 9999 have no upper bound: rounded up they lie beyond what readers take", () => {
    const found = statistics("timestamp", { min: 0n, max: 253_402_300_799_999_999n });
    expect(found.maxValues).toEqual({});
  });
});

test.each([
  ["infinity", 2n ** 63n - 1n],
  ["minus infinity", -(2n ** 63n) + 1n],
  ["the year 10000", 253_402_300_800_000_000n],
  ["the last microsecond before the year 1", -62_135_596_800_000_001n],
  ["44 BC", -63_517_824_000_000_000n],
])("a time of %s gives no bound, since no reader takes its year", (_, micros) => {
  const found = statistics("timestamp", { min: micros, max: micros });
  const isJustBefore = micros === -62_135_596_800_000_001n;
  expect(found.minValues).toEqual({});
  // Rounded up to a millisecond it lies in the year 1.
  expect(found.maxValues).toEqual(isJustBefore ? { [name]: "0001-01-01T00:00:00.000Z" } : {});
});

test("a bound on one side stays where only the other one is of a year that no reader takes", () => {
  const found = statistics("timestamp", { min: 0n, max: 2n ** 63n - 1n });
  expect([found.minValues[name], found.maxValues[name]]).toEqual(["1970-01-01T00:00:00.000Z", undefined]);
});

describe("bounds of strings", () => {
  test.each([
    ["x".repeat(32), "x".repeat(32), "x".repeat(32)],
    ["x".repeat(33), "x".repeat(32), `${"x".repeat(31)}y`],
    [`${"x".repeat(31)}\u{10ffff}z`, `${"x".repeat(31)}\u{10ffff}`, `${"x".repeat(30)}y`],
    ["\u{10ffff}".repeat(33), "\u{10ffff}".repeat(32), null],
    // What follows U+D7FF in UTF-8 is U+E000: between them lie the surrogates, which are no characters.
    ["\ud7ff".repeat(33), "\ud7ff".repeat(32), `${"\ud7ff".repeat(31)}\ue000`],
    // A character beyond U+FFFF counts once, and is not cut in two.
    ["\u{1f600}".repeat(33), "\u{1f600}".repeat(32), `${"\u{1f600}".repeat(31)}\u{1f601}`],
    ["", "", ""],
  ])("%j is bounded by %j and %j", (value, low, high) => {
    expect(lowerBound(value)).toBe(low);
    expect(upperBound(value)).toBe(high);
  });

  const seed = testSeed(32);
  test(`never hide a value, in the order of UTF-8 bytes (seed ${seed})`, () => {
    const random = new Random(seed);
    const pieces = [
      "a",
      "z",
      "\u007f",
      "é",
      "\ud7ff",
      "\ue000",
      "\ufffd",
      "\uffff",
      "\u{10000}",
      "\u{10ffff}",
    ];
    for (let i = 0; i < 5_000; i++) {
      const value = Array.from({ length: random.between(28, 40) }, () => random.pick(pieces)).join("");
      const encoded = Buffer.from(value);
      const low = lowerBound(value);
      const high = upperBound(value);
      expect(Buffer.compare(Buffer.from(low), encoded)).toBeLessThanOrEqual(0);
      expect(compareUtf8(low, value)).toBeLessThanOrEqual(0);
      if (high === null) continue;
      expect(Buffer.compare(encoded, Buffer.from(high))).toBeLessThanOrEqual(0);
      expect(high).not.toMatch(/\p{Surrogate}/u);
    }
  });

  test("a string with half a surrogate pair, which UTF-8 cannot hold, bounds nothing", () => {
    expect(statistics("string", { min: "\ud800a", max: "\udfff" })).toMatchObject({
      minValues: {},
      maxValues: {},
    });
  });
});
