import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { SupersededError } from "../../../../src/errors.ts";
import { nodeDecompressors } from "../../../../src/node/compression.ts";
import {
  concatenated,
  emptyPackets,
  filling,
  PcapMagic,
  pcap,
} from "../../../../test/support/captures/capture-builder.ts";
import { captureFixtures, smallPcap } from "../../../../test/support/captures/capture-fixtures.ts";
import {
  copyOf,
  inChunks,
  type Packet,
  readPackets,
} from "../../../../test/support/captures/read-packets.ts";
import { rawBlock, skippableFrame, zstdFrame } from "../../../../test/support/captures/zstd-frames.ts";
import type { DecompressionLimits } from "../../src/read/decompress.ts";
import { decompressed } from "../../src/read/decompress.ts";
import { readCapture } from "../../src/read/read-capture.ts";
import { RejectedCaptureError } from "../../src/read/rejected-capture.ts";

const MiB = 1024 * 1024;
const limits: DecompressionLimits = {
  decompressedBytes: 64 * MiB,
  decompressionRatio: 200,
  decompressedFloor: 4 * MiB,
};

async function read(chunks: AsyncIterable<Uint8Array>, some: Partial<DecompressionLimits> = {}) {
  const packets: Packet[] = [];
  const end = await readCapture(chunks, nodeDecompressors, (frame) => packets.push(copyOf(frame)), {
    ...limits,
    ...some,
  });
  return { end, packets };
}

async function collected(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk.slice());
  return concatenated(...parts);
}

describe.each(captureFixtures())("$name", ({ bytes }) => {
  const plain = readPackets(bytes);
  const forms: [string, Uint8Array][] = [
    ["plain", bytes],
    ["gzip", gzipSync(bytes)],
    ["gzip in members", concatenated(gzipSync(bytes.subarray(0, 100)), gzipSync(bytes.subarray(100)))],
    ["zstd", zstdFrame(rawBlock(bytes))],
    [
      "zstd in frames",
      concatenated(zstdFrame(rawBlock(bytes.subarray(0, 99))), zstdFrame(rawBlock(bytes.subarray(99)))),
    ],
    [
      "zstd behind a skippable frame",
      concatenated(skippableFrame(filling(9), 7), zstdFrame(rawBlock(bytes))),
    ],
  ];
  test.each(forms)("%s gives the same packets, also byte by byte", async (_form, compressed) => {
    for (const length of [compressed.length, 1]) {
      expect(await read(inChunks(compressed, length))).toEqual({ end: plain.end, packets: plain.packets });
    }
  });
});

test("inputs too short to tell are passed on as they are", async () => {
  for (const bytes of [[], [0x1f], [0x1f, 0x8b], [0x28, 0xb5, 0x2f]]) {
    const input = Uint8Array.from(bytes);
    expect(await collected(decompressed(inChunks(input, 1), nodeDecompressors, limits))).toEqual(input);
  }
});

test("compression within compression is not unpacked, and named", async () => {
  const { end } = await read(inChunks(gzipSync(gzipSync(pcap({}, [{}])))));
  expect(end).toMatchObject({
    kind: "rejected",
    reason: expect.stringContaining("gzip data within compressed data"),
  });
});

describe("damaged compression", () => {
  const capture = pcap(
    {},
    Array.from({ length: 50 }, (_, i) => ({ seconds: i, bytes: filling(100, i) })),
  );

  test("a cut gzip capture keeps its whole packets, and names the decompressed offset of the first that is not", async () => {
    const stored = gzipSync(capture, { level: 0 });
    // 10 bytes of gzip header and 5 of the stored block's stand before the capture's own.
    const cut = stored.subarray(0, 15 + 24 + 116 * 30 + 50);
    const { end, packets } = await read(inChunks(cut, 100));
    expect(packets).toEqual(readPackets(capture).packets.slice(0, 30));
    expect(end).toEqual({
      kind: "damaged",
      packets: 30,
      offset: 24 + 116 * 30,
      reason: "gzip data is cut short",
    });
  });

  test("a cut between two packets is damage too", async () => {
    const cut = gzipSync(capture, { level: 0 }).subarray(0, 15 + 24 + 116 * 30);
    const { end } = await read(inChunks(cut));
    expect(end).toEqual({
      kind: "damaged",
      packets: 30,
      offset: 24 + 116 * 30,
      reason: "gzip data is cut short",
    });
  });

  test("a capture cut before its first packet is rejected", async () => {
    const cut = gzipSync(capture, { level: 0 }).subarray(0, 15 + 24);
    expect((await read(inChunks(cut))).end).toEqual({
      kind: "rejected",
      offset: 24,
      reason: "gzip data is cut short",
    });
  });

  test("a capture's own damage goes before that of its compression", async () => {
    const broken = concatenated(capture, pcap({}, [{ capturedLength: 0xffffffff }]).subarray(24));
    const cut = gzipSync(broken, { level: 0 }).subarray(0, -4);
    expect((await read(inChunks(cut))).end).toMatchObject({
      kind: "damaged",
      packets: 50,
      offset: capture.length,
    });
  });
});

