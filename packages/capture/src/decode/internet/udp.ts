import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, malformed, uint16 } from "../record/fields.ts";
import { decodeDatagram } from "./application.ts";

/** RFC 768. */
const HEADER_LENGTH = 8;

/** Decodes a UDP header (RFC 768), and the vehicle protocol in the datagram. */
export function decodeUdp(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  record.srcPort = uint16(bytes, at);
  record.dstPort = uint16(bytes, at + 2);
  const length = uint16(bytes, at + 4);
  // Zero: a jumbogram (RFC 2675 section 4), or segmentation left to the network card.
  if (length !== 0 && length < HEADER_LENGTH) return malformed(record);
  decodeDatagram(record, at + HEADER_LENGTH, length === 0 ? end : Math.min(end, at + length));
}
