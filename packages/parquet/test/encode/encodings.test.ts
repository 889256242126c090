import { describe, expect, it } from "vitest";
import { bitWidth, packBits } from "../../src/encode/bit-packing.ts";
import { DeltaBinaryPacked } from "../../src/encode/delta-binary-packed.ts";
import { NumberDictionary } from "../../src/encode/number-dictionary.ts";
import { indexWidth } from "../../src/encode/number-encoding.ts";
import { countBits, writeDefinitionLevels, writeIndices } from "../../src/encode/rle.ts";
import { boundIndices, encodedStringBounds, MAX_BOUND_BYTES } from "../../src/encode/string-bounds.ts";
import { CompactWriter } from "../../src/encode/thrift-compact.ts";
import { Utf8Strings } from "../../src/encode/utf8-strings.ts";
import { ByteBuffer } from "../../src/memory/byte-buffer.ts";

/** What `write` appends to a buffer that holds garbage behind its end, in hexadecimal. */
function hex(write: (out: ByteBuffer) => void): string {
  const out = new ByteBuffer(64);
  out.bytes.fill(0xee);
  write(out);
  return Buffer.from(out.written()).toString("hex");
}

describe("bit packing", () => {
  it("packs the specification's example: 1 to 7 at three bits", () => {
    const values = Int32Array.from([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(hex((out) => packBits(values, 0, 8, 3, out))).toBe("88c6fa");
  });

  it.each(Array.from({ length: 32 }, (_, i) => i + 1))(
    "gives back values of %i bits, and zeros behind the last",
    (width) => {
      const values = Int32Array.from({ length: 21 }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >>> (32 - width));
      const out = new ByteBuffer(1);
      packBits(values, 2, 21, width, out);
      expect(out.length).toBe(3 * width);
      const bits = BigInt(`0x${Buffer.from(out.written()).reverse().toString("hex")}`);
      for (let i = 0; i < 24; i++) {
        const expected = i < 19 ? BigInt(values[i + 2]! >>> 0) : 0n;
        expect((bits >> BigInt(i * width)) & ((1n << BigInt(width)) - 1n)).toBe(expected);
      }
    },
  );

  it("knows how many bits a number takes", () => {
    expect([0, 1, 2, 255, 256, -1].map(bitWidth)).toEqual([0, 1, 2, 8, 9, 32]);
  });

  it("gives dictionary indices whole bytes where that costs little", () => {
    expect([1, 2, 4, 5, 16, 17, 256, 257, 65_536].map(indexWidth)).toEqual([1, 1, 2, 4, 4, 8, 8, 9, 16]);
  });
});

describe("the RLE / bit-packing hybrid", () => {
  it("writes long runs as runs and everything else bit-packed, behind the width", () => {
    const runs = Int32Array.from({ length: 1000 }, (_, i) => (i < 600 ? 1 : 300));
    expect(hex((out) => writeIndices(runs, 0, 1000, 9, out))).toBe("09b0090100a0062c01");
    const mixed = Int32Array.from([0, 1, 2, 3, 4, 5, 6, 7, 1]);
    expect(hex((out) => writeIndices(mixed, 0, 9, 3, out))).toBe("030588c6fa010000");
  });

  it("writes nothing behind the width for a page without values", () => {
    expect(hex((out) => writeIndices(new Int32Array(0), 0, 0, 4, out))).toBe("04");
  });

  it("takes six or seven bytes for the levels of a page of nulls, or without any", () => {
    expect(hex((out) => writeDefinitionLevels(null, 0, 100, 100, out))).toBe("03000000c80101");
    expect(hex((out) => writeDefinitionLevels(new Uint8Array(0), 0, 50, 0, out))).toBe("020000006400");
  });

  it("copies levels from any bit of the bitmap, without the bits behind the last row", () => {
    const bitmap = Uint8Array.from([0b10110101, 0b01011010, 0b11111111]);
    expect(hex((out) => writeDefinitionLevels(bitmap, 0, 12, 7, out))).toBe("0300000005b50a");
    expect(hex((out) => writeDefinitionLevels(bitmap, 3, 15, 7, out))).toBe("0300000005560b");
  });

  it("writes levels as runs where nulls lie together, wherever the page begins", () => {
    const bitmap = new Uint8Array(100).fill(0xff, 20, 60);
    expect(hex((out) => writeDefinitionLevels(bitmap, 0, 800, 320, out))).toBe("09000000c00200800501800500");
    expect(hex((out) => writeDefinitionLevels(bitmap, 3, 800, 320, out))).toBe("09000000ba0200800501800500");
  });

  it("counts bits between any two", () => {
    const bitmap = Uint8Array.from([0b10110101, 0xff, 0b00000111, 0xff]);
    expect([countBits(bitmap, 0, 32), countBits(bitmap, 1, 19), countBits(bitmap, 9, 10)]).toEqual([
      24, 15, 1,
    ]);
  });
});

describe("DELTA_BINARY_PACKED", () => {
  const delta = new DeltaBinaryPacked();

  it("writes the specification's example: 7, 5, 3, 1, 2, 3, 4, 5", () => {
    const values = Int32Array.from([7, 5, 3, 1, 2, 3, 4, 5]);
    // Blocks of 128 values in 4 miniblocks, 8 values, the first 7; the least delta -2, two bits each in the first miniblock.
    const expected = `800104080e${"03"}${"02000000"}${"c03f000000000000"}`;
    expect(hex((out) => delta.int32(values, 0, 8, out))).toBe(expected);
  });

  it("fills the last miniblock with zeros, whatever was written before", () => {
    const values = Int32Array.from({ length: 200 }, (_, i) => Math.imul(i, i) << 8);
    const short = Int32Array.from([7, 5, 3, 1, 2, 3, 4, 5]);
    const before = hex((out) => delta.int32(short, 0, 8, out));
    hex((out) => delta.int32(values, 0, 200, out));
    expect(hex((out) => delta.int32(short, 0, 8, out))).toBe(before);
  });

  it("packs deltas of more than 32 bits at the width that they need", () => {
    // 0, 2^32, 3 * 2^32: deltas from 2^32 on, which differ by 33 bits at most.
    const values = Int32Array.from([0, 0, 0, 1, 0, 3]);
    const out = new ByteBuffer(64);
    delta.int64(values, 0, 3, out);
    expect(Buffer.from(out.written()).toString("hex")).toBe(
      `8001040300${"8080808020"}${"21000000"}${"00".repeat(8)}02${"00".repeat(4 * 33 - 9)}`,
    );
  });

  it("takes five or six bytes a block for numbers that count", () => {
    const values = Int32Array.from({ length: 257 }, (_, i) => i * 3);
    const block = "0600000000";
    expect(hex((out) => delta.int32(values, 0, 257, out))).toBe(`800104810200${block}${block}`);
  });

  it("writes a header alone for no values or one", () => {
    expect(hex((out) => delta.int32(new Int32Array(0), 0, 0, out))).toBe("8001040000");
    expect(hex((out) => delta.int64(Int32Array.from([0, -0x80000000]), 0, 1, out))).toBe(
      "80010401ffffffffffffffffff01",
    );
  });
});

it("a buffer keeps its memory when it is cleared, but not that of a huge value", () => {
  const buffer = new ByteBuffer(8);
  buffer.append(new Uint8Array(100_000));
  const { bytes } = buffer;
  buffer.clear();
  expect(buffer.bytes).toBe(bytes);
  buffer.append(new Uint8Array(40_000_000));
  buffer.clear();
  expect(buffer.bytes.length).toBe(16 * 1024 * 1024);
  expect(buffer.view.buffer).toBe(buffer.bytes.buffer);
});

describe("number dictionaries", () => {
  it("number values by their first occurrence", () => {
    const dictionary = new NumberDictionary(16);
    expect(dictionary.encode(Int32Array.from([7, -3, 7, 9]), 4, -3, 9, 4)).toBe(true);
    expect([...dictionary.indices.subarray(0, 4)]).toEqual([0, 1, 0, 2]);
    expect([...dictionary.firsts.subarray(0, dictionary.entries)]).toEqual([0, 1, 3]);
  });

  it("give up when there are more values than the limit, in a small range and in a large one", () => {
    const dictionary = new NumberDictionary(16);
    expect(dictionary.encode(Int32Array.from([1, 2, 3, 4]), 4, 1, 4, 3)).toBe(false);
    expect(dictionary.encode(Int32Array.from([0, 2e8, 4e8, 6e8]), 4, 0, 6e8, 3)).toBe(false);
    expect(dictionary.encode(Int32Array.from([0, 2e8, 4e8, 2e8]), 4, 0, 4e8, 3)).toBe(true);
  });

  it("give up after a trial when nearly all values differ, long before the limit", () => {
    const dictionary = new NumberDictionary(65_536);
    const values = Int32Array.from({ length: 20_000 }, (_, i) => (i < 5000 ? i * 1_000_000 : 0));
    expect(dictionary.encode(values, values.length, 0, 0x7fffffff, 10_000)).toBe(false);
  });

  it("give up on values that were chosen to collide, in time that grows with their number alone", () => {
    const dictionary = new NumberDictionary(65_536);
    const slots = 131_072;
    const hash = (value: number) => {
      let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
      mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
      return (mixed ^ (mixed >>> 16)) & (slots - 1);
    };
    const colliding: number[] = [];
    for (let value = 0; colliding.length < 2500; value++) if (hash(value) < 16) colliding.push(value);
    // Each value comes often enough that the share of different ones is no reason to give up.
    const values = Int32Array.from({ length: 40_000 }, (_, i) => colliding[(i * 7) % 2500]!);
    const greatest = colliding[2499]!;
    expect(greatest).toBeGreaterThan(131_072);
    expect(dictionary.encode(values, values.length, 0, greatest, 65_536)).toBe(false);
  });
});

describe("bounds of strings", () => {
  const boundsOf = (...texts: string[]) => {
    const strings = new Utf8Strings();
    strings.encode(texts);
    const { min, max, isMinExact, isMaxExact } = encodedStringBounds(strings, boundIndices(strings));
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { min: text(min), max: max === null ? null : text(max), isMinExact, isMaxExact };
  };

  it("are in the order of UTF-8, which UTF-16 units do not have", () => {
    expect(boundsOf("\u{ffff}", "😀", "a")).toEqual({
      min: "a",
      max: "😀",
      isMinExact: true,
      isMaxExact: true,
    });
  });

  it("are in the order of what is written where a string holds half a surrogate pair", () => {
    expect(boundsOf("\ud800", "\u{fffe}", "\ue000").max).toBe("\u{fffe}");
    expect(boundsOf("x\ud83d", "\ude00x").min).toBe("x\u{fffd}");
  });

  it("are cut between characters and grow upwards, so that they hide no row", () => {
    const long = `${"a".repeat(MAX_BOUND_BYTES - 1)}é…`;
    expect(boundsOf(long)).toEqual({
      min: "a".repeat(MAX_BOUND_BYTES - 1),
      max: `${"a".repeat(MAX_BOUND_BYTES - 2)}b`,
      isMinExact: false,
      isMaxExact: false,
    });
    expect(boundsOf("\u{d7ff}".repeat(100)).max).toBe(`${"\u{d7ff}".repeat(84)}\u{e000}`);
  });

  it("leave the greatest out where no character can grow", () => {
    expect(boundsOf("\u{10ffff}".repeat(100)).max).toBeNull();
  });
});

describe("the Thrift compact protocol", () => {
  it("writes fields, lists and structs as its specification has them", () => {
    const bytes = hex((out) => {
      const thrift = new CompactWriter(out);
      thrift.struct(() => {
        thrift.i32(1, -1);
        thrift.bool(3, true);
        thrift.bool(4, false);
        thrift.i64(5, 2 ** 40);
        thrift.i16(7, 300);
        thrift.string(8, "é");
        thrift.i32List(9, [0, 1]);
        thrift.structField(10, () => thrift.i32(1, 1));
        thrift.i32(11, 64);
      });
    });
    expect(bytes).toBe(
      "1501" + "21" + "12" + "16808080808040" + "24d804" + "1802c3a9" + "19250002" + "1c150200" + "15800100",
    );
  });

  it("writes the size of a long list apart", () => {
    const list = Array.from({ length: 200 }, () => 0);
    expect(
      hex((out) => {
        const thrift = new CompactWriter(out);
        thrift.struct(() => thrift.i32List(1, list));
      }),
    ).toBe(`19f5c801${"00".repeat(200)}00`);
  });

  it("refuses fields out of order", () => {
    const thrift = new CompactWriter(new ByteBuffer(8));
    expect(() =>
      thrift.struct(() => {
        thrift.i32(2, 0);
        thrift.i32(1, 0);
      }),
    ).toThrow("field 1");
  });
});
