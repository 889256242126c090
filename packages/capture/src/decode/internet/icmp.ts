import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload } from "../record/fields.ts";

/** Type, code, checksum (RFC 792, RFC 4443 section 2.1); the message body is payload. */
const HEADER_LENGTH = 4;

/** Decodes the first bytes of ICMP (RFC 792) and ICMPv6 (RFC 4443): type and code. */
export function decodeIcmp(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  record.icmpType = record.bytes[at]!;
  record.icmpCode = record.bytes[at + 1]!;
  setPayload(record, at + HEADER_LENGTH, end);
}
