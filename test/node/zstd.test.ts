import * as zlib from "node:zlib";
import { decompress } from "fzstd";
import { describe, expect, it } from "vitest";
import { nodePageCompressor } from "../../src/node/page-compressor.ts";
import { wasmZstd } from "../../src/node/wasm-zstd.ts";
import { nodeZstd, writeStoredFrame } from "../../src/node/zstd.ts";
import { ByteBuffer } from "../../src/parquet/byte-buffer.ts";

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

/** As `node:zlib` decompresses it; null where Node has no zstd. */
function zlibFrame(frame: Uint8Array): Uint8Array | null {
  return zstdDecompressSync === undefined ? null : new Uint8Array(zstdDecompressSync(frame));
}
