import type { Random } from "../random.ts";
import { Bytes, concatenated } from "./capture-builder.ts";
import * as frames from "./frame-builder.ts";
import * as vehicle from "./vehicle-frame-builder.ts";

/** One packet of a kind of link. */
export interface RandomPacket {
  readonly linkType: number;
  readonly bytes: Uint8Array;
  readonly fcsLength: number;
  readonly originalLength: number;
}

const LONGEST = 4096;
/** What lengths and counts are most likely to be mishandled at. */
const edges = [0, 1, 2, 3, 4, 7, 8, 15, 16, 20, 0x3f, 0x40, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff];

/** A tree of headers, some of whose lengths and counts are lies. */
export function randomPacket(random: Random): RandomPacket {
  const { linkType, build } = random.pick(links);
  return withLengths(random, linkType, build(random).slice(0, LONGEST));
}

/** The packet with bytes changed, copied, cut out, cut off, added; now and then as another kind of link. */
export function mutatedPacket(random: Random, packet: RandomPacket): RandomPacket {
  let bytes: Uint8Array = packet.bytes.slice();
  for (let i = random.pick([1, 1, 2, 6]); i > 0; i--) bytes = random.pick(mutations)(random, bytes);
  return withLengths(random, random.chance(0.02) ? random.pick(links).linkType : packet.linkType, bytes);
}

function withLengths(random: Random, linkType: number, bytes: Uint8Array): RandomPacket {
  const cutOff = random.chance(0.2) ? random.below(1600) : 0;
  return {
    linkType,
    bytes,
    fcsLength: random.pick([-1, -1, 0, 4, 15]),
    originalLength: bytes.length + cutOff,
  };
}

type Build = (random: Random) => Uint8Array;
type Mutate = (random: Random, bytes: Uint8Array) => Uint8Array;

const mutations: readonly Mutate[] = [
  function changeByte(random, bytes) {
    if (bytes.length > 0)
      bytes[random.below(bytes.length)] = random.chance(0.5) ? random.pick(edges) : random.uint32();
    return bytes;
  },
  function changeLength(random, bytes) {
    if (bytes.length < 2) return bytes;
    const value = random.chance(0.5) ? random.pick(edges) : Math.max(0, bytes.length - random.below(80));
    new DataView(bytes.buffer).setUint16(random.below(bytes.length - 1), value, random.chance(0.2));
    return bytes;
  },
  function cutOff(random, bytes) {
    // Headers lie in front.
    const longest = random.chance(0.5) ? bytes.length : Math.min(bytes.length, 80);
    return bytes.slice(0, random.below(longest + 1));
  },
  function repeatSlice(random, bytes) {
    const from = random.below(bytes.length + 1);
    const slice = bytes.subarray(from, from + random.pick([4, 8, 8, 16, 40]));
    const copies = new Array<Uint8Array>(random.below(24)).fill(slice);
    return concatenated(bytes.subarray(0, from), ...copies, bytes.subarray(from)).slice(0, LONGEST);
  },
  function removeSlice(random, bytes) {
    const from = random.below(bytes.length + 1);
    return concatenated(bytes.subarray(0, from), bytes.subarray(from + random.below(24)));
  },
  function append(random, bytes) {
    return concatenated(bytes, random.bytes(random.below(48))).slice(0, LONGEST);
  },
];

/** The header, now and then with some of `fields` (each with its greatest value) set to what is not true. */
function lying<Header extends object, Field extends string>(
  random: Random,
  header: Header,
  fields: Record<Field, number>,
): Header & { [Name in Field]?: number } {
  const lies: { [Name in Field]?: number } = {};
  for (const [name, most] of Object.entries(fields) as [Field, number][]) {
    if (random.chance(0.1))
      lies[name] = random.chance(0.5) ? Math.min(most, random.pick(edges)) : random.below(most + 1);
  }
  return { ...header, ...lies };
}

const anything: Build = (random) => random.bytes(random.below(random.pick([4, 64, 300])));

/** Up to `most` of what `build` gives, one after another. */
function several(random: Random, most: number, build: Build): Uint8Array {
  return concatenated(...Array.from({ length: random.below(most + 1) }, () => build(random)));
}

/** Twice the same number as often as not: a port on both sides, a length said twice. */
const ports = (random: Random) => ({
  source: random.pick([319, 11_898, 13_400, 30_490, 40_000]),
  destination: random.pick([320, 11_898, 13_400, 30_490, 30_501, 40_001]),
});

