import { ABSENT } from "@deltacap/capture";
import { describe, expect, test } from "vitest";
import { valuesOf } from "../../../../test/support/tables/column-values.ts";
import { BinaryBuilder } from "../../src/columns/binary-builder.ts";
import type { ColumnBuilder } from "../../src/columns/column-builder.ts";
import { AddressBuilder, EnumBuilder, StringBuilder } from "../../src/columns/dictionary-builders.ts";
import {
  BooleanBuilder,
  IntegerBuilder,
  LongBuilder,
  TimestampBuilder,
} from "../../src/columns/number-builders.ts";

/** A builder of one kind, filled with values, null for a null. */
interface Kind {
  readonly name: string;
  /** Nine different values, so that validity takes more than a byte. */
  readonly values: readonly unknown[];
  readonly fill: (values: readonly unknown[]) => ColumnBuilder;
}

const kinds: readonly Kind[] = [
  {
    name: "integer",
    values: [0, 1, 2, 255, 256, 65_535, 65_536, 2 ** 31 - 1, 7],
    fill: (values) => {
      const builder = new IntegerBuilder();
      builder.ensureRows(values.length);
      values.forEach((value, row) => {
        builder.values[row] = (value as number | null) ?? ABSENT;
      });
      return builder;
    },
  },
  {
    name: "long",
    values: [
      0n,
      1n,
      2n ** 31n - 1n,
      2n ** 31n,
      2n ** 32n - 1n,
      2n ** 32n,
      2n ** 40n + 3n,
      2n ** 53n - 1n,
      9n,
    ],
    fill: (values) => {
      const builder = new LongBuilder();
      builder.ensureRows(values.length);
      values.forEach((value, row) => {
        builder.set(row, value === null ? ABSENT : Number(value));
      });
      return builder;
    },
  },
  {
    name: "boolean",
    values: [0, 1, 1, 0, 1, 0, 0, 1, 1],
    fill: (values) => {
      const builder = new BooleanBuilder();
      builder.ensureRows(values.length);
      values.forEach((value, row) => {
        builder.values[row] = (value as number | null) ?? ABSENT;
      });
      return builder;
    },
  },
  {
    name: "string",
    values: ["b", "a", "", "é", "\u{1f697}", "a", "c", "b", "d"],
    fill: (values) => {
      const builder = new StringBuilder();
      builder.ensureRows(values.length);
      values.forEach((value, row) => {
        builder.codes[row] = builder.code(value as string | null);
      });
      return builder;
    },
  },
  {
    name: "enum",
    values: ["malformed", "ok", "ok", "truncated", "ok", "unsupported", "ok", "malformed", "ok"],
    fill: (values) => {
      const names = ["ok", "truncated", "malformed", "unsupported"];
      const builder = new EnumBuilder(names);
      builder.ensureRows(values.length);
      values.forEach((value, row) => {
        builder.codes[row] = names.indexOf(value as string);
      });
      return builder;
    },
  },
  {
    name: "address",
    values: Array.from({ length: 9 }, (_, i) => `10.0.0.${i % 5}`),
    fill: (values) => {
      const builder = new AddressBuilder(1);
      builder.ensureRows(values.length);
      values.forEach((value, row) => {
        const bytes = Uint8Array.from(String(value).split("."), Number);
        builder.codes[row] = builder.code(bytes, value === null ? ABSENT : 0, 4);
      });
      return builder;
    },
  },
  {
    name: "binary",
    values: [[1], [], [2, 3], [4, 5, 6], [7], [8], [9, 10], [], [11]],
    fill: (values) => {
      const builder = new BinaryBuilder();
      builder.ensureRows(values.length);
      values.forEach((value, row) => {
        const bytes = Uint8Array.from((value as number[] | null) ?? []);
        builder.append(row, bytes, 0, value === null ? ABSENT : bytes.length);
      });
      return builder;
    },
  },
  {
    name: "timestamp",
    values: Array.from({ length: 9 }, (_, i) => BigInt(i) * 1_000_001n),
    fill: (values) => {
      const builder = new TimestampBuilder();
      builder.ensureRows(values.length);
      values.forEach((value, row) => {
        const micros = (value as bigint | null) ?? 0n;
        if (value !== null) builder.set(row, Number(micros / 1_000_000n), Number(micros % 1_000_000n) * 1000);
      });
      return builder;
    },
  },
];

describe.each(kinds)("a column of kind $name", ({ values, fill }) => {
  test("without nulls has no bitmap", () => {
    const column = fill(values).take(0, values.length);
    expect(valuesOf(column)).toEqual(values);
    expect(column).toMatchObject({ nullCount: 0, bitmap: null });
  });

  test("with nulls counts them and marks the others valid", () => {
    const some = values.map((value, i) => (i % 3 === 1 ? null : value));
    const column = fill(some).take(0, some.length);
    expect(valuesOf(column)).toEqual(some);
    expect(column.nullCount).toBe(3);
    expect([...(column.bitmap ?? [])]).toEqual([0b0110_1101, 0b1]);
  });

  test("of nulls only has no valid row", () => {
    const column = fill(values.map(() => null)).take(0, values.length);
    expect(valuesOf(column)).toEqual(values.map(() => null));
    expect(column.nullCount).toBe(9);
    expect([...(column.bitmap ?? [])]).toEqual([0, 0]);
  });

  test("gives any range of rows as if it were the whole", () => {
    const some = values.map((value, i) => (i === 2 || i === 7 ? null : value));
    const builder = fill(some);
    for (let from = 0; from <= some.length; from++) {
      for (let to = from; to <= some.length; to++) {
        const column = builder.take(from, to);
        expect(valuesOf(column)).toEqual(some.slice(from, to));
        expect(column.nullCount).toBe(some.slice(from, to).filter((value) => value === null).length);
      }
    }
  });
});

describe.each(kinds)("removing the first rows of a column of kind $name", ({ values, fill }) => {
  test("leaves the others as they were", () => {
    const some = values.map((value, i) => (i === 2 || i === 7 ? null : value));
    for (let count = 0; count <= some.length; count++) {
      const builder = fill(some);
      builder.removeFirst(count, some.length);
      expect(valuesOf(builder.take(0, some.length - count))).toEqual(some.slice(count));
    }
  });
});
