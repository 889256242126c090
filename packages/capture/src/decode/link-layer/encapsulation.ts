import { decodeIpv4 } from "../internet/ipv4.ts";
import { decodeIpv6 } from "../internet/ipv6.ts";
import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, malformed, setPayload, uint16 } from "../record/fields.ts";

/** The IP version tells what it is; anything else is payload. */
export function decodeRawIp(record: DecodingRecord, at: number, end: number): void {
  if (end - at < 1) return cut(record, end);
  const version = record.bytes[at]! >> 4;
  if (version === 4) return decodeIpv4(record, at, end);
  if (version === 6) return decodeIpv6(record, at, end);
  setPayload(record, at, end);
}

/** Label stack (RFC 3032 section 2.1): 4 bytes each until the bottom flag. What follows is told by its first nibble. */
export function decodeMpls(record: DecodingRecord, at: number, end: number): void {
  for (;;) {
    if (end - at < 4) return cut(record, end);
    const bottom = (record.bytes[at + 2]! & 1) === 1;
    at += 4;
    if (bottom) return decodeRawIp(record, at, end);
  }
}

/** PPPoE session (RFC 2516 section 4): version and type, code, session, length; then PPP. */
export function decodePppoe(record: DecodingRecord, at: number, end: number): void {
  if (end - at < 6) return cut(record, end);
  const length = uint16(record.bytes, at + 4);
  decodePpp(record, at + 6, Math.min(end, at + 6 + length));
}

/** Protocol numbers of PPP (RFC 1661; IANA). */
const PPP_IPV4 = 0x0021;
const PPP_IPV6 = 0x0057;
const PPP_MPLS = 0x0281;
const PPP_MPLS_MULTICAST = 0x0283;

/** RFC 1661, perhaps behind the address and control bytes of RFC 1662, perhaps with a protocol of one byte. */
export function decodePpp(record: DecodingRecord, at: number, end: number): void {
  const { bytes } = record;
  if (end - at >= 2 && bytes[at] === 0xff && bytes[at + 1] === 3) at += 2;
  if (end - at < 2) return cut(record, end);
  const short = (bytes[at]! & 1) === 1;
  const protocol = short ? bytes[at]! : uint16(bytes, at);
  at += short ? 1 : 2;
  if (protocol === PPP_IPV4) return decodeIpv4(record, at, end);
  if (protocol === PPP_IPV6) return decodeIpv6(record, at, end);
  if (protocol === PPP_MPLS || protocol === PPP_MPLS_MULTICAST) return decodeMpls(record, at, end);
  setPayload(record, at, end);
}

/** Network Service Header (RFC 8300 section 2.2): its length in words of 4 bytes, and what follows it. */
export function decodeNsh(record: DecodingRecord, at: number, end: number): void {
  if (end - at < 8) return cut(record, end);
  const { bytes } = record;
  const length = (bytes[at + 1]! & 0x3f) * 4;
  if (length < 8) return malformed(record);
  if (end - at < length) return cut(record, end);
  switch (bytes[at + 3]) {
    case 1:
      return decodeIpv4(record, at + length, end);
    case 2:
      return decodeIpv6(record, at + length, end);
    default:
      return setPayload(record, at + length, end);
  }
}
