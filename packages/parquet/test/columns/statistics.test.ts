import { ABSENT } from "@deltacap/capture";
import { describe, expect, test } from "vitest";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { BinaryBuilder } from "../../src/columns/binary-builder.ts";
import { StringBuilder } from "../../src/columns/dictionary-builders.ts";
import {
  BooleanBuilder,
  IntegerBuilder,
  LongBuilder,
  TimestampBuilder,
} from "../../src/columns/number-builders.ts";
import type { Column, RowGroup } from "../../src/columns/row-group.ts";
import {
  type Bounds,
  columnBounds,
  compareUtf8,
  FileStatistics,
  groupBounds,
} from "../../src/columns/statistics.ts";
import type { ColumnDefinition, ColumnType } from "../../src/columns/table-schema.ts";

function integers(...values: (number | null)[]): Column {
  const builder = new IntegerBuilder();
  builder.ensureRows(values.length);
  builder.values.set(values.map((value) => value ?? ABSENT));
  return builder.take(0, values.length);
}

function longs(...values: (number | null)[]): Column {
  const builder = new LongBuilder();
  builder.ensureRows(values.length);
  for (const [row, value] of values.entries()) builder.set(row, value ?? ABSENT);
  return builder.take(0, values.length);
}

function strings(...values: (string | null)[]): Column {
  const builder = new StringBuilder();
  builder.ensureRows(values.length);
  builder.codes.set(values.map((value) => builder.code(value)));
  return builder.take(0, values.length);
}

function seconds(...values: (number | null)[]): Column {
  const builder = new TimestampBuilder();
  builder.ensureRows(values.length);
  for (const [row, value] of values.entries()) {
    if (value !== null) builder.set(row, value, 0);
  }
  return builder.take(0, values.length);
}

const long = (values: bigint[]): Column => ({
  kind: "long",
  values: BigInt64Array.from(values),
  nullCount: 0,
  bitmap: null,
});

const MIN_LONG = -(2n ** 63n);
const MAX_LONG = 2n ** 63n - 1n;

