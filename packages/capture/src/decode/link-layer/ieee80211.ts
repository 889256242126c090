import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload, uint16LittleEndian } from "../record/fields.ts";
import { decodeLlc } from "./ethernet.ts";

/** LINKTYPE_IEEE802_11_RADIOTAP: version, pad, length (little endian) of the whole header. */
const RADIOTAP_HEADER_LENGTH = 8;

/** Bits of the header's first bitmap: a time stamp, flags; another bitmap follows (radiotap.org, "Fields"). */
const TIMESTAMP_PRESENT = 0x01;
const FLAGS_PRESENT = 0x02;
const MORE_BITMAPS = 0x80;
/** Flags: the frame ends in its check sequence; padding makes its header a multiple of four bytes. */
const FCS_FLAG = 0x10;
const PADDING_FLAG = 0x20;
const FCS_LENGTH = 4;

/** Decodes a radiotap header, the IEEE 802.11 frame behind it, and what its LLC header leads to. */
export function decodeRadiotap(record: DecodingRecord, at: number, end: number): void {
  if (end - at < RADIOTAP_HEADER_LENGTH) return cut(record, end);
  const length = uint16LittleEndian(record.bytes, at + 2);
  if (length < RADIOTAP_HEADER_LENGTH || length > end - at) return cut(record, end);
  const flags = radiotapFlags(record.bytes, at, length);
  if ((flags & FCS_FLAG) !== 0) {
    const frameEnd = record.frameOffset + record.originalLength - FCS_LENGTH;
    record.capturedEnd = Math.min(record.capturedEnd, Math.max(at + length, frameEnd));
  }
  decodeIeee80211(record, at + length, Math.min(end, record.capturedEnd), (flags & PADDING_FLAG) !== 0);
}

/** The field `Flags`; 0 where the header has none. Fields are aligned to their size, counted from the header's begin. */
function radiotapFlags(bytes: Uint8Array, at: number, length: number): number {
  const present = bytes[at + 4]!;
  if ((present & FLAGS_PRESENT) === 0) return 0;
  let field = RADIOTAP_HEADER_LENGTH;
  while ((bytes[at + field - 1]! & MORE_BITMAPS) !== 0) {
    field += 4;
    if (field > length) return 0;
  }
  if ((present & TIMESTAMP_PRESENT) !== 0) field = ((field + 7) & ~7) + 8;
  return field < length ? bytes[at + field]! : 0;
}

/** IEEE 802.11-2020 section 9.2.3: frame control, duration, three addresses, sequence control. */
const HEADER_LENGTH = 24;
/** The fourth address, where a frame travels between access points. */
const ADDRESS_LENGTH = 6;
const QOS_CONTROL_LENGTH = 2;
const HT_CONTROL_LENGTH = 4;
/** Frame control, first byte: type; subtype bits of data frames. */
const TYPE = 0x0c;
const DATA = 0x08;
const NO_DATA = 0x40;
const QOS = 0x80;
/** Frame control, second byte. */
const BETWEEN_ACCESS_POINTS = 0x03;
const PROTECTED = 0x40;
const HT_CONTROL = 0x80;

/** Only data that is not encrypted is decoded further; its addresses are not Ethernet's. */
export function decodeIeee80211(record: DecodingRecord, at: number, end: number, isPadded = false): void {
  if (end - at < 2) return cut(record, end);
  const control = record.bytes[at]!;
  const flags = record.bytes[at + 1]!;
  // Control frames have shorter headers of many lengths.
  if ((control & TYPE) !== DATA) return setPayload(record, at, end);
  let length = HEADER_LENGTH;
  if ((flags & BETWEEN_ACCESS_POINTS) === BETWEEN_ACCESS_POINTS) length += ADDRESS_LENGTH;
  if ((control & QOS) !== 0) {
    length += QOS_CONTROL_LENGTH;
    if ((flags & HT_CONTROL) !== 0) length += HT_CONTROL_LENGTH;
  }
  if (isPadded) length = (length + 3) & ~3;
  if (end - at < length) return cut(record, end);
  if ((control & NO_DATA) !== 0 || (flags & PROTECTED) !== 0) return setPayload(record, at + length, end);
  decodeLlc(record, end - at - length, at + length, end);
}
