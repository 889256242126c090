import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, malformed, uint16, uint32 } from "../record/fields.ts";
import { decodeSegment } from "./application.ts";

/** RFC 9293 section 3.1, without options. */
const HEADER_LENGTH = 20;

/** Decodes a TCP header (RFC 9293), and the vehicle protocol in the segment. */
export function decodeTcp(record: DecodingRecord, at: number, end: number): void {
  const { bytes } = record;
  if (end - at < HEADER_LENGTH) return cut(record, end);
  record.srcPort = uint16(bytes, at);
  record.dstPort = uint16(bytes, at + 2);
  record.tcpSeq = uint32(bytes, at + 4);
  record.tcpAck = uint32(bytes, at + 8);
  const offsetAndFlags = uint16(bytes, at + 12);
  record.tcpFlags = offsetAndFlags & 0xfff;
  record.tcpWindow = uint16(bytes, at + 14);
  const headerLength = (offsetAndFlags >> 12) * 4;
  if (headerLength < HEADER_LENGTH) return malformed(record);
  if (end - at < headerLength) return cut(record, end);
  decodeSegment(record, at + headerLength, end);
}
