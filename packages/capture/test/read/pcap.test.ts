import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  byteOrders,
  concatenated,
  filling,
  PcapMagic,
  pcap,
  pcapHeader,
  pcapRecord,
} from "../../../../test/support/captures/capture-builder.ts";
import { fault, hasFaults } from "../../../../test/support/captures/faults.ts";
import { readPackets } from "../../../../test/support/captures/read-packets.ts";

describe.each(byteOrders)("pcap, %s", (order) => {
  test("a packet comes with its bytes, lengths, link type and time", () => {
    const { end, packets } = readPackets(
      pcap({ order, linkType: 113 }, [
        { seconds: 1_700_000_000, fraction: 123_456, bytes: filling(5), originalLength: 1500 },
      ]),
    );
    expect(end).toEqual({ kind: "complete", packets: 1 });
    expect(packets).toEqual([
      {
        packetNumber: 1,
        sectionNumber: -1,
        interfaceId: -1,
        interfaceName: null,
        packetComment: null,
        linkType: 113,
        bigEndian: order === "big-endian",
        fcsLength: -1,
        capturedLength: 5,
        originalLength: 1500,
        hasTime: true,
        seconds: 1_700_000_000,
        nanoseconds: 123_456_000,
        bytes: filling(5),
      },
    ]);
  });

  test("nanosecond files keep their nanoseconds", () => {
    const { packets } = readPackets(
      pcap({ order, magic: PcapMagic.nanoseconds }, [{ seconds: 9, fraction: 123_456_789 }]),
    );
    expect(packets[0]).toMatchObject({ seconds: 9, nanoseconds: 123_456_789 });
  });

  test("the modified format has 24-byte record headers", () => {
    const { end, packets } = readPackets(
      pcap({ order, magic: PcapMagic.modified }, [{ bytes: filling(3) }, { bytes: filling(4, 1) }]),
    );
    expect(end).toEqual({ kind: "complete", packets: 2 });
    expect(packets.map((packet) => packet.bytes)).toEqual([filling(3), filling(4, 1)]);
  });

  test("seconds are unsigned, and a sub-second of a second and more carries over", () => {
    const { packets } = readPackets(
      pcap({ order }, [
        { seconds: 0x80000000, fraction: 999_999 },
        { seconds: 0xffffffff, fraction: 1_000_000 },
        { seconds: 1, fraction: 0xffffffff },
      ]),
    );
    expect(packets.map(({ seconds, nanoseconds }) => [seconds, nanoseconds])).toEqual([
      [0x80000000, 999_999_000],
      [0x1_0000_0000, 0],
      [1 + 4294, 967_295_000],
    ]);
  });

  test("the time zone field is ignored", () => {
    const { packets } = readPackets(pcap({ order, thiszone: -3600 }, [{ seconds: 5 }]));
    expect(packets[0]?.seconds).toBe(5);
  });

  test.each([
    [0x24000001, 4],
    [0x14000001, 2],
    [0x04000001, 0],
    [0x30000001, -1],
    [0x00000001, -1],
  ])("link type field 0x%s gives link type 1 and FCS length %i", (linkType, fcsLength) => {
    const { packets } = readPackets(pcap({ order, linkType }, [{ bytes: filling(60) }]));
    expect(packets[0]).toMatchObject({ linkType: 1, fcsLength });
  });

  test.each([0x00010001, 0x02000001, 0x00300000])(
    "reserved bits in link type field %i reject the file",
    (linkType) => {
      const { end } = readPackets(pcap({ order, linkType }, [{ bytes: filling(60) }]));
      expect(end).toMatchObject({
        kind: "rejected",
        offset: 0,
        reason: expect.stringContaining("bits 16 to 25"),
      });
    },
  );

  test.each([3, 4, 5, 9])("version 2.%i is read", (minor) => {
    expect(readPackets(pcap({ order, minor }, [{}])).end).toEqual({ kind: "complete", packets: 1 });
  });

  test("before version 2.3 the two lengths stand in the other order", () => {
    const record = { bytes: filling(8), capturedLength: 60, originalLength: 8 };
    const { end, packets } = readPackets(pcap({ order, minor: 2 }, [record, record]));
    expect(end).toEqual({ kind: "complete", packets: 2 });
    expect(packets[1]).toMatchObject({ capturedLength: 8, originalLength: 60 });
  });

  test("in version 2.3 the lengths are exchanged where the captured one is greater", () => {
    const swapped = { bytes: filling(8), capturedLength: 60, originalLength: 8 };
    const straight = { bytes: filling(8), originalLength: 60 };
    const { packets } = readPackets(pcap({ order, minor: 3 }, [swapped, straight]));
    expect(packets.map((packet) => packet.capturedLength)).toEqual([8, 8]);
  });

  test.each([0, 1, 3, 543])("major version %i is rejected", (major) => {
    const { end } = readPackets(pcap({ order, major }, [{}]));
    expect(end).toMatchObject({
      kind: "rejected",
      offset: 0,
      reason: expect.stringContaining(`version ${major}.4`),
    });
  });

  test("a captured length over the wire's length or the snap length is kept", () => {
    const { packets } = readPackets(
      pcap({ order, snapLength: 4 }, [{ bytes: filling(30), originalLength: 10 }, { bytes: filling(0) }]),
    );
    expect(packets.map(({ capturedLength, originalLength }) => [capturedLength, originalLength])).toEqual([
      [30, 10],
      [0, 0],
    ]);
  });

  test("262,144 captured bytes are read, and one more is damage at the record's offset", () => {
    const largest = { bytes: filling(262_144) };
    expect(readPackets(pcap({ order }, [largest])).end).toEqual({ kind: "complete", packets: 1 });
    const { end } = readPackets(pcap({ order }, [{ bytes: filling(4) }, { capturedLength: 262_145 }]));
    expect(end).toEqual({
      kind: "damaged",
      packets: 1,
      offset: 24 + 20,
      reason: "pcap record claims 262145 captured bytes, more than the 262144 of link type 1",
    });
  });

  test.each([
    [231, 128 * 1024 * 1024],
    [249, 128 * 1024 * 1024],
    [279, 8 * 1024 * 1024],
  ])("link type %i may have packets of %i bytes, as in Wireshark", (linkType, most) => {
    const cut = (capturedLength: number) =>
      readPackets(pcap({ order, linkType }, [{}, { capturedLength }])).end;
    expect(cut(most)).toMatchObject({ reason: expect.stringContaining("cut short") });
    expect(cut(most + 1)).toMatchObject({ reason: expect.stringContaining(`more than the ${most}`) });
  });

  test("a claimed length of 4 GB is damage at once, without waiting for the bytes", () => {
    const reader = readPackets(
      concatenated(pcapHeader({ order }), pcapRecord({ order }, { capturedLength: 0xffffffff })),
      1,
    );
    expect(reader.end).toMatchObject({ kind: "rejected", offset: 24 });
    expect(reader.reader.push(filling(10))).toBe(false);
  });

  test.each([
    ["16-byte record headers", {}, 16],
    ["nanoseconds", { magic: PcapMagic.nanoseconds }, 16],
    ["24-byte record headers", { magic: PcapMagic.modified }, 24],
    ["lengths in the other order", { minor: 2 }, 16],
  ] as const)("a tail of zeros is damage at its first byte: %s", (_, header, headerLength) => {
    const whole = pcap({ order, ...header }, [{ bytes: filling(5) }, { bytes: filling(6) }]);
    for (const zeros of [headerLength, headerLength + 1, 4096]) {
      const { end, packets } = readPackets(concatenated(whole, new Uint8Array(zeros)));
      expect(end).toEqual({
        kind: "damaged",
        packets: 2,
        offset: whole.length,
        reason: expect.stringContaining(`record header of ${headerLength} zero bytes`) as string,
      });
      expect(packets).toHaveLength(2);
    }
  });

  test("a capture of zeros behind its header is rejected there", () => {
    const { end } = readPackets(concatenated(pcapHeader({ order }), new Uint8Array(4096)));
    expect(end).toMatchObject({ kind: "rejected", offset: 24 });
  });

  test.each([
    ["a second", { seconds: 1 }],
    ["a fraction", { fraction: 1 }],
    ["an original length", { originalLength: 1 }],
    ["a byte", { bytes: filling(1) }],
  ])("a record of zeros but for %s is a packet", (_, record) => {
    const zeros = { seconds: 0, fraction: 0, bytes: new Uint8Array(0), ...record };
    expect(readPackets(pcap({ order }, [zeros, { bytes: filling(3) }])).end).toEqual({
      kind: "complete",
      packets: 2,
    });
  });

  test("what is cut is named with the bytes that are there and the bytes that are missing", () => {
    const whole = pcap({ order }, [{ bytes: filling(10) }, { bytes: filling(10) }]);
    expect(readPackets(whole.subarray(0, 24 + 26 + 7)).end).toEqual({
      kind: "damaged",
      packets: 1,
      offset: 50,
      reason: "pcap record header cut short: the capture ends after 7 of 16 bytes",
    });
    expect(readPackets(whole.subarray(0, 24 + 26 + 20)).end).toEqual({
      kind: "damaged",
      packets: 1,
      offset: 50,
      reason: "packet cut short: the capture ends after 20 of 26 bytes",
    });
    expect(readPackets(whole.subarray(0, 10)).end).toEqual({
      kind: "rejected",
      offset: 0,
      reason: "pcap file header cut short: the capture ends after 10 of 24 bytes",
    });
  });
});

describe.skipIf(!hasFaults)("an input of an earlier fault", () => {
  test("three packets and 4,096 zero bytes are three packets, damaged at byte 213", () => {
    const { end } = readPackets(new Uint8Array(readFileSync(fault("captures/zero-tail.pcap"))));
    expect(end).toMatchObject({ kind: "damaged", packets: 3, offset: 213 });
  });
});
