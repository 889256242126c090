import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import {
  Bytes,
  byteOrders,
  concatenated,
  filling,
  PcapMagic,
  PcapngBlocks,
  pcap,
} from "../../../../test/support/captures/capture-builder.ts";
import {
  captureFixtures,
  smallPcap,
  smallPcapng,
} from "../../../../test/support/captures/capture-fixtures.ts";
import { readPackets } from "../../../../test/support/captures/read-packets.ts";
import { CaptureReader } from "../../src/read/capture-reader.ts";

const fixtures = captureFixtures();

describe.each(fixtures)("$name", ({ bytes, packets: count }) => {
  const whole = readPackets(bytes);

  test("is read to its end", () => {
    expect(whole.end).toEqual({ kind: "complete", packets: count });
    expect(whole.packets.map((packet) => packet.packetNumber)).toEqual(
      Array.from({ length: count }, (_, i) => i + 1),
    );
  });

  test("gives the same packets in chunks of any size, and copies a byte at most twice", () => {
    for (const length of [1, 2, 3, 5, 7, 11, 16, 24, 31, 64, 100]) {
      const { end, packets, reader } = readPackets(bytes, length);
      expect(end).toEqual(whole.end);
      expect(packets).toEqual(whole.packets);
      expect(reader.copiedBytes).toBeLessThanOrEqual(2 * bytes.length);
      // Headers, then the rest: at most four tries for each packet or block, and one for each chunk.
      expect(reader.parses).toBeLessThanOrEqual(bytes.length / 3 + bytes.length / length + 4);
    }
  });

  test("cut anywhere, gives the packets that were whole, and names where it was cut", () => {
    // Where each packet's record ends, by reading byte for byte.
    const ends: number[] = [];
    let at = 0;
    const reader = new CaptureReader(() => ends.push(at));
    for (at = 1; at <= bytes.length; at++) reader.push(bytes.subarray(at - 1, at));
    for (let length = 0; length < bytes.length; length++) {
      const { end, packets } = readPackets(bytes.subarray(0, length));
      const expected = ends.filter((each) => each <= length).length;
      // Thousands of comparisons: the runner's own would take seconds.
      expect(isDeepStrictEqual(packets, whole.packets.slice(0, expected)), `cut at ${length}`).toBe(true);
      if (end.kind === "complete") continue;
      expect(end.kind).toBe(expected === 0 ? "rejected" : "damaged");
      expect(end.reason).toMatch(/cut short|too few/);
      expect(end.offset).toBeLessThan(length);
      expect(end.offset).toBeGreaterThanOrEqual(ends.filter((each) => each <= length).at(-1) ?? 0);
    }
  });
});

describe("captures back to back", () => {
  const le = smallPcap("little-endian", PcapMagic.microseconds);

  test.each(
    byteOrders.flatMap((before) =>
      byteOrders.flatMap((after) => Object.values(PcapMagic).map((magic) => ({ before, after, magic }))),
    ),
  )(
    "a $after pcap file is found behind $before files of both formats: magic $magic",
    ({ before, after, magic }) => {
      const second = pcap({ order: after, magic, linkType: 113 }, [{ seconds: 8, bytes: filling(3) }]);
      for (const first of [smallPcap(before, PcapMagic.nanoseconds), smallPcapng(before)]) {
        const { end, packets } = readPackets(concatenated(first, second), 13);
        const count = readPackets(first).packets.length + 1;
        expect(end).toEqual({ kind: "complete", packets: count });
        expect(packets.at(-1)).toMatchObject({
          packetNumber: count,
          linkType: 113,
          seconds: 8,
          sectionNumber: -1,
          interfaceId: -1,
          interfaceName: null,
          packetComment: null,
        });
      }
    },
  );

  test("sections are counted on over pcap files between them", () => {
    const ng = smallPcapng("big-endian");
    const { packets } = readPackets(concatenated(ng, le, ng));
    expect([...new Set(packets.map((packet) => packet.sectionNumber))]).toEqual([1, -1, 2]);
  });

  test("a header of another time zone is one too", () => {
    const { end } = readPackets(concatenated(le, pcap({ thiszone: 7200 }, [{}])));
    expect(end).toEqual({ kind: "complete", packets: 5 });
  });

  test("a record of the second that spells the magic number is a record", () => {
    const capture = pcap({}, [
      { seconds: 0xa1b2c3d4, fraction: 0x00040002, bytes: filling(10) },
      { seconds: 0xa1b2c3d4, fraction: 5 },
      // Version 2.77 of pcap; and version 2.4 with a time zone of more than a day.
      { seconds: 0xa1b2c3d4, fraction: 0x004d0002 },
      { seconds: 0xa1b2c3d4, fraction: 0x00040002, bytes: filling(86_401), originalLength: 0 },
      { seconds: 0x0a0d0d0a, fraction: 28, bytes: filling(20) },
      { seconds: 0xa1b2c3d4, fraction: 6 },
    ]);
    for (const length of [capture.length, 1]) {
      expect(readPackets(capture, length).end).toEqual({ kind: "complete", packets: 6 });
    }
  });

  test("a pcapng block of the type that spells the magic number is a block", () => {
    const blocks = new PcapngBlocks();
    const empty = blocks.block(0xa1b2c3d4, new Uint8Array(0));
    const packet = blocks.enhancedPacket({ bytes: filling(3) });
    const capture = concatenated(blocks.sectionHeader(), blocks.interfaceDescription(), empty, packet, empty);
    for (const length of [capture.length, 1, 16]) {
      expect(readPackets(capture, length).end).toEqual({ kind: "complete", packets: 1 });
    }
  });

  test("a section header that is no section ends a pcap file as damage", () => {
    const broken = new PcapngBlocks().block(0x0a0d0d0a, new Bytes().u32(0x1a2b3c4e, 0, 0).build());
    expect(readPackets(concatenated(le, broken)).end).toMatchObject({ kind: "damaged", offset: le.length });
  });

  test("a header of an unknown version behind a capture is damage at its offset", () => {
    const ng = smallPcapng("little-endian");
    const reserved = concatenated(
      ng,
      pcap({ linkType: 1 }, [{}]),
      pcap({ major: 3 }, [{ bytes: filling(9) }]),
    );
    expect(readPackets(reserved).end.kind).not.toBe("complete");
  });
});

