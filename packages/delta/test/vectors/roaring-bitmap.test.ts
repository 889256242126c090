import { describe, expect, test } from "vitest";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { randomRows, roaringBitmap } from "../../../../test/support/tables/deletion-vectors.ts";
import { DamagedVectorError } from "../../src/vectors/damaged-vector.ts";
import { readRoaringBitmap } from "../../src/vectors/roaring-bitmap.ts";
import type { RowSet, RowSpan } from "../../src/vectors/row-set.ts";
import { decodeZ85 } from "../../src/vectors/z85.ts";

const seed = testSeed(41);

function hex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, "hex"));
}

function rowsIn(spans: Iterable<RowSpan>): number[] {
  const rows: number[] = [];
  for (const { from, to } of spans) for (let row = from; row < to; row++) rows.push(row);
  return rows;
}

const rowsOf = (set: RowSet) => rowsIn(set.spans());

describe("bitmaps that others wrote", () => {
  test("the example of the Delta protocol has its six rows", () => {
    // Its frame is not the protocol's own: another magic number, big-endian, and the bitmap's length. The 32-bit bitmap follows.
    const example = decodeZ85("wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L");
    const bytes = Buffer.concat([hex("010000000000000000000000"), (example ?? Buffer.alloc(0)).subarray(12)]);
    expect(rowsOf(readRoaringBitmap(bytes, 30))).toEqual([3, 4, 7, 11, 18, 29]);
  });

  test("CRoaring's array", () => {
    const bytes = hex("0100000000000000000000003a3000000100000000000500100000000300040007000b0012001d00");
    expect(rowsOf(readRoaringBitmap(bytes, 30))).toEqual([3, 4, 7, 11, 18, 29]);
  });

  test("CRoaring's runs, in three blocks, and a second bucket", () => {
    const bytes = hex(
      "0200000000000000000000003b30020007000009000100ffff02006f1101000a00090001000000ffff010000006f11010000003a3000000100000000000000100000000500",
    );
    const set = readRoaringBitmap(bytes, 2 ** 32 + 6);
    expect([...set.spans()]).toEqual([
      { from: 10, to: 20 },
      { from: 65_536, to: 131_072 },
      { from: 131_072, to: 135_536 },
      { from: 2 ** 32 + 5, to: 2 ** 32 + 6 },
    ]);
    expect(set.count).toBe(10 + 70_000 + 1);
  });

  test("CRoaring's bitmap of 5,000 even numbers", () => {
    const head = hex("0100000000000000000000003a300000010000000000871310000000");
    const bytes = Buffer.concat([head, Buffer.alloc(1250, 0x55), Buffer.alloc(8192 - 1250)]);
    expect(rowsOf(readRoaringBitmap(bytes, 10_000))).toEqual(Array.from({ length: 5_000 }, (_, i) => 2 * i));
  });
});

const sets = 60;
test(`${sets} random sets are read as they were written, whatever the containers (seed ${seed})`, () => {
  const random = new Random(seed);
  for (let i = 0; i < sets; i++) {
    const rows = random.pick([1, 1_000, 65_536, 300_000]);
    const expected = randomRows(random, rows);
    const kinds = Array.from({ length: 8 }, () => random.pick(["values", "runs"] as const));
    const set = readRoaringBitmap(
      roaringBitmap(expected, (block) => kinds[block % 8] ?? "values"),
      rows,
    );
    const where = `seed ${seed}, set ${i}`;
    expect(set.count, where).toBe(expected.length);
    expect(rowsOf(set), where).toEqual(expected);
    const from = random.below(rows);
    const to = random.between(from, rows);
    const within = expected.filter((row) => row >= from && row < to);
    expect(rowsIn(set.spans(from, to)), where).toEqual(within);
    expect(set.countBetween(from, to), where).toBe(within.length);
    const without = rowsIn(set.spansWithout(from, to));
    expect(without.length, where).toBe(to - from - within.length);
    const there = new Set(within);
    expect(
      without.every((row) => row >= from && row < to && !there.has(row)),
      where,
    ).toBe(true);
  }
});

