import { describe, expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import {
  arp,
  data,
  ethernet,
  ipv4,
  ipv6,
  udp,
  vlanTag,
} from "../../../../test/support/captures/frame-builder.ts";
import { crc32 } from "../../src/decode/record/crc32.ts";
import { frameCheckLength } from "../../src/decode/record/frame-check.ts";

/** The frame check sequence of IEEE 802.3, as it stands on the wire. */
function fcsOf(frame: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, crc32(frame), true);
  return bytes;
}

/** What the frame's own bytes say, against either assumption. */
function found(frame: Uint8Array, length = frame.length): number[] {
  const bytes = concatenated(data(5), frame, data(9));
  return [0, 4].map((assumed) => frameCheckLength(bytes, 5, length, 5 + frame.length, assumed));
}

const padded = (frame: Uint8Array) => concatenated(frame, new Uint8Array(Math.max(0, 60 - frame.length)));

const frames: [string, Uint8Array][] = [
  ["IPv4", ethernet(0x0800, ipv4({ protocol: 17 }, udp({}, data(50))))],
  ["short IPv4", ethernet(0x0800, ipv4({ protocol: 17 }, udp({}, data(1))))],
  ["IPv6", ethernet(0x86dd, ipv6({ nextHeader: 17 }, udp({}, data(50))))],
  ["ARP", ethernet(0x0806, arp(1))],
  [
    "IPv4 in two tags",
    ethernet(
      0x88a8,
      vlanTag(
        { id: 1, type: 0x8100 },
        vlanTag({ id: 2, type: 0x0800 }, ipv4({ protocol: 17 }, udp({}, data(50)))),
      ),
    ),
  ],
];

describe("a frame check sequence", () => {
  describe.each(frames)("behind %s", (_, frame) => {
    test("is found by the protocol's own length, also where its value is wrong", () => {
      expect(found(concatenated(frame, data(4)))).toEqual([4, 4]);
      expect(found(concatenated(padded(frame), data(4)))).toEqual([4, 4]);
    });

    test("that the module left out is not found", () => {
      expect(found(frame)).toEqual([0, 0]);
      expect(found(padded(frame))).toEqual([0, 0]);
    });

    test("is found where the capture ends before it", () => {
      expect(found(frame, frame.length + 4)).toEqual([4, 4]);
    });
  });

  test("behind another protocol is found by the CRC, and assumed as the caller says where the CRC is wrong", () => {
    const frame = ethernet(0x88f7, data(60));
    expect(found(concatenated(frame, fcsOf(frame)))).toEqual([4, 4]);
    expect(found(concatenated(frame, data(4)))).toEqual([0, 4]);
  });

  test("behind IP with a trailer is found by the CRC, and not assumed where the CRC is wrong", () => {
    const frame = concatenated(ethernet(0x0800, ipv4({ protocol: 17 }, udp({}, data(80)))), data(7));
    expect(found(concatenated(frame, fcsOf(frame)))).toEqual([4, 4]);
    expect(found(concatenated(frame, data(4)))).toEqual([0, 0]);
  });

  test.each([0, 1, 13, 14, 17])("of a frame of %i bytes is as assumed", (length) => {
    expect(found(data(length))).toEqual([0, 4]);
  });
});
