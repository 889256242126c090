import { describe, expect, test } from "vitest";
import { valuesOf } from "../../../../test/support/tables/column-values.ts";
import { AddressDictionary } from "../../src/columns/address-dictionary.ts";
import { BinaryBuilder } from "../../src/columns/binary-builder.ts";
import { AddressBuilder, StringBuilder } from "../../src/columns/dictionary-builders.ts";
import { IntegerBuilder } from "../../src/columns/number-builders.ts";

function stored(builder: StringBuilder, values: readonly (string | null)[], from = 0): void {
  builder.ensureRows(from + values.length);
  values.forEach((value, i) => {
    builder.codes[from + i] = builder.code(value);
  });
}

describe("a dictionary of strings", () => {
  test("holds what the rows use, in the order of first use", () => {
    const builder = new StringBuilder();
    stored(builder, ["z", "y", null, "x", "y", "z"]);
    expect(builder.take(0, 6)).toMatchObject({
      codes: Int32Array.of(0, 1, -1, 2, 1, 0),
      dictionary: ["z", "y", "x"],
    });
    expect(builder.take(3, 6)).toMatchObject({ codes: Int32Array.of(0, 1, 2), dictionary: ["x", "y", "z"] });
    expect(builder.take(2, 3)).toMatchObject({ codes: Int32Array.of(-1), dictionary: [] });
  });

  test("keeps its codes from one batch to the next, and gives no entry of the batch before", () => {
    const builder = new StringBuilder();
    stored(builder, ["old", "kept"]);
    const code = builder.code("kept");
    builder.endBatch();
    expect(builder.code("kept")).toBe(code);
    stored(builder, ["kept", "new"]);
    expect(builder.take(0, 2)).toMatchObject({ codes: Int32Array.of(0, 1), dictionary: ["kept", "new"] });
  });

  test("with more than 16,384 entries is dropped at the batch's end, so that memory stays bounded", () => {
    const builder = new StringBuilder();
    for (let i = 0; i < 16_385; i++) builder.code(`value ${i}`);
    builder.endBatch();
    expect(builder.code("the first of the next batch")).toBe(0);
  });

  test("with 16,384 entries is kept at the batch's end", () => {
    const builder = new StringBuilder();
    for (let i = 0; i < 16_384; i++) builder.code(`value ${i}`);
    builder.endBatch();
    expect(builder.code("one more")).toBe(16_384);
  });

  test("of few but long texts is dropped at the batch's end", () => {
    const builder = new StringBuilder();
    for (let i = 0; i < 20; i++) builder.code(`${i}`.padEnd(65_000));
    builder.endBatch();
    expect(builder.code("the first of the next batch")).toBe(0);
  });

  test("that was dropped takes the value of the row before anew", () => {
    const builder = new StringBuilder();
    for (let i = 0; i < 16_385; i++) builder.code(`value ${i}`);
    builder.endBatch();
    stored(builder, ["value 16384", null, "value 16384"]);
    expect(builder.take(0, 3)).toMatchObject({ codes: Int32Array.of(0, -1, 0), dictionary: ["value 16384"] });
  });

  test("counts what came since the last batch, once for each text", () => {
    const builder = new StringBuilder();
    expect(builder.newBytes).toBe(0);
    for (let i = 0; i < 3; i++) builder.code("x".repeat(1000));
    expect(builder.newBytes).toBeGreaterThanOrEqual(2000);
    expect(builder.newBytes).toBeLessThan(2200);
    builder.endBatch();
    expect(builder.newBytes).toBe(0);
    builder.code("x".repeat(1000));
    expect(builder.newBytes).toBe(0);
    for (let i = 0; i < 20; i++) builder.code(`${i}`.padEnd(65_000));
    builder.endBatch();
    expect(builder.newBytes).toBe(0);
  });

  test("takes again after it has grown beyond its table of codes", () => {
    const builder = new StringBuilder();
    stored(builder, ["a", "b"]);
    expect(valuesOf(builder.take(0, 2))).toEqual(["a", "b"]);
    const many = Array.from({ length: 500 }, (_, i) => `value ${i % 300}`);
    stored(builder, many, 2);
    expect(valuesOf(builder.take(0, 502))).toEqual(["a", "b", ...many]);
  });
});

