import type { DecodingRecord } from "../record/decoding-record.ts";
import {
  cut,
  malformed,
  setPayload,
  uint16,
  uint16LittleEndian,
  uint32,
  uint32LittleEndian,
} from "../record/fields.ts";

/** LINKTYPE_CAN_SOCKETCAN: identifier and flags (big endian), length, FD flags, two reserved bytes; data follows. */
const HEADER_LENGTH = 8;
const EXTENDED = 0x8000_0000;
const REMOTE = 0x4000_0000;
const ERROR = 0x2000_0000;
const EXTENDED_ID = 0x1fff_ffff;
const STANDARD_ID = 0x7ff;

/** Byte 5 of CAN FD: the frame is CAN FD; the bits that are defined beside it (bit rate switch, error state). */
const FD_FRAME = 0x04;
const FD_FLAGS = 0x07;
/** Bytes that Linux reads and writes for any CAN FD frame (CANFD_MTU). */
const FD_FRAME_LENGTH = 72;
/** Byte 4 of CAN XL, where other frames have their length: the frame is CAN XL; the bits that are not defined. */
const XL_FRAME = 0x80;
const XL_RESERVED = 0x7c;
/** CAN XL: priority and virtual network, flags, SDU type, length (little endian), acceptance field. */
const XL_HEADER_LENGTH = 12;
const CLASSIC_LONGEST = 8;
const FD_LONGEST = 64;
const XL_LONGEST = 2048;

/** CAN, CAN FD and CAN XL frames of LINKTYPE_CAN_SOCKETCAN. */
export function decodeCan(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  decodeFrame(record, uint32(bytes, at), uint16LittleEndian(bytes, at + 6), at, end, false);
}

/**
 * The same frames in a Linux cooked capture, which has the identifier and the length of CAN XL as the machine had them that
 * wrote the capture (libpcap, pcap-util.c); `fd` where the link layer says that it is an FD frame.
 */
export function decodeCookedCan(record: DecodingRecord, at: number, end: number, fd: boolean): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  if (record.bigEndian) decodeFrame(record, uint32(bytes, at), uint16(bytes, at + 6), at, end, fd);
  else decodeFrame(record, uint32LittleEndian(bytes, at), uint16LittleEndian(bytes, at + 6), at, end, fd);
}

function decodeFrame(
  record: DecodingRecord,
  idAndFlags: number,
  xlLength: number,
  at: number,
  end: number,
  fd: boolean,
): void {
  const { bytes } = record;
  if ((bytes[at + 4]! & (XL_FRAME | XL_RESERVED)) === XL_FRAME)
    return decodeCanXl(record, idAndFlags, xlLength, at, end);
  setCanId(record, idAndFlags);
  const length = bytes[at + 4]!;
  record.canFd = fd || length > CLASSIC_LONGEST || end - at === FD_FRAME_LENGTH || isFd(bytes, at) ? 1 : 0;
  record.canLength = length;
  if (length > FD_LONGEST) return malformed(record);
  // A remote frame states a length and carries no data.
  const data = record.canRemote === 1 ? 0 : length;
  if (end - at - HEADER_LENGTH < data) return cut(record, end);
  setPayload(record, at + HEADER_LENGTH, at + HEADER_LENGTH + data);
}

/** Drivers leave junk in the reserved bytes of classic frames: the flag counts only where nothing reserved is set. */
function isFd(bytes: Uint8Array, at: number): boolean {
  const flags = bytes[at + 5]!;
  return (flags & FD_FRAME) !== 0 && (flags & ~FD_FLAGS) === 0 && bytes[at + 6] === 0 && bytes[at + 7] === 0;
}

/** Sets the identifier and the flags in its upper bits. An error frame has an error class there: no identifier of any length. */
export function setCanId(record: DecodingRecord, idAndFlags: number): void {
  record.canError = (idAndFlags & ERROR) === 0 ? 0 : 1;
  record.canRemote = (idAndFlags & REMOTE) === 0 ? 0 : 1;
  if (record.canError === 1) return;
  const extended = (idAndFlags & EXTENDED) !== 0;
  record.canExtended = extended ? 1 : 0;
  record.canId = idAndFlags & (extended ? EXTENDED_ID : STANDARD_ID);
}

function decodeCanXl(
  record: DecodingRecord,
  priorityAndNetwork: number,
  length: number,
  at: number,
  end: number,
): void {
  if (end - at < XL_HEADER_LENGTH) return cut(record, end);
  record.canId = priorityAndNetwork & STANDARD_ID;
  record.canExtended = 0;
  record.canRemote = 0;
  record.canError = 0;
  record.canFd = 0;
  record.canLength = length;
  if (length === 0 || length > XL_LONGEST) return malformed(record);
  if (end - at - XL_HEADER_LENGTH < length) return cut(record, end);
  setPayload(record, at + XL_HEADER_LENGTH, at + XL_HEADER_LENGTH + length);
}