describe("decompression bombs", () => {
  test("zero-length packets for ever are stopped by the ratio, once the floor is passed", async () => {
    const bomb = gzipSync(concatenated(pcap({}, []), emptyPackets(16 * MiB)), { level: 9 });
    let packets = 0;
    const reading = readCapture(inChunks(bomb), nodeDecompressors, () => packets++, limits);
    await expect(reading).rejects.toThrow(RejectedCaptureError);
    await expect(reading).rejects.toThrow(
      /decompression bomb: \d+ bytes came out of \d+, and at most 200 for each/,
    );
    await expect(reading).rejects.toHaveProperty("offset");
    expect(packets).toBeGreaterThan(0);
    expect(packets).toBeLessThan((5 * MiB) / 16);
  });

  test("a bomb that comes in one chunk is judged by what was consumed of it", async () => {
    const head = gzipSync(concatenated(pcap({}, []), emptyPackets(16 * MiB)), { level: 9 });
    const chunk = concatenated(head, filling(2 * MiB));
    let packets = 0;
    const reading = readCapture(inChunks(chunk), nodeDecompressors, () => packets++, limits);
    await expect(reading).rejects.toThrow(RejectedCaptureError);
    expect(packets).toBeLessThan((5 * MiB) / 16);
  });

  test("below the floor any ratio passes: idle buses compress well", async () => {
    const idle = gzipSync(concatenated(pcap({}, []), emptyPackets(3 * MiB)));
    expect((await read(inChunks(idle))).end.kind).toBe("complete");
  });

  test("the size is limited whatever the ratio", async () => {
    const large = gzipSync(
      pcap(
        {},
        Array.from({ length: 100 }, () => ({ bytes: filling(100) })),
      ),
    );
    await expect(read(inChunks(large), { decompressedBytes: 5000 })).rejects.toThrow(
      "more than 5000 bytes come out (setting decompressedBytes)",
    );
  });

  test("plain captures are not judged", async () => {
    const plain = smallPcap("little-endian", PcapMagic.microseconds);
    expect((await read(inChunks(plain), { decompressedBytes: 10, decompressedFloor: 0 })).end.kind).toBe(
      "complete",
    );
  });
});

describe("reading a capture", () => {
  test("pauses at least every 256 KiB, also within one large chunk", async () => {
    const capture = pcap(
      {},
      Array.from({ length: 10 }, () => ({ bytes: filling(100_000) })),
    );
    const packetsAtPause: number[] = [];
    let packets = 0;
    await readCapture(
      inChunks(capture),
      nodeDecompressors,
      () => packets++,
      limits,
      async () => void packetsAtPause.push(packets),
    );
    expect(packetsAtPause).toEqual([2, 5, 7, 10]);
  });

  test("stops and closes its source at what is no capture", async () => {
    let read = 0;
    let closed = false;
    const source = async function* () {
      try {
        for (;;) {
          read++;
          yield filling(1000);
        }
      } finally {
        closed = true;
      }
    };
    expect((await readCapture(source(), nodeDecompressors, () => {}, limits)).kind).toBe("rejected");
    expect({ read, closed }).toEqual({ read: 1, closed: true });
  });

  test("an error of the source comes through as it is", async () => {
    const source = async function* () {
      yield smallPcap("big-endian", PcapMagic.microseconds);
      throw new SupersededError("the object was replaced");
    };
    await expect(read(source())).rejects.toThrow(SupersededError);
  });
});