describe("growth", () => {
  test("keeps the rows stored before", () => {
    const integers = new IntegerBuilder();
    const binary = new BinaryBuilder();
    for (let row = 0; row < 3000; row++) {
      if (row % 1000 === 0) for (const builder of [integers, binary]) builder.ensureRows(row + 1000);
      integers.values[row] = row;
      binary.append(row, new Uint8Array(100).fill(row & 0xff), 0, row % 100);
    }
    expect(valuesOf(integers.take(0, 3000))).toEqual(Array.from({ length: 3000 }, (_, row) => row));
    expect(valuesOf(binary.take(0, 3000))).toEqual(
      Array.from({ length: 3000 }, (_, row) => Array.from({ length: row % 100 }, () => row & 0xff)),
    );
  });

  test("of bytes takes a row larger than twice the buffer", () => {
    const binary = new BinaryBuilder();
    binary.ensureRows(2);
    binary.append(0, Uint8Array.of(1, 2, 3), 1, 2);
    const large = new Uint8Array(300_000).fill(9);
    binary.append(1, large, 0, large.length);
    const column = binary.take(0, 2);
    expect(column).toMatchObject({ offsets: Int32Array.of(0, 2, 300_002) });
    expect(binary.bytesBefore(2)).toBe(300_002);
  });

  test("never shrinks", () => {
    const integers = new IntegerBuilder();
    integers.ensureRows(10);
    integers.values[9] = 5;
    integers.ensureRows(2);
    expect(integers.values[9]).toBe(5);
  });
});

test("binary rows of every length are copied whole, from wherever they lie, and nothing beside them", () => {
  const source = Uint8Array.from({ length: 600 }, (_, i) => (i * 7) & 0xff);
  const binary = new BinaryBuilder();
  binary.ensureRows(400);
  const expected: number[][] = [];
  for (let row = 0; row < 400; row++) {
    // A window anew every 50 rows, as chunks are, which ends with the row's bytes.
    const window = source.subarray(row % 50 === 0 ? 3 : 1, 1 + (row % 5) + (row % 300) + 3);
    const offset = window.length - (row % 300);
    binary.append(row, window, offset, row % 300);
    expected.push([...window.subarray(offset)]);
  }
  expect(valuesOf(binary.take(0, 400))).toEqual(expected);
});

test("a range of binary rows begins at offset 0", () => {
  const binary = new BinaryBuilder();
  binary.ensureRows(4);
  for (let row = 0; row < 4; row++) binary.append(row, Uint8Array.of(row, row), 0, 2);
  expect(binary.take(2, 4)).toMatchObject({
    bytes: Uint8Array.of(2, 2, 3, 3),
    offsets: Int32Array.of(0, 2, 4),
  });
});

/** Address number `i` of `length` bytes. */
function address(i: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length).fill(0xfd);
  new DataView(bytes.buffer).setUint32(length - 4, i);
  return bytes;
}

describe("the dictionary of addresses", () => {
  test.each([0, 1, -1, 0x7fffffff, -0x80000000, 0xdeadbeef, 2 ** 32 - 1])(
    "tells 100,000 addresses apart with seed %i, and finds each again",
    (seed) => {
      const dictionary = new AddressDictionary(seed);
      for (let round = 0; round < 2; round++) {
        for (let i = 0; i < 100_000; i++) {
          const length = [4, 6, 16][i % 3] ?? 4;
          if (dictionary.code(address(i, length), 0, length) !== i)
            throw new Error(`address ${i}, round ${round}`);
        }
      }
      expect(dictionary.texts).toHaveLength(100_000);
      expect(new Set(dictionary.texts).size).toBe(100_000);
    },
  );

  test("tells lengths with the same leading bytes apart", () => {
    const dictionary = new AddressDictionary(3);
    const zeros = new Uint8Array(16);
    expect([4, 6, 16, 4, 6, 16].map((length) => dictionary.code(zeros, 0, length))).toEqual([
      0, 1, 2, 0, 1, 2,
    ]);
    expect(dictionary.texts).toEqual(["0.0.0.0", "00:00:00:00:00:00", "::"]);
  });

  test.each([
    [4, 4],
    [6, 6],
    [16, 16],
  ])("tells addresses of %i bytes apart by each of their bytes", (length) => {
    const dictionary = new AddressDictionary(5);
    const codes = Array.from({ length: length + 1 }, (_, changed) => {
      const bytes = new Uint8Array(length);
      if (changed < length) bytes[changed] = 0xff;
      return dictionary.code(bytes, 0, length);
    });
    expect(new Set(codes).size).toBe(length + 1);
  });

  test("looks at the bytes from the offset on, and no others", () => {
    const dictionary = new AddressDictionary(7);
    const bytes = Uint8Array.of(9, 10, 0, 0, 1, 9);
    expect(dictionary.code(bytes, 1, 4)).toBe(dictionary.code(Uint8Array.of(10, 0, 0, 1), 0, 4));
    expect(dictionary.texts).toEqual(["10.0.0.1"]);
  });

  test("of a column is kept at the batch's end up to 16,384 entries and dropped beyond", () => {
    const builder = new AddressBuilder(11);
    for (let i = 0; i < 16_384; i++) builder.code(address(i, 4), 0, 4);
    builder.endBatch();
    expect(builder.code(address(5, 4), 0, 4)).toBe(5);
    builder.code(address(16_384, 4), 0, 4);
    builder.endBatch();
    expect(builder.code(address(5, 4), 0, 4)).toBe(0);
  });
});
