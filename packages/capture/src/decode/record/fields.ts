import type { DecodingRecord } from "./decoding-record.ts";
import { DecodeStatus } from "./packet-record.ts";

/**
 * What every decoder works on: `record.bytes` from `at` (first byte of the header) to `end` (exclusive: of the captured bytes
 * that belong to it). Numbers in network byte order unless a name says otherwise. Callers have checked the length.
 */
export function uint16(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

/** Returns an unsigned number of 32 bits in network byte order. */
export function uint32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! * 0x100_0000 + ((bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!)) >>> 0;
}

/** Returns an unsigned number of 16 bits in little-endian byte order. */
export function uint16LittleEndian(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8);
}

/** Returns an unsigned number of 32 bits in little-endian byte order. */
export function uint32LittleEndian(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16)) + bytes[at + 3]! * 0x100_0000) >>> 0;
}

/** The bytes after the last decoded header: `at` to `end`. */
export function setPayload(record: DecodingRecord, at: number, end: number): void {
  record.payloadOffset = at - record.frameOffset;
  record.payloadLength = end > at ? end - at : 0;
}

/** The captured bytes end inside a header: what was decoded before stays. */
export function truncated(record: DecodingRecord): void {
  record.decodeStatus = DecodeStatus.truncated;
}

/** A header contradicts itself: what was decoded before it stays. */
export function malformed(record: DecodingRecord): void {
  record.decodeStatus = DecodeStatus.malformed;
}

/**
 * A header needs more bytes than its enclosing header leaves: truncated where the capture ends, malformed where the
 * enclosing length does although more bytes were captured.
 */
export function cut(record: DecodingRecord, end: number): void {
  if (end < record.capturedEnd) malformed(record);
  else truncated(record);
}