describe("bytes that are no such bitmap are refused", () => {
  const one = (tail: string) => `010000000000000000000000${tail}`;

  test.each([
    ["no bytes", "", 10, "4 bytes are wanted, and 0 are left"],
    ["more buckets than bytes", "ffffffffffffffff", 10, "4 bytes are wanted, and 0 are left"],
    ["another cookie", one("39300000"), 10, "the cookie 12345"],
    ["too many containers", one("3a30000001000100"), 10, "65537 containers"],
    ["more containers than bytes", one("3a30000000000100"), 10, "262144 bytes are wanted, and 0 are left"],
    ["runs that are not there", one("3b3000000100000000ff"), 10, "2 bytes are wanted, and 1 are left"],
    ["more runs than bytes", one("3b3000000100000000ffff"), 10, "262140 bytes are wanted, and 0 are left"],
    ["a row that the file has not", one("3a3000000100000000000000100000000a00"), 10, "9 is the last"],
    [
      "a block that the file has not",
      one("3a3000000100000001000000100000000000"),
      10,
      "row 65536, and the file has 10",
    ],
    [
      "a bucket that the file has not",
      `0100000000000000ffffff7f3a3000000100000000000000100000000000`,
      10,
      "the file has 10 rows",
    ],
    [
      "values out of order",
      one("3a30000001000000000001001000000005000500"),
      10,
      "the value 5 of an array follows 5",
    ],
    [
      "containers out of order",
      one("3a300000020000000000000000000000180000001a00000001000200"),
      10,
      "the container 0 follows 0",
    ],
    [
      "buckets out of order",
      `0200000000000000000000003a30000000000000000000003a30000000000000`,
      10,
      "the bucket 0 follows 0",
    ],
    [
      "runs that overlap",
      one("3b3000000100000300020000000100010001000"),
      10,
      "a run from 1 follows one up to 1",
    ],
    [
      "runs of another count",
      one("3b3000000100000500010000000100"),
      10,
      "runs have 2 values, and their header says 6",
    ],
    ["a run behind the last row", one("3b3000000100000100010009000100"), 10, "9 is the last"],
    [
      "a bitmap of another count",
      one(`3a300000010000000000ffff10000000${"01".repeat(8192)}`),
      65_536,
      "a bitmap has 8192 values, and its header says 65536",
    ],
    ["bytes behind it", one("3a3000000000000000"), 10, "1 bytes follow"],
  ])("%s", (_, text, rows, reason) => {
    const read = () => readRoaringBitmap(hex(text), rows);
    expect(read).toThrow(DamagedVectorError);
    expect(read).toThrow(reason);
  });

  test(`every prefix, and every changed byte, is read or refused and nothing else (seed ${seed})`, () => {
    const random = new Random(seed);
    const whole = roaringBitmap(randomRows(random, 200_000), (block) => (block === 1 ? "runs" : "values"));
    const small = roaringBitmap([1, 2, 3, 9, 65_540, 70_000, 140_000], (block) =>
      block === 0 ? "runs" : "values",
    );
    for (let length = 0; length < small.length; length++) {
      expect(() => readRoaringBitmap(small.subarray(0, length), 200_000), `length ${length}`).toThrow(
        DamagedVectorError,
      );
    }
    for (let i = 0; i < 2_000; i++) {
      const bytes = Uint8Array.from(random.chance(0.5) ? small : whole);
      bytes[random.below(Math.min(bytes.length, 200))] = random.below(256);
      try {
        const set = readRoaringBitmap(bytes, 200_000);
        const rows = rowsOf(set);
        expect(rows.length).toBe(set.count);
        expect(rows.every((row, at) => row < 200_000 && (at === 0 || row > (rows[at - 1] ?? 0)))).toBe(true);
      } catch (error) {
        expect(error, `seed ${seed}, change ${i}`).toBeInstanceOf(DamagedVectorError);
      }
    }
  });
});
