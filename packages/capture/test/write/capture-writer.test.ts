import { expect, test } from "vitest";
import { concatenated, filling } from "../../../../test/support/captures/capture-builder.ts";
import { readPackets } from "../../../../test/support/captures/read-packets.ts";
import {
  type CaptureWriter,
  type InterfaceToWrite,
  type PacketToWrite,
  PcapngWriter,
  PcapWriter,
} from "../../src/write/capture-writer.ts";

type Time = { readonly seconds: number; readonly nanoseconds: number };

function written(writer: CaptureWriter, times: readonly Time[]): Uint8Array {
  const packets = times.map((time, i) =>
    writer.packet({
      linkType: 1,
      interfaceId: 0,
      interfaceName: "eth0",
      packetComment: null,
      time,
      originalLength: 60,
      bytes: filling(60, i),
    }),
  );
  return concatenated(...packets);
}

test("pcapng holds every time that a table can, to the nanosecond and in the order of the packets", () => {
  const times: readonly Time[] = [
    { seconds: 1_767_225_600, nanoseconds: 1 },
    { seconds: -1, nanoseconds: 999_999_999 },
    { seconds: -2_208_988_800, nanoseconds: 0 },
    { seconds: 0, nanoseconds: 0 },
    { seconds: 2 ** 33, nanoseconds: 0 },
    { seconds: 10_413_791_999, nanoseconds: 999_999_999 },
    { seconds: 1_767_225_601, nanoseconds: 2 },
  ];
  const { packets } = readPackets(written(new PcapngWriter(), times));
  expect(packets.map(({ seconds, nanoseconds }) => ({ seconds, nanoseconds }))).toEqual(times);
  expect(packets.map(({ bytes }) => bytes)).toEqual(times.map((_, i) => filling(60, i)));
  expect(new Set(packets.map(({ interfaceName }) => interfaceName))).toEqual(new Set(["eth0"]));
});

test.each([-1, 2 ** 32])("pcap has no room for second %s, and says what has", (seconds) => {
  expect(() => written(new PcapWriter(), [{ seconds, nanoseconds: 0 }])).toThrow("write .pcapng");
});

const untimed: PacketToWrite = {
  linkType: 1,
  interfaceId: 0,
  interfaceName: "eth0",
  packetComment: null,
  time: null,
  originalLength: 60,
  bytes: filling(60),
};
const timed = { ...untimed, time: { seconds: 1, nanoseconds: 1 } };

function planned(changes: Partial<InterfaceToWrite>): InterfaceToWrite {
  const seconds = { firstSecond: null, lastSecond: null, hasNanoseconds: false, hasUntimed: true };
  return {
    ...seconds,
    sectionNumber: 1,
    linkType: 1,
    interfaceId: 0,
    interfaceName: "eth0",
    snapLength: 0,
    ...changes,
  };
}

test.each<[string, PacketToWrite, Partial<InterfaceToWrite>]>([
  ["the first interface", untimed, {}],
  ["another interface", { ...untimed, interfaceId: 3 }, { interfaceId: 3 }],
  ["a later section", { ...untimed, sectionNumber: 4 }, { sectionNumber: 4 }],
  ["an interface that cuts", { ...untimed, bytes: filling(5) }, { snapLength: 5 }],
  ["a cut that no interface makes", { ...untimed, bytes: filling(6) }, { snapLength: 5 }],
  ["a packet with a comment", { ...untimed, packetComment: "x" }, {}],
  ["more bytes than there were", { ...untimed, originalLength: 3 }, {}],
])("a packet without a time is the same again: %s", (_, packet, changes) => {
  const { packets } = readPackets(new PcapngWriter([planned(changes)]).packet(packet));
  const { linkType, interfaceId, interfaceName, packetComment, originalLength, bytes } = packet;
  expect(packets).toMatchObject([
    { linkType, interfaceId, interfaceName, packetComment, originalLength, hasTime: false },
  ]);
  expect([packets[0]?.sectionNumber, packets[0]?.bytes]).toEqual([packet.sectionNumber ?? 1, bytes]);
});

test("nanoseconds and no time on one interface: neither is lost, and there is a second interface of that name", () => {
  const writer = new PcapngWriter([
    planned({ interfaceId: 1, firstSecond: 1, lastSecond: 1, hasNanoseconds: true }),
  ]);
  const bytes = [timed, untimed].map((packet) => writer.packet({ ...packet, interfaceId: 1 }));
  const { packets } = readPackets(concatenated(...bytes));
  expect(packets.map(({ hasTime, interfaceName }) => [hasTime, interfaceName])).toEqual([
    [true, "eth0"],
    [false, "eth0"],
  ]);
  expect(packets[0]).toMatchObject({ seconds: 1, nanoseconds: 1, interfaceId: 1 });
});

test.each([
  ["of bytes that were no UTF-8", "\ufffd".repeat(60_000)],
  ["of several options", `${"x".repeat(65_535)}\n${"\ufffd".repeat(65_535)}\n${"y\n".repeat(40_000)}`],
])("a comment %s is the same again", (_, packetComment) => {
  const { packets } = readPackets(new PcapngWriter().packet({ ...timed, packetComment }));
  expect(packets[0]?.packetComment).toBe(packetComment);
});

test("a number of an interface or a section that no capture has makes no file of that size", () => {
  const writer = new PcapngWriter([planned({ interfaceId: 2 ** 31 - 1, sectionNumber: 2 ** 31 - 1 })]);
  const bytes = writer.packet({ ...timed, interfaceId: 2 ** 31 - 1, sectionNumber: 2 ** 31 - 1 });
  expect(bytes.length).toBeLessThan(1000);
});
