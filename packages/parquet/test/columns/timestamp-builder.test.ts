import { expect, test } from "vitest";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { TimestampBuilder } from "../../src/columns/number-builders.ts";

const seconds = (iso: string) => Date.parse(iso) / 1000;

function micros(times: readonly [seconds: number, nanoseconds: number][]): bigint[] {
  const builder = new TimestampBuilder();
  builder.ensureRows(times.length);
  times.forEach(([second, nanosecond], row) => {
    builder.set(row, second, nanosecond);
  });
  const column = builder.take(0, times.length);
  if (column.kind !== "timestamp") throw new Error(`a ${column.kind} column`);
  return [...column.values];
}

test.each([
  ["1970", 0, 0, 0n],
  ["the last microsecond before 1970", -1, 999_999_000, -1n],
  ["a second before 1970", -1, 0, -1_000_000n],
  ["2^32 microseconds before 1970", -4295, 32_704_000, -4_294_967_296n],
  ["the greatest 32-bit second", 2 ** 32 - 1, 999_999_999, 4_294_967_295_999_999n],
  ["the last microsecond a Number holds", 9_007_199_254, 740_991_000, 9_007_199_254_740_991n],
  ["the first one beyond, in 2255", 9_007_199_254, 740_992_000, 9_007_199_254_740_992n],
  ["an odd one beyond", 9_007_199_254, 740_993_000, 9_007_199_254_740_993n],
  ["the end of year 9999", seconds("9999-12-31T23:59:59Z"), 999_999_999, 253_402_300_799_999_999n],
  ["the beginning of year 1", seconds("0001-01-01T00:00:00Z"), 0, -62_135_596_800_000_000n],
  ["year 1 and a microsecond", seconds("0001-01-01T00:00:00Z"), 1000, -62_135_596_799_999_999n],
] as const)("%s is exact", (_, second, nanosecond, expected) => {
  expect(micros([[second, nanosecond]])).toEqual([expected]);
});

test("nanoseconds within a microsecond are left out, downwards, before 1970 too", () => {
  expect(
    micros([
      [5, 0],
      [5, 1],
      [5, 999],
      [5, 1000],
      [5, 1999],
      [-1, 999_999_999],
      [-1, 1],
    ]),
  ).toEqual([5_000_000n, 5_000_000n, 5_000_000n, 5_000_001n, 5_000_001n, -1n, -1_000_000n]);
});

const seed = testSeed(4711);
test(`any time of the years 1 to 9999 is what BigInt arithmetic says (seed ${seed})`, () => {
  const random = new Random(seed);
  const low = seconds("0001-01-01T00:00:00Z");
  const high = seconds("9999-12-31T23:59:59Z");
  const times = Array.from({ length: 5000 }, (): [number, number] => [
    low + Math.floor((random.uint32() / 2 ** 32) * (high - low)),
    random.below(1_000_000_000),
  ]);
  expect(micros(times)).toEqual(
    times.map(([second, nanosecond]) => BigInt(second) * 1_000_000n + BigInt(nanosecond) / 1000n),
  );
});

test("a null among times beyond 2255 leaves its neighbours alone", () => {
  const builder = new TimestampBuilder();
  builder.ensureRows(3);
  builder.set(0, 10 ** 10, 1000);
  builder.set(2, 10 ** 10 + 1, 2000);
  const column = builder.take(0, 3);
  expect(column).toMatchObject({ kind: "timestamp", nullCount: 1, bitmap: Uint8Array.of(0b101) });
  if (column.kind !== "timestamp") return;
  expect([column.values[0], column.values[2]]).toEqual([10n ** 16n + 1n, 10n ** 16n + 1_000_002n]);
});
