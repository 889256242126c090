import * as zlib from "node:zlib";
import { decompress } from "fzstd";
import { describe, expect, it } from "vitest";
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

describe.skipIf(nodeZstd === null)("zstd of node:zlib (from Node 22.15 on)", () => {
  it.each([0, 63, 64, 1000, 300_000])("gives back a page of %i bytes, the same frame each time", (length) => {
    const page = bytes(length);
    const out = new ByteBuffer(1);
    nodeZstd!.compress(page, out);
    const first = out.length;
    nodeZstd!.compress(page, out);
    const frame = out.bytes.subarray(0, first);
    expect(Buffer.compare(decompress(frame), page)).toBe(0);
    expect(Buffer.compare(out.written().subarray(first), frame)).toBe(0);
  });

  it.each([100_000, 1_000_000])("holds no output of pages of %i bytes that were compressed", (length) => {
    const page = bytes(length);
    const out = new ByteBuffer(length + 1024);
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 20; i++) {
      out.clear();
      nodeZstd!.compress(page, out);
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * length);
  });
});
