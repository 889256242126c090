import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload } from "../record/fields.ts";

/** LINKTYPE_FLEXRAY: channel and kind, then a symbol's length or error flags. */
const MEASUREMENT_HEADER_LENGTH = 2;
const KIND = 0x7f;
const FRAME = 1;
/** FlexRay 3.0.1, section 4.2: indicators, identifier, length in words of two bytes (7 bits), CRC, cycle; data follows. */
const FRAME_HEADER_LENGTH = 5;

/** A FlexRay frame has a length and no columns of its own: its data is payload. */
export function decodeFlexRay(record: DecodingRecord, at: number, end: number): void {
  if (end - at < MEASUREMENT_HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  const header = at + MEASUREMENT_HEADER_LENGTH;
  if ((bytes[at]! & KIND) !== FRAME) return setPayload(record, header, end);
  if (end - header < FRAME_HEADER_LENGTH) return cut(record, end);
  const length = (bytes[header + 2]! >> 1) * 2;
  const data = header + FRAME_HEADER_LENGTH;
  setPayload(record, data, Math.min(end, data + length));
}
