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

/** TECMP user manual 1.7 (Technica Engineering): device, counter, version, message type, data type, reserved, device flags. */
const HEADER_LENGTH = 12;
/** Before each record: interface, time, length, data flags. */
const RECORD_HEADER_LENGTH = 16;
/** The upper two bits of the time are flags: not synchronized, reserved. */
const TIME_MASK = 0x3fff_ffff;

/** Message types whose payload is records of buses; the others are about the module itself. */
const LOGGING_STREAM = 0x03;
const REPLAY_DATA = 0x0a;

const DataType = {
  can: 0x02,
  canFd: 0x03,
  lin: 0x04,
  flexRay: 0x08,
  ethernet: 0x80,
  ethernet10BaseT1s: 0x82,
} as const;
/** Data flags of CAN: a remote frame; errors on the bus, whose bits are one higher for CAN FD. */
const CAN_REMOTE = 0x0002;
const CAN_ERROR = 0x0008;
const CAN_FORM_ERRORS = 0x00f0;
const CRC_ERROR = 0x2000;
/** Beside the data type: records that a device is told to send, where the flag of a CRC error says to use the given CRC. */
const REPLAYED = 0x1_0000;
/** Ethernet records end in their frame check sequence, unless a module leaves it out. */
const FCS_LENGTH = 4;
/** Of the last beacon, before the frame of 10BASE-T1S. */
const BEACON_TIME_LENGTH = 8;

/** Decodes the header of a TECMP packet. Its records are decoded one by one by {@link decodeTecmpRecord}. */
export function decodeTecmp(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  record.moduleDeviceId = uint16(bytes, at);
  const messageType = bytes[at + 5]!;
  setPayload(record, at + HEADER_LENGTH, end);
  if (messageType !== LOGGING_STREAM && messageType !== REPLAY_DATA) return;
  record.captureModule = CaptureModule.tecmp;
  record.recordType = uint16(bytes, at + 6) | (messageType === REPLAY_DATA ? REPLAYED : 0);
  record.recordsOffset = at + HEADER_LENGTH;
  record.recordsEnd = end;
}

/**
 * Decodes the record at `at`, of the type that the packet's header names. Returns where the next one begins, or NO_RECORD
 * where there is none.
 */
export function decodeTecmpRecord(
  record: DecodingRecord,
  recordType: number,
  at: number,
  end: number,
): number {
  if (end - at < RECORD_HEADER_LENGTH) return NO_RECORD;
  const { bytes } = record;
  const length = uint16(bytes, at + 12);
  // A record without data is the padding of Ethernet.
  if (length === 0) return NO_RECORD;
  record.moduleInterfaceId = uint32(bytes, at);
  setRecordTime(record, at + 4, TIME_MASK);
  const dataType = recordType & 0xffff;
  const dataFlags = uint16(bytes, at + 14) & ((recordType & REPLAYED) === 0 ? 0xffff : ~CRC_ERROR);
  const data = at + RECORD_HEADER_LENGTH;
  setRecordFrame(record, data, length, end);
  switch (dataType) {
    case DataType.can:
    case DataType.canFd:
      decodeCanRecord(record, dataType, dataFlags, data);
      break;
    case DataType.lin:
      decodeLinRecord(record, data);
      break;
    case DataType.flexRay:
      decodeFlexRayRecord(record, data);
      break;
    case DataType.ethernet:
      setEthernetRecord(record, data, length, FCS_LENGTH);
      break;
    case DataType.ethernet10BaseT1s:
      if (length < BEACON_TIME_LENGTH) cutRecord(record);
      else setEthernetRecord(record, data + BEACON_TIME_LENGTH, length - BEACON_TIME_LENGTH, FCS_LENGTH);
      break;
    default:
      setUnsupportedRecord(record, data);
  }
  return Math.min(end, data + length);
}

/** Identifier with the extended flag, length, data. */
function decodeCanRecord(record: DecodingRecord, dataType: number, dataFlags: number, at: number): void {
  record.linkType = LinkType.canSocketcan;
  if (record.capturedEnd - at < 5) return cutRecord(record);
  setCanId(record, uint32(record.bytes, at) & 0x9fff_ffff);
  record.canFd = dataType === DataType.canFd ? 1 : 0;
  record.canRemote = dataType === DataType.can && (dataFlags & CAN_REMOTE) !== 0 ? 1 : 0;
  const errors = CAN_ERROR | CRC_ERROR | (CAN_FORM_ERRORS << record.canFd);
  record.canError = (dataFlags & errors) === 0 ? 0 : 1;
  const length = record.bytes[at + 4]!;
  record.canLength = length;
  setRecordData(record, at + 5, record.canRemote === 1 ? 0 : length);
}

/** Protected identifier, length, data, checksum. */
function decodeLinRecord(record: DecodingRecord, at: number): void {
  record.linkType = LinkType.lin;
  if (record.capturedEnd - at < 2) return cutRecord(record);
  setRecordData(record, at + 2, record.bytes[at + 1]!);
}

/** Cycle, frame identifier, length, data, checksums. */
function decodeFlexRayRecord(record: DecodingRecord, at: number): void {
  record.linkType = LinkType.flexRay;
  if (record.capturedEnd - at < 4) return cutRecord(record);
  setRecordData(record, at + 4, record.bytes[at + 3]!);
}
