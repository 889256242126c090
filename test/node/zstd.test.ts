import * as zlib from "node:zlib";
import { decompress } from "fzstd";
import { describe, expect, it } from "vitest";
import { nodeZstd, storedFrame } from "../../src/node/zstd.ts";

const { zstdDecompressSync } = zlib as { zstdDecompressSync?: (bytes: Uint8Array) => Uint8Array };

const bytes = (length: number) => Uint8Array.from({ length }, (_, i) => (i * i) & 0xff);

it.each([0, 1, 31, 32, 63, 255])("a stored frame gives back its %i bytes", (length) => {
  const frame = storedFrame(bytes(length));
  expect(frame.length).toBe(length + 9);
  expect([...decompress(frame)]).toEqual([...bytes(length)]);
  if (zstdDecompressSync !== undefined) expect([...zstdDecompressSync(frame)]).toEqual([...bytes(length)]);
});

describe.skipIf(nodeZstd === null)("zstd of node:zlib (from Node 22.15 on)", () => {
  it.each([0, 63, 64, 1000, 300_000])("gives back a page of %i bytes, the same frame each time", (length) => {
    const page = bytes(length);
    const frame = nodeZstd!.compress(page);
    expect(Buffer.compare(decompress(frame), page)).toBe(0);
    expect(Buffer.compare(nodeZstd!.compress(page), frame)).toBe(0);
  });
});
