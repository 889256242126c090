import { CaptureModule, type DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload, uint16, uint32 } from "../record/fields.ts";
import { LinkType } from "../record/protocol-numbers.ts";
import { setCanId } from "./can.ts";
import {
  cutRecord,
  NO_RECORD,
  setEthernetRecord,
  setRecordData,
  setRecordFrame,
  setRecordTime,
  setUnsupportedRecord,
} from "./module-record.ts";

/** ASAM CMP 1.0: version, reserved, device, message type, stream, sequence counter. */
const HEADER_LENGTH = 8;
/** Before each message: time, interface, common flags, payload type, payload length. */
const MESSAGE_HEADER_LENGTH = 16;
/** Message type whose messages are records of buses; the others are about the module itself. */
const DATA_MESSAGE = 0x01;
/** Common flags: 0 unsegmented, 1 first, 2 intermediary, 3 last segment of a message. */
const SEGMENT_SHIFT = 2;
const FIRST_SEGMENT = 1;

const PayloadType = {
  invalid: 0x00,
  can: 0x01,
  canFd: 0x02,
  lin: 0x03,
  flexRay: 0x04,
  ethernet: 0x08,
} as const;
const CAN_HEADER_LENGTH = 16;
const LIN_HEADER_LENGTH = 8;
const FLEX_RAY_HEADER_LENGTH = 14;
const ETHERNET_HEADER_LENGTH = 6;

/** Any of these flags of a CAN payload make it an error frame. */
const CAN_ERRORS = 0x03ff;
/** Bits of the identifier's field; the one below them is reserved, though Linux has its error flag there. */
const CAN_ID_REMOTE = 0x4000_0000;
const CAN_ID_EXTENDED = 0x8000_0000;
const STANDARD_ID_SHIFT = 18;

/** Decodes the header of an ASAM CMP packet. Its records are decoded one by one by {@link decodeAsamCmpRecord}. */
export function decodeAsamCmp(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  record.moduleDeviceId = uint16(bytes, at + 2);
  setPayload(record, at + HEADER_LENGTH, end);
  if (bytes[at + 4] !== DATA_MESSAGE) return;
  record.captureModule = CaptureModule.asamCmp;
  record.recordsOffset = at + HEADER_LENGTH;
  record.recordsEnd = end;
}

/** Decodes the data message at `at`. Returns where the next one begins, or NO_RECORD where there is none. */
export function decodeAsamCmpRecord(record: DecodingRecord, at: number, end: number): number {
  if (end - at < MESSAGE_HEADER_LENGTH) return NO_RECORD;
  const { bytes } = record;
  const payloadType = bytes[at + 13]!;
  const length = uint16(bytes, at + 14);
  // Ethernet's padding looks like an invalid message of length zero.
  if (payloadType === PayloadType.invalid && length === 0) return NO_RECORD;
  setRecordTime(record, at, 0xffff_ffff);
  record.moduleInterfaceId = uint32(bytes, at + 8);
  const segment = (bytes[at + 12]! >> SEGMENT_SHIFT) & 3;
  const payload = at + MESSAGE_HEADER_LENGTH;
  setRecordFrame(record, payload, length, end);
  // Payload headers stand in the first segment; the others are bytes without one.
  if (segment > FIRST_SEGMENT) setUnsupportedRecord(record, payload);
  else decodePayload(record, payloadType, payload);
  return Math.min(end, payload + length);
}

function decodePayload(record: DecodingRecord, payloadType: number, at: number): void {
  switch (payloadType) {
    case PayloadType.can:
      return decodeCanPayload(record, at, 0);
    case PayloadType.canFd:
      return decodeCanPayload(record, at, 1);
    case PayloadType.lin:
      record.linkType = LinkType.lin;
      if (record.capturedEnd - at < LIN_HEADER_LENGTH) return cutRecord(record);
      return setRecordData(record, at + LIN_HEADER_LENGTH, record.bytes[at + 7]!);
    case PayloadType.flexRay:
      record.linkType = LinkType.flexRay;
      if (record.capturedEnd - at < FLEX_RAY_HEADER_LENGTH) return cutRecord(record);
      return setRecordData(record, at + FLEX_RAY_HEADER_LENGTH, record.bytes[at + 13]!);
    case PayloadType.ethernet:
      record.linkType = LinkType.ethernet;
      if (record.capturedEnd - at < ETHERNET_HEADER_LENGTH) return cutRecord(record);
      return setEthernetRecord(record, at + ETHERNET_HEADER_LENGTH, uint16(record.bytes, at + 4), 0);
    default:
      return setUnsupportedRecord(record, at);
  }
}

/** Flags, reserved, identifier, CRC, error position, data length code, data length; data follows. */
function decodeCanPayload(record: DecodingRecord, at: number, fd: 0 | 1): void {
  record.linkType = LinkType.canSocketcan;
  if (record.capturedEnd - at < CAN_HEADER_LENGTH) return cutRecord(record);
  const { bytes } = record;
  const identifier = uint32(bytes, at + 4);
  setCanId(record, canIdentifier(identifier));
  record.canFd = fd;
  record.canRemote = fd === 0 && (identifier & CAN_ID_REMOTE) !== 0 ? 1 : 0;
  record.canError = (uint16(bytes, at) & CAN_ERRORS) === 0 ? 0 : 1;
  record.canLength = bytes[at + 15]!;
  setRecordData(record, at + CAN_HEADER_LENGTH, record.canLength);
}

/**
 * An identifier of 11 bits stands in the upper bits of the 29, as on the bus; modules older than the standard's correction
 * put it into the lower ones. Whichever are not zero hold it.
 */
function canIdentifier(field: number): number {
  const identifier = field & 0x1fff_ffff;
  if ((field & CAN_ID_EXTENDED) !== 0) return CAN_ID_EXTENDED | identifier;
  return identifier >= 1 << STANDARD_ID_SHIFT ? identifier >> STANDARD_ID_SHIFT : identifier;
}
