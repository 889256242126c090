import { type ByteOrder, Bytes, concatenated } from "./capture-builder.ts";
import { data, ethernet, ipv4, ipv6, sll, snap, udp, vlanTag } from "./frame-builder.ts";

const big = () => new Bytes("big-endian");
const little = () => new Bytes("little-endian");
const datagram = udp({ source: 1111, destination: 2222 }, data(5));

export const innerIpv4 = ipv4({ protocol: 17 }, datagram);
const innerIpv6 = ipv6({ nextHeader: 17 }, datagram);
const frame = ethernet(0x0800, innerIpv4);

const with4 = (...header: number[]) => concatenated(Uint8Array.from(header), innerIpv4);
const with6 = (...header: number[]) => concatenated(Uint8Array.from(header), innerIpv6);
const addresses = Array.from(frame.subarray(0, 12));

/** PPI: length of the whole header, link type; `fields` lie in it. */
const ppi = (fields: Uint8Array, linkType: number, inner: Uint8Array) =>
  concatenated(
    little()
      .u8(0, 0)
      .u16(8 + fields.length)
      .u32(linkType)
      .raw(fields)
      .build(),
    inner,
  );
/** A spectrum map field without a sample. */
const ppiField = little().u16(5, 8).raw(new Uint8Array(8)).build();
const pktap = (linkType: number, inner: Uint8Array) =>
  concatenated(little().u32(108, 1, linkType).raw(new Uint8Array(96)).build(), inner);
const ipnet = (family: number, inner: Uint8Array) =>
  concatenated(big().u8(1, family).u16(1).u32(inner.length, 1, 1, 0, 0).build(), inner);

function nflog(family: number, inner: Uint8Array, order: ByteOrder = "little-endian"): Uint8Array {
  return concatenated(
    big().u8(family, 0).u16(0).build(),
    // NFULA_PACKET_HDR: the EtherType, the hook.
    new Bytes(order)
      .u16(8, 1)
      .raw(family === 2 ? [8, 0, 1, 0] : [0x86, 0xdd, 1, 0])
      .build(),
    new Bytes(order).u16(4 + inner.length, 9).build(),
    inner,
    new Uint8Array(-inner.length & 3),
  );
}

const tagged = (type: number, tag: readonly number[], inner: Uint8Array) =>
  ethernet(type, concatenated(Uint8Array.from(tag), inner));
const eTag = [0x00, 0x10, 0x00, 0x20, 0, 0];
const toIp = (type: number, inner: Uint8Array) => concatenated(big().u16(type).build(), inner);

/** Outer headers that lead to one datagram from 10.0.0.1 or fd00::1, port 1111: every packet must show it. */
export const linkTypeCaptures = [
  { name: "ppi.pcap", linkType: 192, packets: [ppi(data(0), 1, frame), ppi(ppiField, 1, frame)] },
  { name: "pktap.pcap", linkType: 258, packets: [pktap(1, frame), pktap(101, innerIpv6)] },
  { name: "ipnet.pcap", linkType: 226, packets: [ipnet(2, innerIpv4), ipnet(26, innerIpv6)] },
  {
    name: "tags.pcap",
    linkType: 1,
    packets: [
      tagged(0x893f, eTag, toIp(0x0800, innerIpv4)),
      tagged(0x893f, eTag, toIp(0x8100, vlanTag({ id: 5, type: 0x0800 }, innerIpv4))),
      tagged(0x8926, [0x80, 1, 0, 2], toIp(0x0800, innerIpv4)),
      // Cisco FabricPath: its own addresses, then the frame.
      concatenated(Uint8Array.of(2, 0, 1, 2, 3, 0, 2, 0, 4, 5, 6, 0, 0x89, 0x03, 0, 0x50), frame),
    ],
  },
  {
    name: "ppp-hdlc.pcap",
    linkType: 50,
    packets: [
      with4(0xff, 3, 0, 0x21),
      with4(0x0f, 0, 8, 0),
      with4(0x8f, 0, 8, 0),
      with4(0x21),
      with6(0xff, 3, 0, 0x57),
      with4(0xff, 3, 0x02, 0x81, 0, 0, 0x11, 0x40),
    ],
  },
  {
    name: "frame-relay.pcap",
    linkType: 107,
    packets: [
      with4(0x18, 0x41, 3, 0xcc),
      with6(0x18, 0x41, 3, 0x8e),
      with4(0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0),
      with4(0x18, 0x41, 8, 0),
      with4(0x18, 0x40, 8, 1, 3, 0xcc),
      concatenated(Uint8Array.of(0x18, 0x41, 3, 0, 0x80, 0, 0x80, 0xc2, 0, 7), frame),
    ],
  },
  {
    name: "fddi.pcap",
    linkType: 10,
    packets: [
      concatenated(Uint8Array.of(0x50, ...addresses), snap(0x0800, innerIpv4)),
      concatenated(Uint8Array.of(0x57, ...addresses), snap(0x86dd, innerIpv6)),
    ],
  },
  {
    name: "arcnet.pcap",
    linkType: 7,
    packets: [
      with4(1, 2, 0xd4, 0, 0, 1),
      with4(1, 2, 0xf0),
      with4(1, 2, 0xd4, 0xff, 0, 0, 0xd4, 0, 0, 1),
      with6(1, 2, 0xc4, 0, 0, 1),
    ],
  },
  {
    name: "arcnet-linux.pcap",
    linkType: 129,
    packets: [with4(1, 2, 0, 0, 0xd4, 0, 0, 1), with4(1, 2, 0, 0, 0xf0), with6(1, 2, 0, 0, 0xc4, 0, 0, 1)],
  },
  {
    name: "nflog.pcap",
    linkType: 239,
    packets: [nflog(10, innerIpv6), nflog(0, innerIpv6), nflog(7, innerIpv6), nflog(2, innerIpv4)],
  },
  {
    name: "sll-tunnels.pcap",
    linkType: 113,
    packets: [
      sll({ protocol: 0x0800, hardware: 778 }, innerIpv4),
      sll({ protocol: 0x86dd, hardware: 778 }, innerIpv6),
      sll({ protocol: 0, hardware: 770 }, with4(0x18, 0x41, 3, 0xcc)),
    ],
  },
] as const;