describe("bounds", () => {
  const cases: [string, Column, Bounds][] = [
    ["integers", integers(5, 3, 9), { min: 3, max: 9 }],
    ["integers between nulls, which count for nothing", integers(null, 5, null, 7, null), { min: 5, max: 7 }],
    ["one integer", integers(0), { min: 0, max: 0 }],
    [
      "longs beyond 32 bits",
      longs(2 ** 32, 2 ** 32 - 1, 5 * 2 ** 32),
      { min: 2n ** 32n - 1n, max: 5n * 2n ** 32n },
    ],
    [
      "longs whose lower half has its top bit set",
      longs(2 ** 31, 1, 2 ** 32 - 1),
      { min: 1n, max: 2n ** 32n - 1n },
    ],
    ["longs between nulls", longs(null, 8, 6, null), { min: 6n, max: 8n }],
    ["the least and greatest long", long([0n, MIN_LONG, MAX_LONG, -1n]), { min: MIN_LONG, max: MAX_LONG }],
    ["negative longs", long([-1n, -(2n ** 32n), -2n]), { min: -(2n ** 32n), max: -1n }],
    ["times before and after 1970", seconds(5, -5, null, 0), { min: -5_000_000n, max: 5_000_000n }],
    ["strings", strings("b", null, "a", "c", "a"), { min: "a", max: "c" }],
    ["the empty string", strings("", "a"), { min: "", max: "a" }],
  ];
  test.each(cases)("of %s", (_, column, expected) => expect(columnBounds(column)).toEqual(expected));

  test("there are none for booleans and bytes", () => {
    const booleans = new BooleanBuilder();
    booleans.ensureRows(1);
    const binary = new BinaryBuilder();
    binary.ensureRows(1);
    binary.append(0, Uint8Array.of(1), 0, 1);
    expect(columnBounds(booleans.take(0, 1))).toBeNull();
    expect(columnBounds(binary.take(0, 1))).toBeNull();
  });

  test("of a view on longs in the middle of a buffer are the view's", () => {
    const values = BigInt64Array.of(-100n, 1n, 2n, 100n).subarray(1, 3);
    expect(columnBounds({ kind: "long", values, nullCount: 0, bitmap: null })).toEqual({ min: 1n, max: 2n });
  });

  const seed = testSeed(99);
  test(`of random longs with nulls are what a plain search finds (seed ${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 300; round++) {
      const values = Array.from({ length: random.between(1, 40) }, () =>
        random.chance(0.3) ? null : random.below(random.pick([3, 2 ** 31, 2 ** 53])),
      );
      const present = values.filter((value) => value !== null);
      if (present.length === 0) continue;
      expect(columnBounds(longs(...values))).toEqual({
        min: BigInt(Math.min(...present)),
        max: BigInt(Math.max(...present)),
      });
    }
  });
});

describe("the order of strings", () => {
  test.each([
    ["a character beyond the BMP comes after U+FFFD", "\u{1f697}", "\ufffd", 1],
    ["and after a private use character", "\u{10000}", "\ue000", 1],
    ["and before the next beyond the BMP", "\u{1f697}", "\u{1f698}", -1],
    ["U+D7FF comes before a surrogate pair", "\ud7ff", "\u{10000}", -1],
    ["a prefix comes first", "a", "ab", -1],
    ["equal strings are equal", "é", "é", 0],
    ["the empty string comes first", "", "\u0000", -1],
  ])("%s", (_, a, b, expected) => {
    expect(Math.sign(compareUtf8(a, b))).toBe(expected);
    expect(Math.sign(compareUtf8(b, a))).toBe(expected === 0 ? 0 : -expected);
  });

  const seed = testSeed(7);
  test(`is that of their UTF-8 bytes (seed ${seed})`, () => {
    const random = new Random(seed);
    const alphabet = [
      "",
      "a",
      "b",
      "\u007f",
      "\u0080",
      "\u07ff",
      "\u0800",
      "\ud7ff",
      "\ue000",
      "\uffff",
      "\u{10000}",
      "\u{10ffff}",
    ];
    const text = () => Array.from({ length: random.below(4) }, () => random.pick(alphabet)).join("");
    for (let i = 0; i < 5000; i++) {
      const [a, b] = [text(), text()];
      expect(Math.sign(compareUtf8(a, b)), `${JSON.stringify(a)} and ${JSON.stringify(b)}`).toBe(
        Buffer.compare(Buffer.from(a), Buffer.from(b)),
      );
    }
  });
});

describe("statistics of a file", () => {
  const definition = (name: string, type: ColumnType, statistics = true): ColumnDefinition => ({
    name,
    type,
    meaning: "",
    statistics,
  });
  const columns = [
    definition("i", "integer"),
    definition("l", "long"),
    definition("s", "string"),
    definition("u", "integer", false),
  ];
  const group = (...of: Column[]): RowGroup => {
    const first = of[0];
    return { rows: first?.kind === "integer" ? first.values.length : 0, columns: of };
  };

  const add = (file: FileStatistics, rows: RowGroup) => file.add(rows, groupBounds(columns, rows));

  test("span its row groups", () => {
    const file = new FileStatistics(columns);
    add(file, group(integers(5, null), longs(7, 8), strings("m", "\ufffd"), integers(1, 2)));
    add(file, group(integers(3), longs(2 ** 40), strings("\u{1f697}"), integers(null)));
    add(file, group(integers(4, 9), longs(null, 1), strings("n", "l"), integers(3, 3)));
    expect(file.rows).toBe(5);
    expect(file.columns().map(({ nullCount, bounds }) => ({ nullCount, bounds }))).toEqual([
      { nullCount: 1, bounds: { min: 3, max: 9 } },
      { nullCount: 1, bounds: { min: 1n, max: 2n ** 40n } },
      { nullCount: 0, bounds: { min: "l", max: "\u{1f697}" } },
      { nullCount: 1, bounds: null },
    ]);
  });

  test("have no bounds where every value of every row group is null", () => {
    const file = new FileStatistics(columns);
    for (let i = 0; i < 2; i++)
      add(file, group(integers(null, null), longs(null, null), strings(null, null), integers(1, 1)));
    expect(file.columns().map(({ nullCount, bounds }) => ({ nullCount, bounds }))).toEqual([
      { nullCount: 4, bounds: null },
      { nullCount: 4, bounds: null },
      { nullCount: 4, bounds: null },
      { nullCount: 0, bounds: null },
    ]);
  });

  test.each([0, 1, 2])("have the others' bounds where row group %i is all null", (allNull) => {
    const file = new FileStatistics(columns);
    for (let i = 0; i < 3; i++) {
      add(
        file,
        i === allNull
          ? group(integers(null), longs(null), strings(null), integers(null))
          : group(integers(i), longs(i), strings(`${i}`), integers(i)),
      );
    }
    const kept = [0, 1, 2].filter((i) => i !== allNull);
    const [min = 0, max = 0] = kept;
    expect(file.columns().map(({ bounds }) => bounds)).toEqual([
      { min, max },
      { min: BigInt(min), max: BigInt(max) },
      { min: `${min}`, max: `${max}` },
      null,
    ]);
  });
});
