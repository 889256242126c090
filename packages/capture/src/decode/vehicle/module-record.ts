import type { DecodingRecord } from "../record/decoding-record.ts";
import { malformed, setPayload, truncated, uint32 } from "../record/fields.ts";
import { frameCheckLength } from "../record/frame-check.ts";
import { DecodeStatus } from "../record/packet-record.ts";
import { LinkType } from "../record/protocol-numbers.ts";

/** What a module's record decoder returns where there is no further record. */
export const NO_RECORD = -1;

/** Sets what the record of `length` bytes at `at` is a frame of; the packet may end before it does. */
export function setRecordFrame(record: DecodingRecord, at: number, length: number, end: number): void {
  record.capturedLength = Math.min(length, end - at);
  record.originalLength = length;
  record.capturedEnd = at + record.capturedLength;
}

/**
 * Sets the record's time from 64 bits of nanoseconds since 1970, of which `highMask` hides flags. Zero is no time: the packet's
 * time stays.
 */
export function setRecordTime(record: DecodingRecord, at: number, highMask: number): void {
  const { bytes } = record;
  const high = (uint32(bytes, at) & highMask) >>> 0;
  const low = uint32(bytes, at + 4);
  if (high === 0 && low === 0) return;
  // The quotient of floating point is at most one off, and the remainder modulo 2^32 says in which direction.
  let seconds = Math.floor((high * 0x1_0000_0000 + low) / 1e9);
  let nanoseconds = (low - Math.imul(seconds, 1e9)) | 0;
  if (nanoseconds < 0) {
    seconds--;
    nanoseconds += 1e9;
  } else if (nanoseconds >= 1e9) {
    seconds++;
    nanoseconds -= 1e9;
  }
  record.hasTime = true;
  record.seconds = seconds;
  record.nanoseconds = nanoseconds;
}

/** The data of a bus frame: `length` bytes from `at`. The packet may hold fewer of them, or the record itself. */
export function setRecordData(record: DecodingRecord, at: number, length: number): void {
  setPayload(record, at, Math.min(at + length, record.capturedEnd));
  if (at + length > record.capturedEnd) cutRecord(record);
}

/** A record has no room for its own header or data: the packet was cut, or the record contradicts itself. */
export function cutRecord(record: DecodingRecord): void {
  if (record.capturedLength < record.originalLength) truncated(record);
  else malformed(record);
}

/**
 * The record is an Ethernet frame of `length` bytes; its headers are the caller's to decode. `assumedFcs` bytes are its frame check
 * sequence where the frame itself does not say.
 */
export function setEthernetRecord(
  record: DecodingRecord,
  at: number,
  length: number,
  assumedFcs: number,
): void {
  const present = Math.max(0, Math.min(length, record.capturedEnd - at));
  const fcsLength = frameCheckLength(record.bytes, at, length, at + present, assumedFcs);
  record.linkType = LinkType.ethernet;
  record.originalLength = Math.max(0, length - fcsLength);
  record.capturedLength = Math.min(present, record.originalLength);
  record.capturedEnd = at + record.capturedLength;
  record.ethernetFrameOffset = at;
}

/** A record of a bus that this table has no columns for. */
export function setUnsupportedRecord(record: DecodingRecord, at: number): void {
  record.decodeStatus = DecodeStatus.unsupported;
  setPayload(record, at, record.capturedEnd);
}
