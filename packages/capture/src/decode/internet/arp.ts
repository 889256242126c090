import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload, uint16 } from "../record/fields.ts";

/** Hardware and protocol type, their address lengths, the operation (RFC 826); four addresses follow. */
const HEADER_LENGTH = 8;

/** Decodes an ARP or RARP packet (RFC 826): its opcode. Addresses are skipped, whatever their lengths. */
export function decodeArp(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  record.arpOpcode = uint16(bytes, at + 6);
  const addresses = 2 * (bytes[at + 4]! + bytes[at + 5]!);
  if (end - at < HEADER_LENGTH + addresses) return cut(record, end);
  // What follows the addresses is padding.
  setPayload(record, at + HEADER_LENGTH + addresses, at + HEADER_LENGTH + addresses);
}
