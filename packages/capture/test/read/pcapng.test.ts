import { describe, expect, test } from "vitest";
import {
  Bytes,
  byteOrders,
  comment,
  concatenated,
  filling,
  type InterfaceDescription,
  PcapngBlocks,
} from "../../../../test/support/captures/capture-builder.ts";
import { readPackets } from "../../../../test/support/captures/read-packets.ts";

describe.each(byteOrders)("pcapng, %s", (order) => {
  const blocks = new PcapngBlocks(order);
  const header = blocks.sectionHeader();
  const ethernet = blocks.interfaceDescription();
  const packet = blocks.enhancedPacket({ bytes: filling(6) });
  const first = header.length + ethernet.length;

  test("an Enhanced Packet Block comes with its interface, section, comment, lengths and time", () => {
    const { end, packets } = readPackets(
      concatenated(
        header,
        blocks.interfaceDescription({ name: "lo" }),
        blocks.interfaceDescription({ name: "can0", linkType: 227, fcsLength: 2 }),
        blocks.enhancedPacket({
          interfaceId: 1,
          time: 1_700_000_000_123_456n,
          bytes: filling(5),
          originalLength: 99,
          options: [[4, new Uint8Array(8)], comment("größer"), comment("zweite")],
        }),
      ),
    );
    expect(end).toEqual({ kind: "complete", packets: 1 });
    expect(packets).toEqual([
      {
        packetNumber: 1,
        sectionNumber: 1,
        interfaceId: 1,
        interfaceName: "can0",
        packetComment: "größer\nzweite",
        linkType: 227,
        bigEndian: order === "big-endian",
        fcsLength: 2,
        capturedLength: 5,
        originalLength: 99,
        hasTime: true,
        seconds: 1_700_000_000,
        nanoseconds: 123_456_000,
        bytes: filling(5),
      },
    ]);
  });

  test("an obsolete Packet Block has a 16-bit interface and its options", () => {
    const old = blocks.oldPacket({ time: 2_000_001n, bytes: filling(7), options: [comment("old")] });
    const { packets } = readPackets(concatenated(header, ethernet, old));
    expect(packets[0]).toMatchObject({
      interfaceId: 0,
      packetComment: "old",
      seconds: 2,
      nanoseconds: 1000,
      bytes: filling(7),
    });
  });

  test("a Simple Packet Block is on the first interface, without time, name or comment of a packet before", () => {
    const { packets } = readPackets(
      concatenated(
        header,
        blocks.interfaceDescription({ linkType: 228 }),
        blocks.interfaceDescription({ name: "b" }),
        blocks.enhancedPacket({ interfaceId: 1, time: 5n, bytes: filling(1), options: [comment("c")] }),
        blocks.simplePacket(filling(10), 30),
      ),
    );
    expect(packets[1]).toMatchObject({
      interfaceId: 0,
      interfaceName: null,
      packetComment: null,
      linkType: 228,
      hasTime: false,
      originalLength: 30,
    });
  });

  test.each([
    { snapLength: 0, bytes: 12, original: 12, captured: 12 },
    { snapLength: 0, bytes: 12, original: 40, captured: 12 },
    { snapLength: 5, bytes: 5, original: 40, captured: 5 },
    { snapLength: 64, bytes: 7, original: 7, captured: 7 },
  ])(
    "a Simple Packet Block's captured length is the least of the three: %o",
    ({ snapLength, bytes, original, captured }) => {
      const description = blocks.interfaceDescription({ snapLength });
      const { packets } = readPackets(
        concatenated(header, description, blocks.simplePacket(filling(bytes), original)),
      );
      expect(packets[0]).toMatchObject({ capturedLength: captured, originalLength: original });
      expect(packets[0]?.bytes).toEqual(filling(captured));
    },
  );

  test("statistics, names, secrets, custom and unknown blocks are skipped", () => {
    const { end } = readPackets(
      concatenated(
        header,
        blocks.nameResolution(),
        ethernet,
        blocks.interfaceStatistics(),
        packet,
        blocks.decryptionSecrets(filling(33)),
        blocks.customBlock(filling(8)),
        blocks.customBlock(filling(8), false),
        blocks.block(0x0a0d0a00, filling(4)),
        blocks.block(0x80000001, filling(4)),
        packet,
      ),
    );
    expect(end).toEqual({ kind: "complete", packets: 2 });
  });

  test("a skipped block of 64 MiB is never held", () => {
    const reader = readPackets(concatenated(header, ethernet, packet)).reader;
    const length = 64 * 1024 * 1024;
    const chunk = new Uint8Array(65_536);
    reader.push(new Bytes(order).u32(0x77, length + 12).build());
    for (let i = 0; i < length / chunk.length; i++) reader.push(chunk);
    reader.push(new Bytes(order).u32(length + 12).build());
    reader.push(packet);
    expect(reader.finish()).toEqual({ kind: "complete", packets: 2 });
    expect(reader.copiedBytes).toBeLessThan(100);
  });

  test("a skipped block that claims 4 GB is cut short where the input ends", () => {
    const claim = new Bytes(order).u32(0x77, 0xffffffff).raw(filling(50)).build();
    expect(readPackets(concatenated(header, ethernet, packet, claim)).end).toEqual({
      kind: "damaged",
      packets: 1,
      offset: first + packet.length,
      reason: "pcapng block cut short: the capture ends before its 4294967296 bytes do",
    });
  });

  const times: [string, InterfaceDescription, bigint, number, number][] = [
    ["default", {}, 1_500_000n, 1, 500_000_000],
    ["10^0", { tsresol: 0 }, 77n, 77, 0],
    ["10^-3", { tsresol: 3 }, 1_234n, 1, 234_000_000],
    ["10^-9", { tsresol: 9 }, 1_700_000_000_123_456_789n, 1_700_000_000, 123_456_789],
    ["10^-12 is floored", { tsresol: 12 }, 7_000_000_001_999n, 7, 1],
    ["10^-19", { tsresol: 19 }, 15_000_000_000_000_000_000n, 1, 500_000_000],
    ["10^-127 is all zero", { tsresol: 127 }, 0xffff_ffff_ffff_ffffn, 0, 0],
    ["2^-8", { tsresol: 0x88 }, 0x1234_80n, 0x1234, 500_000_000],
    ["2^-32", { tsresol: 0xa0 }, 0x6553_f100_4000_0000n, 0x6553_f100, 250_000_000],
    ["2^0", { tsresol: 0x80 }, 12n, 12, 0],
    ["2^-127", { tsresol: 0xff }, 0xffff_ffff_ffff_ffffn, 0, 0],
    ["offset", { tsoffset: 1000n }, 1_000_000n, 1001, 0],
    ["negative offset", { tsoffset: -2n }, 1_500_000n, -1, 500_000_000],
    ["year 1900", { tsoffset: -2_208_988_800n }, 0n, -2_208_988_800, 0],
    ["end of year 2299", { tsresol: 0 }, 10_413_791_999n, 10_413_791_999, 0],
    ["top bit set", { tsresol: 9 }, 0x8000_0000_0000_0000n, 9_223_372_036, 854_775_808],
  ];
  test.each(times)("time: %s", (_name, description, time, seconds, nanoseconds) => {
    const { packets } = readPackets(
      concatenated(header, blocks.interfaceDescription(description), blocks.enhancedPacket({ time })),
    );
    expect(packets[0]).toMatchObject({ hasTime: true, seconds, nanoseconds });
  });

  test.each<[string, InterfaceDescription, bigint]>([
    ["the year 2300", { tsresol: 0 }, 10_413_792_000n],
    ["before the year 1900", { tsoffset: -2_208_988_801n }, 0n],
    ["all bits set, of nanoseconds", { tsresol: 9 }, 0xffff_ffff_ffff_ffffn],
    ["the greatest offset", { tsoffset: 0x7fff_ffff_ffff_ffffn }, 0n],
    ["the least offset", { tsoffset: -0x8000_0000_0000_0000n }, 0n],
    ["2^64 seconds", { tsresol: 0 }, 0xffff_ffff_ffff_ffffn],
  ])("a time outside the years 1900 to 2299 is no time: %s", (_name, description, time) => {
    const { packets } = readPackets(
      concatenated(header, blocks.interfaceDescription(description), blocks.enhancedPacket({ time })),
    );
    expect(packets[0]?.hasTime).toBe(false);
  });

  test("options of a wrong length are left out", () => {
    const description = blocks.interfaceDescription({
      options: [
        [9, Uint8Array.of(9, 9)],
        [14, filling(4)],
        [13, filling(2)],
      ],
    });
    const flags = blocks.enhancedPacket({ time: 1_000_000n, options: [[2, filling(2)]] });
    expect(readPackets(concatenated(header, description, flags)).packets[0]).toMatchObject({
      seconds: 1,
      nanoseconds: 0,
      fcsLength: -1,
    });
  });

  test("packet flags override the interface's FCS length, unless they say that it is unknown", () => {
    const description = blocks.interfaceDescription({ fcsLength: 2 });
    const flags = (value: number) =>
      blocks.enhancedPacket({ options: [[2, new Bytes(order).u32(value).build()]] });
    const { packets } = readPackets(concatenated(header, description, flags(4 << 5), flags(1)));
    expect(packets.map((each) => each.fcsLength)).toEqual([4, 2]);
  });

  test("the first of two names counts", () => {
    const names = blocks.interfaceDescription({ name: "b", options: [[2, Uint8Array.of(0x61)]] });
    expect(readPackets(concatenated(header, names, packet)).packets[0]?.interfaceName).toBe("a");
  });

  test("a name ends at a NUL, and bytes that are no UTF-8 are replaced", () => {
    const named = (name: number[]) => blocks.interfaceDescription({ options: [[2, Uint8Array.from(name)]] });
    const { packets } = readPackets(
      concatenated(
        header,
        named([0x61, 0x62, 0, 0x63]),
        named([0xff, 0x61]),
        named([]),
        ...[0, 1, 2].map((interfaceId) => blocks.enhancedPacket({ interfaceId })),
      ),
    );
    expect(packets.map((each) => each.interfaceName)).toEqual(["ab", "\ufffda", ""]);
  });

  test("options may end without opt_endofopt, and what follows it is ignored", () => {
    const open = new Bytes(order).u32(0, 0, 0, 0, 0).u16(1, 1).raw([0x78, 0, 0, 0]).build();
    const trailing = new Bytes(order).u32(0, 0, 0, 0, 0).u16(0, 0, 1, 60_000).build();
    const { end, packets } = readPackets(
      concatenated(header, ethernet, blocks.block(6, open), blocks.block(6, trailing)),
    );
    expect(end).toEqual({ kind: "complete", packets: 2 });
    expect(packets.map((each) => each.packetComment)).toEqual(["x", null]);
  });

  test("sections restart interfaces and count on, packets are numbered through", () => {
    const other = new PcapngBlocks(order === "big-endian" ? "little-endian" : "big-endian");
    const { packets } = readPackets(
      concatenated(
        header,
        blocks.interfaceDescription({ linkType: 10 }),
        packet,
        other.sectionHeader([], 1, 2, 4n),
        other.interfaceDescription({ linkType: 11 }),
        other.enhancedPacket({ bytes: filling(2) }),
        header,
        ethernet,
        packet,
      ),
    );
    expect(packets.map((each) => [each.packetNumber, each.sectionNumber, each.linkType])).toEqual([
      [1, 1, 10],
      [2, 2, 11],
      [3, 3, 1],
    ]);
  });

  test("block lengths without the padding are read, as Wireshark does", () => {
    const body = new Bytes(order).u32(0, 0, 0, 5, 5).raw(filling(5)).build();
    for (const trailer of [37, 40]) {
      const { end, packets } = readPackets(
        concatenated(header, ethernet, blocks.block(6, body, 37, trailer), packet),
      );
      expect(end).toEqual({ kind: "complete", packets: 2 });
      expect(packets[0]?.bytes).toEqual(filling(5));
    }
  });

  const broken: [string, Uint8Array, string][] = [
    [
      "a trailer of another length",
      blocks.block(6, new Uint8Array(24), 36, 40),
      "disagree: 36 before the body, 40",
    ],
    [
      "a skipped block's trailer",
      blocks.block(9, new Uint8Array(24), 36, 32),
      "disagree: 36 before the body, 32",
    ],
    ["length 0", blocks.block(6, new Uint8Array(24), 0), "total length 0: the shortest has 12"],
    ["length 8", blocks.block(0x99, new Uint8Array(24), 8), "total length 8: the shortest has 12"],
    ["zeros behind the end", new Uint8Array(64), "block of type 0 with total length 0"],
    [
      "an interface not described",
      blocks.enhancedPacket({ interfaceId: 1 }),
      "interface 1: section 1 has described 1",
    ],
    [
      "more captured than the block holds",
      blocks.enhancedPacket({ bytes: filling(8), capturedLength: 9 }),
      "claims 9 captured bytes in a block of 40",
    ],
    [
      "more captured than any packet has",
      blocks.enhancedPacket({ bytes: filling(8), capturedLength: 262_145 }),
      "more than the 262144 of link type 1",
    ],
    ["a short packet block", blocks.block(6, filling(12)), "packet block of 24 bytes: the shortest has 32"],
    [
      "a short simple packet block",
      blocks.block(3, filling(0)),
      "simple packet block of 12 bytes: the shortest has 16",
    ],
    ["a short interface description", blocks.block(1, filling(4)), "interface description of 16 bytes"],
    [
      "an option longer than its block",
      blocks.block(6, new Bytes(order).u32(0, 0, 0, 0, 0).u16(1, 5).u32(0).build()),
      "option 1 claims 5 bytes, and 4 are left",
    ],
    ["a section of another major version", blocks.sectionHeader([], 2), "section of version 2.0: only 1.x"],
    ["a section without byte-order magic", blocks.block(0x0a0d0d0a, filling(16)), "byte-order magic 0x"],
    [
      "a section that is too short",
      blocks.block(0x0a0d0d0a, new Bytes(order).u32(0x1a2b3c4d).u16(1, 0).build()),
      "section header of 20 bytes",
    ],
  ];
  test.each(broken)("%s ends reading, and the packets before are kept", (_name, block, reason) => {
    const { end } = readPackets(concatenated(header, ethernet, packet, block, packet));
    expect(end).toEqual({
      kind: "damaged",
      packets: 1,
      offset: first + packet.length,
      reason: expect.stringContaining(reason),
    });
  });

  test("damage before the first packet rejects the capture", () => {
    expect(readPackets(concatenated(header, packet)).end).toMatchObject({
      kind: "rejected",
      offset: header.length,
      reason: "pcapng packet on interface 0: section 1 has described 0 so far",
    });
    expect(readPackets(blocks.sectionHeader([], 2)).end).toMatchObject({ kind: "rejected", offset: 0 });
  });

  test("limits are named with their value", () => {
    const comments = Array.from({ length: 20 }, () => comment("x".repeat(60_000)));
    expect(
      readPackets(concatenated(header, ethernet, blocks.enhancedPacket({ options: comments }))).end,
    ).toMatchObject({
      reason: "pcapng block has 1200084 bytes of options: at most 1048576 are read (limit optionBytes)",
    });
    expect(
      readPackets(concatenated(header, ethernet, ethernet, ethernet), 64, { interfaces: 2 }).end,
    ).toMatchObject({
      offset: header.length + 2 * ethernet.length,
      reason: "pcapng section 1 describes more than 2 interfaces (limit interfaces)",
    });
    const named = blocks.interfaceDescription({ name: "n".repeat(60) });
    expect(
      readPackets(concatenated(header, named, named), 64, { interfaceNameBytes: 100 }).end,
    ).toMatchObject({
      offset: header.length + named.length,
      reason: "pcapng section 1 has more than 100 bytes of interface names (limit interfaceNameBytes)",
    });
  });
});
