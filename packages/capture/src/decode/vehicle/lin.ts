import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload } from "../record/fields.ts";

/** LINKTYPE_LIN: format revision, reserved, length and types, protected identifier, checksum, errors; data follows. */
const HEADER_LENGTH = 8;
/** The upper four bits of byte 4. */
const LENGTH_SHIFT = 4;

/** A LIN frame has a length and no columns of its own: its data is payload. */
export function decodeLin(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  const length = record.bytes[at + 4]! >> LENGTH_SHIFT;
  setPayload(record, at + HEADER_LENGTH, Math.min(end, at + HEADER_LENGTH + length));
}
