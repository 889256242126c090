import { describe, expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import {
  decoded,
  decodedRecords,
  frameOf,
  type Row,
  rowOf,
} from "../../../../test/support/captures/decode-rows.ts";
import {
  arp,
  data,
  ethernet,
  extensionHeader,
  fragmentHeader,
  icmp,
  ipv4,
  ipv6,
  sctp,
  sll,
  snap,
  tcp,
  udp,
  vlanTag,
} from "../../../../test/support/captures/frame-builder.ts";
import {
  asamCmp,
  asamCmpCan,
  asamCmpMessage,
  can,
  canFd,
  canInUdp,
  canInUdpFrame,
  canXl,
  diagnostic,
  flexRay,
  lin,
  ptp,
  someip,
  tecmp,
  tecmpCan,
  tecmpRecord,
} from "../../../../test/support/captures/vehicle-frame-builder.ts";
import { PacketDecoder } from "../../src/decode/packet-decoder.ts";
import { Frame } from "../../src/read/frame.ts";

test("the packet's own row has what the frame says of itself", () => {
  const frame = frameOf(data(20), { linkType: 9, originalLength: 1500, packetComment: "a comment" });
  Object.assign(frame, { packetNumber: 7, sectionNumber: 2, interfaceId: 3, interfaceName: "eth1" });
  Object.assign(frame, { seconds: -5, nanoseconds: 999_999_999 });
  const rows: unknown[] = [];
  new PacketDecoder((record) => rows.push({ ...record })).decode(frame);
  expect(rows).toMatchObject([
    {
      packetNumber: 7,
      recordNumber: -1,
      hasTime: true,
      seconds: -5,
      nanoseconds: 999_999_999,
      sectionNumber: 2,
      interfaceId: 3,
      interfaceName: "eth1",
      packetComment: "a comment",
      linkType: 9,
      capturedLength: 20,
      originalLength: 1500,
      bytes: frame.bytes,
      frameOffset: 7,
      frameLength: 20,
    },
  ]);
});

test("an empty frame is a row", () => {
  expect(decodedRecords(data(0))).toMatchObject([{ frameLength: 0, capturedLength: 0, decodeStatus: 1 }]);
});

describe("frame check sequence", () => {
  const frame = concatenated(ethernet(0x88b5, data(46)), data(4));

  test("where the file says how long it is, it is no payload", () => {
    expect(decoded(frame, { fcsLength: 4 })).toMatchObject({ payloadLength: 46, decodeStatus: "ok" });
    expect(decoded(frame, { fcsLength: 0 })).toMatchObject({ payloadLength: 50 });
    expect(decoded(frame, { fcsLength: -1 })).toMatchObject({ payloadLength: 50 });
  });

  test("of one that the snap length cut off in part, what is left is no payload either", () => {
    const options = { fcsLength: 4, originalLength: frame.length };
    expect(decoded(frame.subarray(0, frame.length - 1), options)).toMatchObject({ payloadLength: 46 });
    expect(decoded(frame.subarray(0, frame.length - 5), options)).toMatchObject({ payloadLength: 45 });
  });

  test("the stored frame has it", () => {
    expect(decodedRecords(frame, { fcsLength: 4 })).toMatchObject([{ frameLength: frame.length }]);
  });

  test("a header that ends in it is truncated", () => {
    const short = ethernet(0x0800, ipv4({ protocol: 17 }, udp({})));
    expect(decoded(short, { fcsLength: 4 })).toMatchObject({ ipProtocol: 17, decodeStatus: "truncated" });
    expect(decoded(data(3), { fcsLength: 4 })).toEqual({ decodeStatus: "truncated" });
  });
});

/** Frames whose every byte but the payload is of a header that the table decodes, and the length of those headers. */
const frames: readonly [name: string, linkType: number, frame: Uint8Array, payload: number][] = [
  ["ARP behind VLAN", 1, ethernet(0x8100, vlanTag({ id: 5, type: 0x0806 }, arp(1))), 0],
  ["SNAP", 1, ethernet(8 + 28, snap(0x0806, arp(1))), 0],
  [
    "TCP with options",
    1,
    ethernet(0x0800, ipv4({ protocol: 6, headerWords: 7 }, tcp({ headerWords: 9 }, data(4)))),
    4,
  ],
  ["UDP", 1, ethernet(0x0800, ipv4({ protocol: 17 }, udp({}, data(4)))), 4],
  ["SCTP", 1, ethernet(0x0800, ipv4({ protocol: 132 }, sctp({}, data(4)))), 4],
  ["ICMP", 1, ethernet(0x0800, ipv4({ protocol: 1 }, icmp(8, 0, data(4)))), 4],
  [
    "IPv6 with extensions",
    1,
    ethernet(
      0x86dd,
      ipv6(
        { nextHeader: 0 },
        extensionHeader(44, 1, fragmentHeader({ nextHeader: 17, offset: 0, more: true, id: 1 }, udp({}))),
      ),
    ),
    0,
  ],
  ["MPLS", 1, ethernet(0x8847, concatenated(Uint8Array.of(0, 0, 1, 9), ipv4({ protocol: 17 }, udp({})))), 0],
  ["gPTP", 1, ethernet(0x88f7, ptp({ type: 0, sequence: 1 })), 10],
  [
    "DoIP",
    1,
    ethernet(0x0800, ipv4({ protocol: 6 }, tcp({ destination: 13_400 }, diagnostic(1, 2, 0x22)))),
    1,
  ],
  ["TECMP", 1, ethernet(0x2090, tecmp({ dataType: 2, messageType: 1 }, data(4))), 4],
  ["ASAM CMP", 1, ethernet(0x99fe, asamCmp({ messageType: 3 }, data(4))), 4],
  ["Linux cooked", 113, sll({ protocol: 0x0800 }, ipv4({ protocol: 17 }, udp({}))), 0],
  ["CAN", 227, can(0x123, data(8)), 0],
  ["CAN FD", 227, canFd(0x123, data(64)), 0],
  ["CAN XL", 227, canXl(0x123, data(64)), 0],
  ["LIN", 212, lin(data(8)), 8],
  ["FlexRay", 210, flexRay(data(8)), 8],
];

/** Where a cut leaves something that is whole: an empty TCP segment, before DoIP; LLC that is not SNAP yet. */
const wholeWhenCut: Readonly<Record<string, readonly number[]>> = { DoIP: [54, 55], SNAP: [14, 15] };

test.each(frames)(
  "%s, cut at every byte: truncated in its headers, ok behind them",
  (name, linkType, frame, payload) => {
    for (let length = 0; length <= frame.length; length++) {
      const row = decoded(frame.subarray(0, length), { linkType, originalLength: frame.length });
      const isWhole = length >= frame.length - payload || wholeWhenCut[name]?.includes(length) === true;
      expect([length, row.decodeStatus]).toEqual([length, isWhole ? "ok" : "truncated"]);
    }
  },
);

test.each(frames)("%s: a cut takes values away and changes none", (_, linkType, frame) => {
  const whole = decoded(frame, { linkType });
  for (let length = 0; length < frame.length; length++) {
    const row = decoded(frame.subarray(0, length), { linkType, originalLength: frame.length });
    expect({ ...whole, ...withoutEnd(row) }).toEqual({ ...whole, ...lastType(row) });
  }
});

/** The payload's place and the status are what a cut is about. */
function withoutEnd({ payloadOffset: _, payloadLength: __, decodeStatus: ___, ...row }: Row): Row {
  return row;
}

/** A cut in a tag leaves the tag's type; a cut in extension headers the last one's. */
function lastType(row: Row): Row {
  const types: Row = {};
  for (const name of ["ethType", "ipProtocol"]) if (row[name] !== undefined) types[name] = row[name];
  return types;
}

test("no value of a packet is left in the next one", () => {
  const can1 = canInUdpFrame({ id: 1 }, data(8));
  const rich: [number, Uint8Array][] = [
    ...frames.map(([, linkType, frame]): [number, Uint8Array] => [linkType, frame]),
    [1, ethernet(0x0800, ipv4({ protocol: 17 }, udp({}, someip({}, data(4)))))],
    [1, ethernet(0x0800, ipv4({ protocol: 17 }, udp({ destination: 11_898 }, canInUdp([can1, can1]))))],
    [1, ethernet(0x99fe, tecmp({ dataType: 2 }, tecmpRecord({}, tecmpCan(1, data(8)))))],
    [1, ethernet(0x99fe, asamCmp({}, asamCmpMessage({ payloadType: 1 }, asamCmpCan({ id: 1 }, data(8)))))],
  ];
  const alone = rich.map(([linkType, frame]) => decodedRecords(frame, { linkType }).map(rowOf));
  const together: Row[] = [];
  const decoder = new PacketDecoder((record) => together.push(rowOf(record)));
  for (const [linkType, frame] of [...rich, ...rich.toReversed()])
    decoder.decode(frameOf(frame, { linkType }));
  expect(together).toEqual([...alone, ...alone.toReversed()].flat());
});

test("one record is reused for all rows", () => {
  const seen = new Set<unknown>();
  const decoder = new PacketDecoder((record) => seen.add(record));
  decoder.decode(frameOf(ethernet(0x0806, arp(1))));
  decoder.decode(new Frame());
  expect(seen.size).toBe(1);
});
