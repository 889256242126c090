import type { ColumnDefinition, PagedWriterOptions } from "@deltacap/parquet";
import type { Random } from "../random.ts";
import { definition, type GroupValues, type Value } from "./table-values.ts";

export interface RandomTable {
  readonly columns: readonly ColumnDefinition[];
  /** Row groups, one after another. */
  readonly groups: readonly GroupValues[];
  /** Limits of the writer, often far below what anybody would use. */
  readonly limits: Omit<PagedWriterOptions, "compressor">;
}

type Generator = (random: Random, row: number) => Exclude<Value, null>;

const types = ["integer", "long", "timestamp", "boolean", "string", "binary"] as const;

/** A table with columns of every type, each with its own kind of values and of nulls in each row group. */
export function randomTable(random: Random): RandomTable {
  const columns = types.flatMap((type) =>
    Array.from({ length: random.between(1, 3) }, (_, i) =>
      definition(`${type}_${i}`, type, random.chance(0.7)),
    ),
  );
  const groups = Array.from({ length: random.between(1, 4) }, () => {
    const rows = randomRows(random);
    return columns.map(({ type }) => randomValues(random, type as (typeof types)[number], rows));
  });
  // Thousands of pages a column would cost seconds and show nothing that hundreds do not.
  const isLarge = groups.some((group) => group[0]!.length > 500);
  const limits = {
    pageRows: random.pick(isLarge ? [109, 1000, 131_072] : [1, 8, 13, 100, 131_072]),
    pageBytes: random.pick(isLarge ? [1000, 1 << 20] : [1, 64, 1000, 1 << 20]),
    dictionaryBytes: random.pick([1, 100, 1 << 20]),
  };
  return { columns, groups, limits };
}

function randomRows(random: Random): number {
  return random.pick([1, 2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 130, 257, 1000, random.between(1, 6000)]);
}

function randomValues(random: Random, type: (typeof types)[number], rows: number): Value[] {
  const value = generators[type](random);
  const isNull = nulls(random, rows);
  return Array.from({ length: rows }, (_, row) => (isNull(row) ? null : value(random, row)));
}

function nulls(random: Random, rows: number): (row: number) => boolean {
  const start = random.below(rows);
  const length = random.between(1, rows);
  const share = random.pick([0.01, 0.5, 0.99]);
  return random.pick<(row: number) => boolean>([
    () => false,
    () => false,
    () => true,
    () => random.chance(share),
    (row) => row >= start && row < start + length,
    (row) => row !== start,
    (row) => row === start,
    (row) => row % 2 === 0,
    (row) => Math.floor(row / 50) % 2 === 0,
  ])!;
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

const generators: Record<(typeof types)[number], (random: Random) => Generator> = {
  integer(random) {
    const base = random.uint32() | 0;
    const step = random.between(-3, 3);
    const few = Array.from({ length: random.between(2, 40) }, () => random.uint32() | 0);
    const range = random.pick([2, 3, 5, 9, 200, 300, 5000, 70_000, 200_000]);
    return random.pick<Generator>([
      () => base,
      () => random.uint32() | 0,
      () => random.pick(few),
      () => random.pick([-0x80000000, 0x7fffffff]),
      () => random.below(range),
      () => (base + random.below(range)) | 0,
      (_, row) => (base + row * step) | 0,
      (_, row) => (base + row * 0x10000001) | 0,
      (_, row) => few[Math.floor(row / 100) % few.length]!,
    ]);
  },
  long: randomLongs,
  timestamp(random) {
    let time = 1_700_000_000_000_000n + BigInt(random.uint32());
    return random.pick<Generator>([
      () => {
        time += BigInt(random.below(400));
        return time;
      },
      () => {
        time += BigInt(random.between(-1_000_000, 2_000_000));
        return time;
      },
      randomLongs(random),
    ]);
  },
  boolean(random) {
    const share = random.pick([0, 0.01, 0.5, 1]);
    return () => random.chance(share);
  },
  string(random) {
    const few = Array.from({ length: random.between(1, 300) }, () => randomText(random, 40));
    return random.pick<Generator>([
      () => few[0]!,
      () => random.pick(few),
      (_, row) => few[Math.floor(row / 30) % few.length]!,
      (_, row) => `${few[0]}${row}`,
      () => randomText(random, 8),
      () => randomText(random, 700),
    ]);
  },
  binary(random) {
    const repeated = random.bytes(random.between(0, 100));
    const longest = random.pick([0, 1, 60, 1500]);
    return random.pick<Generator>([
      () => repeated,
      () => random.bytes(random.below(longest + 1)),
      () => (random.chance(0.5) ? new Uint8Array(0) : repeated.subarray(random.below(repeated.length + 1))),
    ]);
  },
};

function randomLongs(random: Random): Generator {
  const any = () =>
    BigInt.asIntN(64, (BigInt(random.uint32()) << 32n) | BigInt(random.uint32())) >> BigInt(random.below(64));
  const base = any();
  const few = Array.from({ length: random.between(2, 40) }, any);
  const wrap = (value: bigint) => BigInt.asIntN(64, value);
  return random.pick<Generator>([
    () => base,
    any,
    () => random.pick(few),
    () => random.pick([INT64_MIN, INT64_MAX, 0n]),
    () => BigInt(random.uint32()),
    () => BigInt(random.below(5000)),
    (_, row) => BigInt(row),
    (_, row) => wrap(base + BigInt(row) * 3n),
    (_, row) => wrap(base + BigInt(row) * 0x1000_0000_0000_0001n),
    (_, row) => wrap(base - BigInt(row % 700)),
  ]);
}

/** Characters of one to four bytes. */
const alphabet = [
  "a",
  "b",
  "/",
  "0",
  "é",
  "ß",
  "€",
  "\u{d7ff}",
  "\u{e000}",
  "\u{ffff}",
  "😀",
  "\u{10ffff}",
  "\0",
];

function randomText(random: Random, longest: number): string {
  const letters = random.chance(0.6) ? alphabet.slice(0, 4) : alphabet;
  return Array.from({ length: random.below(longest + 1) }, () => random.pick(letters)).join("");
}
