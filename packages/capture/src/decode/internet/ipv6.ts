import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, malformed, setPayload, uint16, uint32 } from "../record/fields.ts";
import { IpProtocol } from "../record/protocol-numbers.ts";
import { decodeTransport } from "./transport.ts";

/** RFC 8200 section 3. */
const HEADER_LENGTH = 40;

/** Decodes an IPv6 header (RFC 8200), its extension headers, and what they lead to. */
export function decodeIpv6(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  if (bytes[at]! >> 4 !== 6) return malformed(record);
  record.ipVersion = 6;
  record.ipDscp = (uint16(bytes, at) >> 6) & 0x3f;
  record.ipTtl = bytes[at + 7]!;
  record.ipSrcOffset = at + 8;
  record.ipDstOffset = at + 24;
  const payloadLength = uint16(bytes, at + 4);
  const next = bytes[at + 6]!;
  // Zero: a jumbogram (RFC 2675), or segmentation left to the network card; really none only where no header follows.
  const isOpen = payloadLength === 0 && next !== IpProtocol.noNextHeader;
  const statedEnd = at + HEADER_LENGTH + payloadLength;
  const payloadEnd = isOpen ? end : Math.min(end, statedEnd);
  record.ipIsCut = isOpen ? record.capturedLength < record.originalLength : statedEnd > end;
  decodeExtensionHeaders(record, next, at + HEADER_LENGTH, payloadEnd);
}

/** RFC 8200 section 4; each header is at least 8 bytes long, so that the loop ends with the packet. */
function decodeExtensionHeaders(record: DecodingRecord, next: number, at: number, end: number): void {
  const { bytes } = record;
  for (;;) {
    record.ipProtocol = next;
    if (!isExtensionHeader(next)) return decodeTransport(record, next, at, end);
    if (end - at < 8) return cut(record, end);
    let length = (bytes[at + 1]! + 1) * 8;
    if (next === IpProtocol.fragment) {
      length = 8;
      const fragment = uint16(bytes, at + 2);
      record.ipFragmentOffset = fragment & 0xfff8;
      record.ipMoreFragments = fragment & 1;
      record.ipId = uint32(bytes, at + 4);
    } else if (next === IpProtocol.authentication) length = (bytes[at + 1]! + 2) * 4;
    if (end - at < length) return cut(record, end);
    next = bytes[at]!;
    at += length;
    if (record.ipFragmentOffset > 0) {
      record.ipProtocol = next;
      return setPayload(record, at, end);
    }
  }
}

function isExtensionHeader(protocol: number): boolean {
  switch (protocol) {
    case IpProtocol.hopByHop:
    case IpProtocol.routing:
    case IpProtocol.fragment:
    case IpProtocol.authentication:
    case IpProtocol.destinationOptions:
    case IpProtocol.mobility:
    case IpProtocol.hostIdentity:
    case IpProtocol.shim6:
      return true;
    default:
      return false;
  }
}
