import { Bytes, concatenated } from "./capture-builder.ts";

/**
 * Frames in code, header by header as the specifications draw them: each function gives one header and what it carries.
 * Lengths and counts are right unless they are given, so that contradictions can be built too. Checksums are zero.
 */

const empty = new Uint8Array(0);
const big = () => new Bytes("big-endian");

const sourceMac = [0x02, 0, 0, 0, 0, 0x0a] as const;
const destinationMac = [0x02, 0, 0, 0, 0, 0x0b] as const;

/** 0, 1, 2 ...: data in which each byte is known. */
export function data(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => i & 0xff);
}

/** IEEE 802.3 section 3.1.1; `type` may be a length. */
export function ethernet(type: number, payload: Uint8Array = empty): Uint8Array {
  return concatenated(big().raw(destinationMac).raw(sourceMac).u16(type).build(), payload);
}

/** What follows the EtherType of a tag (IEEE 802.1Q section 9.6): the tag control information, then the next type. */
export function vlanTag(
  tag: { id: number; priority?: number; type: number },
  payload: Uint8Array = empty,
): Uint8Array {
  return concatenated(
    big()
      .u16(((tag.priority ?? 0) << 13) | tag.id, tag.type)
      .build(),
    payload,
  );
}

/** IEEE 802.2 with SNAP (IEEE 802 section 9.4). */
export function snap(type: number, payload: Uint8Array = empty, organization = 0): Uint8Array {
  return concatenated(
    big()
      .u8(0xaa, 0xaa, 3, organization >> 16, organization >> 8, organization)
      .u16(type)
      .build(),
    payload,
  );
}

/** RFC 826 for Ethernet and IPv4. */
export function arp(operation: number): Uint8Array {
  return big()
    .u16(1, 0x0800)
    .u8(6, 4)
    .u16(operation)
    .raw(sourceMac)
    .u8(10, 0, 0, 1)
    .raw(destinationMac)
    .u8(10, 0, 0, 2)
    .build();
}

export interface Ipv4Header {
  readonly protocol: number;
  readonly version?: number;
  /** In words of four bytes; more than five adds options. */
  readonly headerWords?: number;
  readonly totalLength?: number;
  readonly dscp?: number;
  readonly id?: number;
  /** Bytes; a multiple of eight. */
  readonly fragmentOffset?: number;
  readonly moreFragments?: boolean;
  readonly ttl?: number;
}

/** RFC 791 section 3.1: 10.0.0.1 to 10.0.0.2. */
export function ipv4(header: Ipv4Header, payload: Uint8Array = empty): Uint8Array {
  const words = header.headerWords ?? 5;
  const options = new Uint8Array(Math.max(0, words - 5) * 4);
  const fragment = (header.moreFragments ? 0x2000 : 0) | ((header.fragmentOffset ?? 0) / 8);
  return concatenated(
    big()
      .u8(((header.version ?? 4) << 4) | words, (header.dscp ?? 0) << 2)
      .u16(header.totalLength ?? 20 + options.length + payload.length, header.id ?? 0x1234, fragment)
      .u8(header.ttl ?? 64, header.protocol)
      .u16(0)
      .u8(10, 0, 0, 1, 10, 0, 0, 2)
      .build(),
    options,
    payload,
  );
}

export interface Ipv6Header {
  readonly nextHeader: number;
  readonly version?: number;
  readonly trafficClass?: number;
  readonly payloadLength?: number;
  readonly hopLimit?: number;
}

/** RFC 8200 section 3: fd00::1 to fd00::2. */
export function ipv6(header: Ipv6Header, payload: Uint8Array = empty): Uint8Array {
  const address = (last: number) => [0xfd, ...new Array<number>(14).fill(0), last];
  return concatenated(
    big()
      .u32((header.version ?? 6) * 0x1000_0000 + ((header.trafficClass ?? 0) << 20))
      .u16(header.payloadLength ?? payload.length)
      .u8(header.nextHeader, header.hopLimit ?? 64)
      .raw(address(1))
      .raw(address(2))
      .build(),
    payload,
  );
}

/** Hop-by-hop, routing, destination options ... (RFC 8200 section 4): `units` of 8 bytes beside the first 8. */
export function extensionHeader(nextHeader: number, units: number, payload: Uint8Array = empty): Uint8Array {
  return concatenated(
    big()
      .u8(nextHeader, units)
      .raw(new Uint8Array(6 + 8 * units))
      .build(),
    payload,
  );
}

/** RFC 8200 section 4.5; the offset in bytes. */
export function fragmentHeader(
  header: { nextHeader: number; offset: number; more: boolean; id: number },
  payload: Uint8Array = empty,
): Uint8Array {
  return concatenated(
    big()
      .u8(header.nextHeader, 0)
      .u16(header.offset | (header.more ? 1 : 0))
      .u32(header.id)
      .build(),
    payload,
  );
}

export interface Ports {
  readonly source?: number;
  readonly destination?: number;
}

/** RFC 768. */
export function udp(header: Ports & { readonly length?: number }, payload: Uint8Array = empty): Uint8Array {
  return concatenated(
    big()
      .u16(header.source ?? 40_000, header.destination ?? 40_001, header.length ?? 8 + payload.length, 0)
      .build(),
    payload,
  );
}

export interface TcpHeader extends Ports {
  readonly sequence?: number;
  readonly acknowledgment?: number;
  /** The data offset in words of four bytes; more than five adds options. */
  readonly headerWords?: number;
  readonly flags?: number;
  readonly window?: number;
}

/** RFC 9293 section 3.1. */
export function tcp(header: TcpHeader, payload: Uint8Array = empty): Uint8Array {
  const words = header.headerWords ?? 5;
  return concatenated(
    big()
      .u16(header.source ?? 40_000, header.destination ?? 40_001)
      .u32(header.sequence ?? 1, header.acknowledgment ?? 2)
      .u16((words << 12) | (header.flags ?? 0x10), header.window ?? 1024, 0, 0)
      .raw(new Uint8Array(Math.max(0, words - 5) * 4))
      .build(),
    payload,
  );
}

/** RFC 9260 section 3.1. */
export function sctp(header: Ports, chunks: Uint8Array = empty): Uint8Array {
  return concatenated(
    big()
      .u16(header.source ?? 40_000, header.destination ?? 40_001)
      .u32(7, 0)
      .build(),
    chunks,
  );
}

/** RFC 792, RFC 4443. */
export function icmp(type: number, code: number, body: Uint8Array = new Uint8Array(4)): Uint8Array {
  return concatenated(big().u8(type, code).u16(0).build(), body);
}

/** LINKTYPE_LINUX_SLL. */
export function sll(
  header: { protocol: number; hardware?: number },
  payload: Uint8Array = empty,
): Uint8Array {
  return concatenated(
    big()
      .u16(0, header.hardware ?? 1, 6)
      .raw(sourceMac)
      .u16(0, header.protocol)
      .build(),
    payload,
  );
}

/** LINKTYPE_LINUX_SLL2. */
export function sll2(
  header: { protocol: number; hardware?: number },
  payload: Uint8Array = empty,
): Uint8Array {
  return concatenated(
    big()
      .u16(header.protocol, 0)
      .u32(3)
      .u16(header.hardware ?? 1)
      .u8(0, 6)
      .raw(sourceMac)
      .u16(0)
      .build(),
    payload,
  );
}
