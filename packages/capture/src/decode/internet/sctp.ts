import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload, uint16 } from "../record/fields.ts";

/** Common header (RFC 9260 section 3.1); chunks follow. */
const HEADER_LENGTH = 12;

/** Decodes the common header of SCTP (RFC 9260): its ports. */
export function decodeSctp(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  record.srcPort = uint16(record.bytes, at);
  record.dstPort = uint16(record.bytes, at + 2);
  setPayload(record, at + HEADER_LENGTH, end);
}
