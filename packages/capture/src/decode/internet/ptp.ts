import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload, uint16 } from "../record/fields.ts";

/** Common header of IEEE 1588-2019 (section 13.3), which IEEE 802.1AS uses too. */
const HEADER_LENGTH = 34;
const VERSION = 2;

/** Decodes the header of PTP version 2 (IEEE 1588-2008): message type and sequence id. Version 1 stays payload. */
export function decodePtp(record: DecodingRecord, at: number, end: number): void {
  const { bytes } = record;
  if (end - at < 2) return cut(record, end);
  // Version 1 has another header.
  if ((bytes[at + 1]! & 0xf) !== VERSION) return setPayload(record, at, end);
  if (end - at < HEADER_LENGTH) return cut(record, end);
  record.ptpMessageType = bytes[at]! & 0xf;
  record.ptpSequenceId = uint16(bytes, at + 30);
  const messageLength = uint16(bytes, at + 2);
  setPayload(record, at + HEADER_LENGTH, Math.min(end, at + Math.max(HEADER_LENGTH, messageLength)));
}
