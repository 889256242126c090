import { describe, expect, test } from "vitest";
import {
  byteOrders,
  concatenated,
  filling,
  PcapngBlocks,
  pcap,
  pcapHeader,
  pcapRecord,
} from "../../../../test/support/captures/capture-builder.ts";
import { captureLimits } from "../../src/read/capture-limits.ts";
import { CaptureReader } from "../../src/read/capture-reader.ts";

/** Bytes that the process may grow by while a hostile capture is read. */
const ALLOWED_GROWTH = 64 * 1024 * 1024;

function memory(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe.each(byteOrders)("hostile captures, %s", (order) => {
  const blocks = new PcapngBlocks(order);

  test("100,000 interfaces in a section are read", () => {
    const reader = new CaptureReader(() => {});
    reader.push(blocks.sectionHeader());
    const description = blocks.interfaceDescription({ name: "eth" });
    for (let i = 0; i < 100_000; i++) reader.push(description);
    reader.push(blocks.enhancedPacket({ interfaceId: 99_999 }));
    expect(reader.finish()).toEqual({ kind: "complete", packets: 1 });
    expect(reader.summary.interfaceCount).toBe(100_000);
    expect(reader.summary.interfaces).toHaveLength(1000);
  });

  test("interfaces with names of 60 kB in 100 sections are counted, and no more than 1 MiB of names is listed", () => {
    const reader = new CaptureReader(() => {});
    for (let i = 0; i < 100; i++) {
      reader.push(blocks.sectionHeader());
      reader.push(blocks.interfaceDescription({ name: `${i}`.padEnd(60_000) }));
    }
    expect(reader.finish()).toEqual({ kind: "complete", packets: 0 });
    const { interfaceCount, interfaces } = reader.summary;
    expect(interfaceCount).toBe(100);
    expect(interfaces).toHaveLength(Math.floor((1 << 20) / 60_000));
  });

  test("interfaces without end stop at the limit", () => {
    const reader = new CaptureReader(() => {});
    reader.push(blocks.sectionHeader());
    const descriptions = concatenated(...Array.from({ length: 1000 }, () => blocks.interfaceDescription()));
    let pushed = 0;
    while (reader.push(descriptions)) pushed += 1000;
    expect(pushed).toBeLessThanOrEqual(captureLimits.interfaces);
    expect(reader.finish()).toMatchObject({
      kind: "rejected",
      reason: expect.stringContaining("limit interfaces"),
    });
  });

  test("a long name on each interface stops at the limit", () => {
    const reader = new CaptureReader(() => {});
    reader.push(blocks.sectionHeader());
    const description = blocks.interfaceDescription({ name: "n".repeat(60_000) });
    let pushed = 0;
    while (reader.push(description)) pushed += 60_000;
    expect(pushed).toBeLessThanOrEqual(captureLimits.interfaceNameBytes);
  });

  test("a claimed 128 MiB packet takes no memory before its bytes come", () => {
    const before = memory();
    const header = { order, linkType: 249 };
    const reader = new CaptureReader(() => {});
    reader.push(pcapHeader(header));
    reader.push(pcapRecord(header, { capturedLength: 128 * 1024 * 1024, bytes: filling(10_000) }));
    expect(memory() - before).toBeLessThan(ALLOWED_GROWTH / 16);
    expect(reader.finish()).toMatchObject({ kind: "rejected", reason: expect.stringContaining("cut short") });
  });

  test("a section header of 2 GB is refused before it is waited for", () => {
    const reader = new CaptureReader(() => {});
    const header = blocks.sectionHeader();
    new DataView(header.buffer).setUint32(4, 0x80000000, order === "little-endian");
    expect(reader.push(header.subarray(0, 16))).toBe(false);
  });

  test("sections without end are read in constant memory", () => {
    const reader = new CaptureReader(() => {});
    const sections = concatenated(
      ...Array.from({ length: 200 }, () =>
        concatenated(blocks.sectionHeader(), blocks.interfaceDescription()),
      ),
    );
    reader.push(sections);
    const before = memory();
    for (let i = 0; i < 500; i++) reader.push(sections);
    expect(memory() - before).toBeLessThan(ALLOWED_GROWTH);
    expect(reader.summary.sections).toBe(100_200);
  });

  test("a packet that arrives byte for byte costs a copy for each byte and three tries", () => {
    const capture = pcap({ order }, [{ bytes: filling(100_000) }]);
    const reader = new CaptureReader(() => {});
    for (let at = 0; at < capture.length; at++) reader.push(capture.subarray(at, at + 1));
    expect(reader.finish()).toEqual({ kind: "complete", packets: 1 });
    expect(reader.copiedBytes).toBeLessThanOrEqual(3 * capture.length);
    expect(reader.parses).toBeLessThanOrEqual(8);
  });

  test("work grows as the input does: ten times the packets, ten times the copies and tries", () => {
    const work = (packets: number) => {
      const capture = pcap(
        { order },
        Array.from({ length: packets }, () => ({ bytes: filling(50) })),
      );
      const reader = new CaptureReader(() => {});
      for (let at = 0; at < capture.length; at += 17) reader.push(capture.subarray(at, at + 17));
      reader.finish();
      return [reader.copiedBytes, reader.parses] as const;
    };
    const [copies, parses] = work(100);
    const [moreCopies, moreParses] = work(1000);
    expect(moreCopies / copies).toBeLessThan(10.5);
    expect(moreParses / parses).toBeLessThan(10.5);
  });
});