describe("what is no capture", () => {
  test("nothing, or headers alone, are captures without packets", () => {
    const blocks = new PcapngBlocks();
    for (const empty of [
      new Uint8Array(0),
      pcap({}, []),
      blocks.sectionHeader(),
      concatenated(blocks.sectionHeader(), blocks.interfaceDescription()),
      concatenated(pcap({}, []), pcap({}, []), blocks.sectionHeader()),
    ]) {
      expect(readPackets(empty).end).toEqual({ kind: "complete", packets: 0 });
    }
  });

  const text = (value: string) => Uint8Array.from(value, (character) => character.charCodeAt(0));
  test.each([
    ["MDF     4.10", "ASAM MDF measurement (MF4)"],
    ["UnFinMF 4.10", "unfinished ASAM MDF"],
    ["LOGG\x90\0\0\0and more of it", "Vector binary log (BLF)"],
    ["date Mon Jan 1 10:00:00 2024", "Vector text log (ASC)"],
    ["PK\x03\x04 and what follows", "ZIP archive"],
    ["<html><body>Forbidden</body>", "HTML page"],
    ["<?xml version='1.0'?><Error>", "XML document"],
    ["snoop\0\0\0\0\0\0\x02 and more", "snoop capture"],
    ["\x1f\x8b\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "gzip data within compressed data"],
    ["\x34\xcd\xa1\xb2\x02\0\x04\0\0\0\0\0\0\0", "it begins with 34 cd a1 b2"],
    ["\x12\xcd\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0", "it begins with 12 cd b2 a1"],
    ["\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "begins with zeros"],
  ])("%j is rejected by name", (beginning, reason) => {
    for (const length of [1, 100]) {
      expect(readPackets(text(beginning), length).end).toEqual({
        kind: "rejected",
        offset: 0,
        reason: expect.stringContaining(reason),
      });
    }
  });

  test("three bytes are too few", () => {
    expect(readPackets(Uint8Array.of(0xd4, 0xc3, 0xb2)).end).toEqual({
      kind: "rejected",
      offset: 0,
      reason: "not a capture: 3 bytes are too few for one",
    });
  });

  test("push says that reading on is of no use", () => {
    const reader = new CaptureReader(() => {});
    expect(reader.push(text("this is no capture"))).toBe(false);
    expect(reader.push(pcap({}, [{}]))).toBe(false);
    expect(reader.finish().kind).toBe("rejected");
  });
});

test("the summary names formats, files, sections and interfaces", () => {
  const { reader } = readPackets(
    concatenated(
      smallPcap("big-endian", PcapMagic.modified),
      smallPcapng("little-endian"),
      smallPcapng("little-endian"),
    ),
  );
  expect(reader.summary).toEqual({
    formats: ["pcap 2.4, big-endian, microseconds, 24-byte record headers", "pcapng 1.0, little-endian"],
    pcapFiles: 1,
    sections: 2,
    interfaceCount: 5,
    interfaces: [
      { sectionNumber: null, interfaceId: null, name: null, linkType: 1, snapLength: 262_144 },
      { sectionNumber: 1, interfaceId: 0, name: "can0", linkType: 227, snapLength: 24 },
      { sectionNumber: 1, interfaceId: 1, name: "eth0", linkType: 1, snapLength: 0 },
      { sectionNumber: 2, interfaceId: 0, name: "can0", linkType: 227, snapLength: 24 },
      { sectionNumber: 2, interfaceId: 1, name: "eth0", linkType: 1, snapLength: 0 },
    ],
  });
});

test("what the sink throws goes through push", () => {
  const reader = new CaptureReader(() => {
    throw new RangeError("from the sink");
  });
  expect(() => reader.push(pcap({}, [{}]))).toThrow("from the sink");
});

test("one frame object serves all packets", () => {
  const seen = new Set<object>();
  const reader = new CaptureReader((frame) => seen.add(frame));
  for (const { bytes } of fixtures.slice(0, 4)) reader.push(bytes);
  reader.finish();
  expect(seen.size).toBe(1);
});
