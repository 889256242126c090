import type { DecodingRecord } from "../record/decoding-record.ts";
import { malformed, setPayload, truncated, uint16, uint32 } from "../record/fields.ts";

/** AUTOSAR PRS_SOMEIPProtocol, section 4.1.2: service, method, length, client, session, versions, type, return code. */
const HEADER_LENGTH = 16;
/** The length field counts from the client id on. */
const LENGTH_FIELD_END = 8;
const PROTOCOL_VERSION = 1;
/** Segmented by SOME/IP-TP: a flag in the message type. */
const TP_FLAG = 0x20;
/** Return codes up to here are assigned or reserved for services (table 4.12). */
const LAST_RETURN_CODE = 0x5e;

/** Whether the whole of `at` to `end` is what SOME/IP is: one valid message after another, the last one complete. */
export function isSomeip(bytes: Uint8Array, at: number, end: number): boolean {
  while (end - at >= HEADER_LENGTH) {
    if (!isHeader(bytes, at)) return false;
    at = nextMessage(bytes, at);
    if (at === end) return true;
  }
  return false;
}

function isHeader(bytes: Uint8Array, at: number): boolean {
  return (
    uint32(bytes, at + 4) >= HEADER_LENGTH - LENGTH_FIELD_END &&
    bytes[at + 12] === PROTOCOL_VERSION &&
    isTypeWithCode(bytes[at + 14]! & ~TP_FLAG, bytes[at + 15]!)
  );
}

/** Requests and notifications have the return code E_OK (PRS_SOMEIP_00191). */
function isTypeWithCode(type: number, code: number): boolean {
  switch (type) {
    case 0x00:
    case 0x01:
    case 0x02:
    case 0x40:
    case 0x41:
    case 0x42:
      return code === 0;
    case 0x80:
    case 0x81:
    case 0xc0:
    case 0xc1:
      return code <= LAST_RETURN_CODE;
    default:
      return false;
  }
}

/** A magic cookie, which lets a receiver find the next message in a TCP stream (PRS_SOMEIP_00154): client 0xdead, session 0xbeef. */
function isMagicCookie(bytes: Uint8Array, at: number): boolean {
  const messageId = uint32(bytes, at);
  return (messageId === 0xffff_0000 || messageId === 0xffff_8000) && uint32(bytes, at + 8) === 0xdead_beef;
}

/**
 * The columns of the first message that is not a magic cookie, and how many messages begin in the packet; a valid header is
 * at `at`.
 */
export function decodeSomeip(record: DecodingRecord, at: number, end: number): void {
  const { bytes } = record;
  let shown = at;
  let count = 0;
  for (let next = at; end - next >= HEADER_LENGTH && isHeader(bytes, next); next = nextMessage(bytes, next)) {
    count++;
    if (isMagicCookie(bytes, shown)) shown = next;
  }
  setMessage(record, shown, end, count);
}

/**
 * What a payload on a port of SOME/IP holds. Returns false where that is no message. A datagram is SOME/IP, whatever its header
 * says: one that breaks the rules has its columns and is malformed. A TCP segment that begins with something else than a valid
 * header is a message only where the length field ends with the segment; otherwise it continues an earlier one.
 */
export function decodeSomeipPort(record: DecodingRecord, at: number, end: number, stream: boolean): boolean {
  const { bytes } = record;
  if (end - at < HEADER_LENGTH) {
    if (record.ipIsCut && end > at) truncated(record);
    return false;
  }
  if (!stream) decodeDatagramMessages(record, at, end);
  else if (isHeader(bytes, at)) decodeSomeip(record, at, end);
  else {
    if (nextMessage(bytes, at) !== end) return false;
    setMessage(record, at, end, 1);
    malformed(record);
  }
  return true;
}

/** Messages of a datagram, valid or not, by their length fields; one without room for its own header is the last. */
function decodeDatagramMessages(record: DecodingRecord, at: number, end: number): void {
  const { bytes } = record;
  // Only then may the datagram go on behind `end`.
  const isOpen = record.ipIsCut || record.ipMoreFragments === 1;
  let shown = at;
  let count = 0;
  let breaksRules = false;
  for (let next = at; end - next >= HEADER_LENGTH; ) {
    count++;
    if (isMagicCookie(bytes, shown)) shown = next;
    const following = nextMessage(bytes, next);
    if (!isHeader(bytes, next) || (following > end && !isOpen)) breaksRules = true;
    if (following < next + HEADER_LENGTH) break;
    next = following;
  }
  setMessage(record, shown, end, count);
  if (breaksRules) malformed(record);
}

function nextMessage(bytes: Uint8Array, at: number): number {
  return at + LENGTH_FIELD_END + uint32(bytes, at + 4);
}

function setMessage(record: DecodingRecord, at: number, end: number, count: number): void {
  const { bytes } = record;
  record.someipServiceId = uint16(bytes, at);
  record.someipMethodId = uint16(bytes, at + 2);
  record.someipClientId = uint16(bytes, at + 8);
  record.someipSessionId = uint16(bytes, at + 10);
  record.someipInterfaceVersion = bytes[at + 13]!;
  record.someipMessageType = bytes[at + 14]!;
  record.someipReturnCode = bytes[at + 15]!;
  record.someipCount = count;
  setPayload(record, at + HEADER_LENGTH, Math.min(end, nextMessage(bytes, at)));
}
