import { expect, test } from "vitest";
import { Bytes, concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { frameOf } from "../../../../test/support/captures/decode-rows.ts";
import {
  ethernet,
  extensionHeader,
  ipv4,
  ipv6,
  udp,
} from "../../../../test/support/captures/frame-builder.ts";
import {
  asamCmp,
  asamCmpMessage,
  canInUdp,
  canInUdpFrame,
  someip,
  tecmp,
  tecmpRecord,
} from "../../../../test/support/captures/vehicle-frame-builder.ts";
import { watchReads } from "../../../../test/support/captures/watched-bytes.ts";
import { PacketDecoder } from "../../src/decode/packet-decoder.ts";

function repeated(bytes: Uint8Array, count: number): Uint8Array {
  return concatenated(...new Array<Uint8Array>(count).fill(bytes));
}

const big = () => new Bytes("big-endian");
const tag = (value: number, type: number) => big().u16(value, type).build();

/** Packets that are `count` of one thing, one in or behind another; lengths of 16 bits are not to be relied on. */
const hostile: readonly [name: string, linkType: number, build: (count: number) => Uint8Array][] = [
  ["VLAN tags", 1, (count) => ethernet(0x8100, repeated(tag(1, 0x8100), count))],
  ["provider and old tags", 1, (count) => ethernet(0x88a8, repeated(tag(1, 0x9100), count))],
  ["MPLS labels", 1, (count) => ethernet(0x8847, repeated(big().u32(0x40).build(), count))],
  ["MetaData tags", 1, (count) => ethernet(0x8909, repeated(big().u32(0).u16(0, 0x8909).build(), count))],
  ["MACsec tags", 1, (count) => ethernet(0x88e5, repeated(big().u32(0).u16(0, 0x88e5).build(), count))],
  [
    "IPv6 extension headers",
    1,
    (count) =>
      ethernet(0x86dd, ipv6({ nextHeader: 60, payloadLength: 0 }, repeated(extensionHeader(60, 0), count))),
  ],
  [
    "SOME/IP messages",
    1,
    (count) =>
      ethernet(
        0x0800,
        ipv4({ protocol: 17, totalLength: 0 }, udp({ length: 0 }, repeated(someip({}), count))),
      ),
  ],
  [
    "SOME/IP messages that end in another byte",
    1,
    (count) =>
      ethernet(
        0x0800,
        ipv4(
          { protocol: 17, totalLength: 0 },
          udp({ length: 0 }, concatenated(repeated(someip({}), count), big().u8(0).build())),
        ),
      ),
  ],
  [
    "netfilter attributes",
    239,
    (count) => concatenated(big().u32(0x0200_0000).build(), repeated(new Bytes().u16(4, 1).build(), count)),
  ],
  [
    "TECMP records",
    1,
    (count) =>
      ethernet(0x99fe, tecmp({ dataType: 4 }, repeated(tecmpRecord({}, big().u8(0).build()), count))),
  ],
  [
    "TECMP records of Ethernet frames full of tags",
    1,
    (count) =>
      ethernet(
        0x99fe,
        tecmp(
          { dataType: 0x80 },
          repeated(tecmpRecord({}, ethernet(0x8100, repeated(tag(1, 0x8100), 16))), Math.ceil(count / 16)),
        ),
      ),
  ],
  [
    "ASAM CMP messages",
    1,
    (count) =>
      ethernet(0x99fe, asamCmp({}, repeated(asamCmpMessage({ payloadType: 3 }, big().build()), count))),
  ],
  [
    "CAN frames in UDP, more than the count says",
    1,
    (count) => {
      const frames = repeated(canInUdpFrame({ id: 1 }, new Uint8Array(8)), count);
      const datagram = udp({ destination: 11_898, length: 0 }, canInUdp([frames], 16));
      return ethernet(0x0800, ipv4({ protocol: 17, totalLength: 0 }, datagram));
    },
  ],
];

const READS_PER_BYTE = 4;
const READS_PER_PACKET = 100;

test.each(hostile)("ten thousand %s are decoded in steps linear in their bytes", (_, linkType, build) => {
  const few = workOf(build(1_000), linkType);
  const many = workOf(build(10_000), linkType);
  for (const { reads, outside, length } of [few, many]) {
    expect(outside).toEqual([]);
    expect(reads).toBeLessThanOrEqual(READS_PER_PACKET + READS_PER_BYTE * length);
  }
  expect(many.reads).toBeLessThanOrEqual(READS_PER_PACKET + 10.1 * few.reads);
});

test.each(hostile)("%s are read one by one, not skipped as a whole", (name, linkType, build) => {
  // The count of CAN frames in UDP is stated and small.
  if (name.startsWith("CAN frames")) return;
  expect(workOf(build(2_000), linkType).reads).toBeGreaterThan(workOf(build(1_000), linkType).reads);
});

function workOf(bytes: Uint8Array, linkType: number) {
  const frame = frameOf(bytes, { linkType });
  const count = watchReads(frame);
  new PacketDecoder(() => {}).decode(frame);
  return { ...count, length: bytes.length };
}