const someip: Build = (random) => {
  const messageType = random.pick([0, 1, 2, 0x20, 0x22, 0x80, 0x81, 0xa0]);
  const returnCode = messageType < 0x80 ? 0 : random.below(0x5f);
  const header = lying(
    random,
    { messageType, returnCode },
    { length: 0xffff_ffff, protocolVersion: 255, returnCode: 255 },
  );
  return vehicle.someip(header, anything(random));
};
const doip: Build = (random) =>
  vehicle.doip(
    lying(
      random,
      { type: random.pick([0, 1, 4, 5, 6, 7, 8, 0x8001, 0x8001, 0x8001, 0x8002, 0x8003]) },
      { length: 0xffff_ffff, inverse: 255 },
    ),
    random.bytes(random.below(20)),
  );
const ptp: Build = (random) =>
  vehicle.ptp(
    lying(
      random,
      { type: random.below(16), sequence: random.below(65_536) },
      { version: 255, length: 65_535 },
    ),
  );
const canInUdp: Build = (random) => {
  const canFrame = () =>
    vehicle.canInUdpFrame(
      lying(
        random,
        { id: random.uint32(), extended: random.chance(0.5), remote: random.chance(0.2) },
        { length: 255 },
      ),
      random.bytes(random.below(9)),
    );
  const list = Array.from({ length: random.below(18) }, canFrame);
  return vehicle.canInUdp(
    list,
    random.chance(0.1) ? random.below(256) : list.length,
    random.chance(0.05) ? 2 : 1,
  );
};
const application: Build = (random) =>
  random.pick<Build>([anything, (r) => several(r, 6, someip), doip, ptp, canInUdp])(random);

/** An IP protocol number and what it announces. */
function transport(random: Random): [protocol: number, bytes: Uint8Array] {
  switch (random.below(6)) {
    case 0:
      return [6, frames.tcp(lying(random, ports(random), { headerWords: 15 }), application(random))];
    case 1:
      return [132, frames.sctp(ports(random), anything(random))];
    case 2:
      return [random.pick([1, 58]), frames.icmp(random.below(256), random.below(256), anything(random))];
    case 3:
      return [random.below(256), anything(random)];
    default:
      return [17, frames.udp(lying(random, ports(random), { length: 65_535 }), application(random))];
  }
}

const ipv4: Build = (random) => {
  const [protocol, bytes] = transport(random);
  const offset = random.chance(0.1) ? 8 * random.below(0x2000) : 0;
  return frames.ipv4(
    lying(
      random,
      { protocol, fragmentOffset: offset, moreFragments: random.chance(0.1) },
      { totalLength: 65_535, headerWords: 15, version: 15 },
    ),
    bytes,
  );
};
const ipv6: Build = (random) => {
  let [nextHeader, bytes] = transport(random);
  for (let i = random.pick([0, 0, 0, 1, 2, 9]); i > 0; i--) {
    if (random.chance(0.3)) {
      const offset = random.chance(0.3) ? 8 * random.below(0x2000) : 0;
      bytes = frames.fragmentHeader(
        { nextHeader, offset, more: random.chance(0.5), id: random.uint32() },
        bytes,
      );
      nextHeader = 44;
    } else {
      bytes = frames.extensionHeader(nextHeader, random.below(random.pick([1, 3, 256])), bytes);
      nextHeader = random.pick([0, 43, 51, 60, 135, 139, 140]);
    }
  }
  return frames.ipv6(lying(random, { nextHeader }, { payloadLength: 65_535, version: 15 }), bytes);
};

/** Data of a bus, or an Ethernet frame. */
const record: Build = (random) =>
  random.chance(0.3) ? ethernet(random) : random.bytes(random.pick([0, 1, 4, 5, 13, 16, 24, 80]));
const moduleHeader = (random: Random) =>
  lying(
    random,
    { time: BigInt(random.uint32()) << BigInt(random.below(32)), interfaceId: random.uint32() },
    {
      length: 65_535,
      flags: 65_535,
    },
  );
const tecmp: Build = (random) =>
  vehicle.tecmp(
    lying(
      random,
      { dataType: random.pick([2, 3, 4, 8, 0x80, 0x82, 0x20]) },
      { messageType: 255, device: 255 },
    ),
    several(random, 8, () => vehicle.tecmpRecord(moduleHeader(random), record(random))),
  );
const asamCmp: Build = (random) =>
  vehicle.asamCmp(
    lying(random, {}, { messageType: 255, device: 65_535 }),
    several(random, 8, () =>
      vehicle.asamCmpMessage({ ...moduleHeader(random), payloadType: random.below(10) }, record(random)),
    ),
  );

