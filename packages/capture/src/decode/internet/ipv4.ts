import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, malformed, setPayload, uint16 } from "../record/fields.ts";
import { decodeTransport } from "./transport.ts";

/** RFC 791 section 3.1, without options. */
const HEADER_LENGTH = 20;
const MORE_FRAGMENTS = 0x2000;
const FRAGMENT_OFFSET = 0x1fff;

/** Decodes an IPv4 header (RFC 791) and what it leads to. Padding behind its total length is not payload. */
export function decodeIpv4(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  const first = bytes[at]!;
  if (first >> 4 !== 4) return malformed(record);
  record.ipVersion = 4;
  const headerLength = (first & 0xf) * 4;
  if (headerLength < HEADER_LENGTH) return malformed(record);
  record.ipDscp = bytes[at + 1]! >> 2;
  const totalLength = uint16(bytes, at + 2);
  record.ipId = uint16(bytes, at + 4);
  const fragment = uint16(bytes, at + 6);
  record.ipMoreFragments = (fragment & MORE_FRAGMENTS) === 0 ? 0 : 1;
  record.ipFragmentOffset = (fragment & FRAGMENT_OFFSET) * 8;
  record.ipTtl = bytes[at + 8]!;
  record.ipProtocol = bytes[at + 9]!;
  record.ipSrcOffset = at + 12;
  record.ipDstOffset = at + 16;
  if (end - at < headerLength) return cut(record, end);
  // A total length of zero is written by senders that leave segmentation to the network card: the frame's end counts.
  if (totalLength !== 0 && totalLength < headerLength) return malformed(record);
  const payloadEnd = totalLength === 0 ? end : Math.min(end, at + totalLength);
  record.ipIsCut = totalLength === 0 ? record.capturedLength < record.originalLength : at + totalLength > end;
  if (record.ipFragmentOffset > 0) return setPayload(record, at + headerLength, payloadEnd);
  decodeTransport(record, record.ipProtocol, at + headerLength, payloadEnd);
}
