import { expect, test } from "vitest";
import { type CaptureWriter, PcapngWriter, PcapWriter } from "../../src/capture/capture-writer.ts";
import { concatenated, filling } from "../support/capture-builder.ts";
import { readPackets } from "../support/read-packets.ts";

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
    { seconds: -62_135_596_800, nanoseconds: 0 },
    { seconds: 0, nanoseconds: 0 },
    { seconds: 2 ** 34 - 1, nanoseconds: 999_999_999 },
    { seconds: 2 ** 34, nanoseconds: 0 },
    { seconds: 253_402_300_799, nanoseconds: 999_999_999 },
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
