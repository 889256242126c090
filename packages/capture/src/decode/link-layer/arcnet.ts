import { decodeArp } from "../internet/arp.ts";
import { decodeIpv4 } from "../internet/ipv4.ts";
import { decodeIpv6 } from "../internet/ipv6.ts";
import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload } from "../record/fields.ts";

/** ARCNET protocol identifiers (RFC 1051, RFC 1201; ARCNET Trade Association). */
const Protocol = {
  ipv4Rfc1051: 0xf0,
  arpRfc1051: 0xf1,
  ipv6: 0xc4,
  bacnet: 0xcd,
  ipv4: 0xd4,
  arp: 0xd5,
  rarp: 0xd6,
  diagnose: 0x80,
} as const;
/** Split flag and sequence number (RFC 1201). */
const SPLIT_LENGTH = 3;
/** Split flag of an exception packet: two bytes of padding and the protocol again stand before the real one. */
const EXCEPTION = 0xff;
const EXCEPTION_LENGTH = 4;

/** LINKTYPE_ARCNET_BSD: source, destination, protocol. */
export function decodeArcnet(record: DecodingRecord, at: number, end: number): void {
  decodePacket(record, at + 2, end, true);
}

/** LINKTYPE_ARCNET_LINUX: the same with an offset of two bytes before the protocol, and never an exception packet. */
export function decodeArcnetLinux(record: DecodingRecord, at: number, end: number): void {
  decodePacket(record, at + 4, end, false);
}

function decodePacket(record: DecodingRecord, at: number, end: number, hasExceptions: boolean): void {
  if (end - at < 1) return cut(record, end);
  const { bytes } = record;
  const protocol = bytes[at]!;
  at++;
  if (hasSplitFlag(protocol)) {
    if (hasExceptions && end > at && bytes[at] === EXCEPTION) at += EXCEPTION_LENGTH;
    at += SPLIT_LENGTH;
    if (end < at) return cut(record, end);
  }
  switch (protocol) {
    case Protocol.ipv4:
    case Protocol.ipv4Rfc1051:
      return decodeIpv4(record, at, end);
    case Protocol.ipv6:
      return decodeIpv6(record, at, end);
    case Protocol.arp:
    case Protocol.rarp:
    case Protocol.arpRfc1051:
      return decodeArp(record, at, end);
    default:
      return setPayload(record, at, end);
  }
}

function hasSplitFlag(protocol: number): boolean {
  switch (protocol) {
    case Protocol.ipv4Rfc1051:
    case Protocol.arpRfc1051:
    case Protocol.bacnet:
    case Protocol.diagnose:
      return false;
    default:
      return true;
  }
}
