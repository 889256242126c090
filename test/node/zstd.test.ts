import * as zlib from "node:zlib";
import { ByteBuffer } from "@deltacap/parquet";
import { decompress } from "fzstd";
import { describe, expect, it } from "vitest";
import { nodePageCompressor } from "../../src/node/page-compressor.ts";
import { wasmZstd, wasmZstdDecompressed } from "../../src/node/wasm-zstd.ts";
import { nodeZstd, writeStoredFrame } from "../../src/node/zstd.ts";

const { zstdDecompressSync } = zlib as { zstdDecompressSync?: (bytes: Uint8Array) => Uint8Array };

const bytes = (length: number) => Uint8Array.from({ length }, (_, i) => (i * i) & 0xff);

it.each([0, 1, 31, 32, 63, 255])("a stored frame gives back its %i bytes", (length) => {
  const out = new ByteBuffer(1);
  writeStoredFrame(bytes(length), out);
  const frame = out.written();
  expect(frame.length).toBe(length + 9);
  expect([...decompress(frame)]).toEqual([...bytes(length)]);
  if (zstdDecompressSync !== undefined) expect([...zstdDecompressSync(frame)]).toEqual([...bytes(length)]);
});

it("pages are compressed by node:zlib where it has zstd (from Node 22.15 on), else in WebAssembly", () => {
  expect(nodePageCompressor).toBe(zstdDecompressSync === undefined ? wasmZstd : nodeZstd);
});

const implementations = [["node:zlib", nodeZstd] as const, ["WebAssembly", wasmZstd] as const].flatMap(
  ([name, zstd]) => (zstd === null ? [] : [{ name, zstd }]),
);

describe.each(implementations)("zstd of $name", ({ zstd }) => {
  it.each([0, 63, 64, 1000, 300_000])("gives back a page of %i bytes, the same frame each time", (length) => {
    const page = bytes(length);
    const out = new ByteBuffer(1);
    zstd.compress(page, out);
    const first = out.length;
    zstd.compress(bytes(70_000).reverse(), out);
    const second = out.length;
    zstd.compress(page, out);
    const frame = out.bytes.subarray(0, first);
    expect(Buffer.compare(decompress(frame), page)).toBe(0);
    expect(Buffer.compare(out.written().subarray(second), frame)).toBe(0);
    expect(zlibFrame(frame)).toEqual(zstdDecompressSync === undefined ? null : page);
  });

  it.each([100_000, 1_000_000])("holds no output of pages of %i bytes that were compressed", (length) => {
    const page = bytes(length);
    const out = new ByteBuffer(length + 1024);
    zstd.compress(page, out);
    const before = process.memoryUsage();
    for (let i = 0; i < 20; i++) {
      out.clear();
      zstd.compress(page, out);
    }
    const after = process.memoryUsage();
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(2 * length);
    // WebAssembly's memory counts as external.
    expect(after.external - before.external).toBeLessThan(2 * length);
  });
});

it("zstd in WebAssembly takes pages beyond the memory it begins with", () => {
  const page = new Uint8Array(12 * 1024 * 1024);
  for (let at = 0; at < page.length; at += 64 * 1024) page[at] = at >> 16;
  const out = new ByteBuffer(1);
  wasmZstd.compress(page, out);
  expect(Buffer.compare(decompress(out.written()), page)).toBe(0);
});

it("zstd in WebAssembly refuses a page that its memory could not hold, and says what takes it", () => {
  const page = { length: 512 * 1024 * 1024 + 1 } as Uint8Array;
  expect(() => wasmZstd.compress(page, new ByteBuffer(1))).toThrow(/536870913 bytes.*536870912.*Node 22\.15/);
});

describe("pages decompressed in WebAssembly", () => {
  const frameOf = (page: Uint8Array) => {
    const out = new ByteBuffer(1);
    wasmZstd.compress(page, out);
    return out.written().slice();
  };
  const stored = (page: Uint8Array) => {
    const out = new ByteBuffer(1);
    writeStoredFrame(page, out);
    return out.written().slice();
  };

  /** A window, no content size, and one block: 300 times 7. */
  const run = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 0x63, 0x09, 0, 7);

  it.each([0, 1, 255, 256, 65_791, 65_792, 1_000_000])("come back: %i bytes", (length) => {
    const page = bytes(length);
    expect(Buffer.compare(wasmZstdDecompressed(frameOf(page), length), page)).toBe(0);
  });

  it("come back where the frame does not say its length, and where it is made of two", () => {
    expect(wasmZstdDecompressed(run, 300)).toEqual(new Uint8Array(300).fill(7));
    const two = Buffer.concat([stored(bytes(100)), stored(bytes(50))]);
    expect([...wasmZstdDecompressed(two, 150)]).toEqual([...bytes(100), ...bytes(50)]);
  });

  it("are refused where they claim or hold more than their header says, before room is made", () => {
    expect(() => wasmZstdDecompressed(frameOf(bytes(5000)), 4999)).toThrow(/4999 bytes.*frame of 5000/);
    const claims = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0);
    expect(() => wasmZstdDecompressed(claims, 100)).toThrow(/frame of 72057594037927940/);
    expect(() => wasmZstdDecompressed(run, 299)).toThrow(/10 bytes is no zstd frame of 299 bytes/);
  });

  it("that claim to be long are left to JavaScript: the module's memory does not grow for a claim", () => {
    const before = process.memoryUsage().external;
    expect(wasmZstdDecompressed(run, 2 ** 30)).toEqual(new Uint8Array(300).fill(7));
    expect(process.memoryUsage().external - before).toBeLessThan(16 * 1024 * 1024);
  });

  it("that are damaged are refused, and the next one comes back", () => {
    const page = bytes(10_000);
    const frame = frameOf(page);
    for (let cut = 5; cut < frame.length; cut += 7) {
      expect(() => wasmZstdDecompressed(frame.subarray(0, cut), page.length)).toThrow();
    }
    expect(() => wasmZstdDecompressed(bytes(100), 100)).toThrow();
    expect(Buffer.compare(wasmZstdDecompressed(frame, page.length), page)).toBe(0);
  });
});

/** As `node:zlib` decompresses it; null where Node has no zstd. */
function zlibFrame(frame: Uint8Array): Uint8Array | null {
  return zstdDecompressSync === undefined ? null : new Uint8Array(zstdDecompressSync(frame));
}