/** MPLS, MACsec, Cisco MetaData, PPPoE and network service headers, and what they lead to. */
const encapsulated: Build = (random) => {
  const big = new Bytes("big-endian");
  const [type, header] = random.pick([
    [0x8847, big.u32(...Array.from({ length: random.below(9) }, () => random.uint32() & ~0x100), 0x1ff)],
    [
      0x88e5,
      big
        .u8(random.pick([0, 0x20, 0x08, 0x04, 0x2c]), 0)
        .u32(1)
        .u16(0x0800),
    ],
    [0x8909, big.u8(1, 1).u32(0).u16(0x0800)],
    [0x8864, big.u8(0x11, 0).u16(1, random.below(2000), random.pick([0x0021, 0x0057, 0xc021]))],
    [0x894f, big.u8(0, random.below(8), 0, random.below(4)).u32(0)],
  ] as const);
  return concatenated(new Bytes("big-endian").u16(type).build(), header.build(), ip(random));
};
const ip: Build = (random) => (random.chance(0.6) ? ipv4(random) : ipv6(random));

/** An EtherType and what it announces, perhaps behind tags. */
const typed: Build = (random) => {
  const big = (type: number, bytes: Uint8Array) =>
    concatenated(new Bytes("big-endian").u16(type).build(), bytes);
  switch (random.below(random.chance(0.1) ? 12 : 10)) {
    case 0:
    case 1:
    case 2:
      return big(0x0800, ipv4(random));
    case 3:
      return big(0x86dd, ipv6(random));
    case 4:
      return big(random.pick([0x0806, 0x8035]), frames.arp(random.below(65_536)));
    case 5:
      return big(0x88f7, ptp(random));
    case 6:
      return big(random.pick([0x99fe, 0x2090]), tecmp(random));
    case 7:
      return big(0x99fe, asamCmp(random));
    case 8:
      return encapsulated(random);
    case 9:
      return big(random.pick([0x8100, 0x88a8, 0x9100]), concatenated(random.bytes(2), typed(random)));
    case 10:
      return big(random.below(0x600), random.bytes(random.below(80)));
    default:
      return big(random.below(65_536), anything(random));
  }
};
const ethernet: Build = (random) => concatenated(random.bytes(12), typed(random));

const cooked: Build = (random) => {
  const header = {
    protocol: random.pick([0x0800, 0x86dd, 0x000c, 0x000d, 0x0004, 12]),
    hardware: random.pick([1, 280, 778, 803, 824]),
  };
  return frames.sll(header, random.pick<Build>([ipv4, ipv6, can, netlink])(random));
};
const can: Build = (random) => {
  const payload = random.bytes(random.pick([0, 1, 8, 8, 64, 300]));
  const length = random.chance(0.2) ? random.below(256) : payload.length & 0xff;
  return random.chance(0.3)
    ? vehicle.canXl(random.uint32(), payload, random.chance(0.2) ? random.below(65_536) : payload.length)
    : vehicle.can(random.uint32(), payload, length);
};
/** Attributes of netfilter (length and type little endian), one of them a packet. */
const nflog: Build = (random) => {
  const attribute: Build = () => {
    const payload = random.chance(0.3) ? ip(random) : random.bytes(4 * random.below(5));
    const length = random.chance(0.1) ? random.pick(edges) : 4 + payload.length;
    return concatenated(new Bytes().u16(length, random.below(11)).build(), payload);
  };
  return concatenated(
    new Bytes().u8(random.pick([2, 10, 7]), 0, 0, 0).build(),
    several(random, 8, attribute),
  );
};
const netlink: Build = (random) =>
  concatenated(
    new Bytes()
      .u32(0)
      .u8(0, random.pick([3, 4]))
      .raw(random.bytes(10))
      .build(),
    nflog(random),
  );

const links: readonly { readonly linkType: number; readonly build: Build }[] = [
  ...Array.from({ length: 12 }, () => ({ linkType: 1, build: ethernet })),
  { linkType: 113, build: cooked },
  { linkType: 276, build: (random) => concatenated(random.bytes(20), ip(random)) },
  { linkType: 227, build: can },
  { linkType: 239, build: nflog },
  { linkType: 253, build: netlink },
  ...[12, 101, 106, 228, 229].map((linkType) => ({ linkType, build: ip })),
  {
    linkType: 0,
    build: (random) => concatenated(new Bytes().u32(random.pick([2, 10, 30])).build(), ip(random)),
  },
  { linkType: 9, build: (random) => concatenated(Uint8Array.of(0, random.pick([0x21, 0x57])), ip(random)) },
  {
    linkType: 242,
    build: (random) => concatenated(random.bytes(40), Uint8Array.of(8, 0, 0, 0), ipv4(random)),
  },
  { linkType: 212, build: (random) => vehicle.lin(random.bytes(random.below(12)), random.below(16)) },
  { linkType: 210, build: (random) => vehicle.flexRay(random.bytes(random.below(64)), random.below(128)) },
  // 802.11 with and without radiotap, PPP over Ethernet, Cisco HDLC, ATM, and one that no decoder knows.
  ...[105, 127, 51, 104, 100, 123, 147].map((linkType) => ({ linkType, build: ethernet })),
];
