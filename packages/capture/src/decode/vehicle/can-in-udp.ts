import { CaptureModule, type DecodingRecord } from "../record/decoding-record.ts";
import { setPayload, uint32, uint32LittleEndian } from "../record/fields.ts";
import { LinkType } from "../record/protocol-numbers.ts";
import { setCanId } from "./can.ts";
import { NO_RECORD, setRecordData, setRecordFrame } from "./module-record.ts";

/** "ISO11898", version, number of frames (proconX CAN-ETH protocol). */
const HEADER_LENGTH = 10;
const MAGIC_HIGH = 0x49534f31;
const MAGIC_LOW = 0x31383938;
const VERSION = 1;
const MOST_FRAMES = 16;
/** Identifier (little endian, unlike the identifiers of capture files), length, eight bytes of data, extended flag, remote flag. */
const FRAME_LENGTH = 15;
const LONGEST_DATA = 8;

/** Whether the datagram is CAN frames in UDP. */
export function isCanInUdp(bytes: Uint8Array, at: number, end: number): boolean {
  return (
    end - at >= HEADER_LENGTH &&
    uint32(bytes, at) === MAGIC_HIGH &&
    uint32(bytes, at + 4) === MAGIC_LOW &&
    bytes[at + 8] === VERSION &&
    bytes[at + 9]! <= MOST_FRAMES
  );
}

/** Notes where the CAN frames of a UDP payload lie. {@link decodeCanInUdpRecord} decodes them one by one. */
export function decodeCanInUdp(record: DecodingRecord, at: number, end: number): void {
  record.captureModule = CaptureModule.canInUdp;
  record.recordsOffset = at + HEADER_LENGTH;
  record.recordsEnd = Math.min(end, at + HEADER_LENGTH + record.bytes[at + 9]! * FRAME_LENGTH);
  setPayload(record, at + HEADER_LENGTH, end);
}

/** Decodes the CAN frame at `at`. Returns where the next one begins, or NO_RECORD where there is none. */
export function decodeCanInUdpRecord(record: DecodingRecord, at: number, end: number): number {
  if (end - at < FRAME_LENGTH) return NO_RECORD;
  const { bytes } = record;
  setRecordFrame(record, at, FRAME_LENGTH, end);
  record.linkType = LinkType.canSocketcan;
  const extended = bytes[at + 13] === 0 ? 0 : 0x8000_0000;
  setCanId(record, (uint32LittleEndian(bytes, at) & 0x1fff_ffff) | extended);
  record.canRemote = bytes[at + 14] === 0 ? 0 : 1;
  record.canFd = 0;
  record.canLength = Math.min(LONGEST_DATA, bytes[at + 4]!);
  setRecordData(record, at + 5, record.canRemote === 1 ? 0 : record.canLength);
  return at + FRAME_LENGTH;
}
