import type { DecodingRecord } from "../record/decoding-record.ts";
import { malformed, setPayload, truncated, uint16, uint32 } from "../record/fields.ts";

/** Generic header: version, its inverse, payload type, payload length (ISO 13400-2, section 7.1). */
const HEADER_LENGTH = 8;

const ROUTING_ACTIVATION_REQUEST = 0x0005;
const ROUTING_ACTIVATION_RESPONSE = 0x0006;
const ALIVE_CHECK_RESPONSE = 0x0008;
const ENTITY_STATUS_REQUEST = 0x4001;
const POWER_MODE_RESPONSE = 0x4004;
const DIAGNOSTIC_MESSAGE = 0x8001;
const DIAGNOSTIC_POSITIVE = 0x8002;
const DIAGNOSTIC_NEGATIVE = 0x8003;

/** Protocol versions: 2010, 2012, 2019, and the one of vehicle identification requests (ISO 13400-2, table 16). */
const VERSIONS = [1, 2, 3, 0xff];
/** Bytes of a message of another type than a diagnostic message; the longest defined one has 33. */
const MAX_FIXED_LENGTH = 64;
/** Bytes of user data that a diagnostic message may have: entities state a limit of their own, none is near it. */
const MAX_DIAGNOSTIC_LENGTH = 16 * 1024 * 1024;

/**
 * Whether a message begins here: a known version with its inverse, a known payload type, and a length that the type may have. A
 * type that the standard does not define needs a length that ends exactly with the payload. The continuation of a long message
 * may begin with two bytes that are each other's inverse.
 */
export function isDoip(bytes: Uint8Array, at: number, end: number): boolean {
  if (end - at < HEADER_LENGTH || (bytes[at]! ^ bytes[at + 1]!) !== 0xff) return false;
  if (!VERSIONS.includes(bytes[at]!)) return false;
  const length = uint32(bytes, at + 4);
  return length <= maxLength(uint16(bytes, at + 2)) || at + HEADER_LENGTH + length === end;
}

/** Whether the capture ends within the header of a message that begins here. */
export function isCutDoip(record: DecodingRecord, at: number, end: number): boolean {
  const { bytes } = record;
  return (
    end - at >= 2 &&
    end - at < HEADER_LENGTH &&
    (bytes[at]! ^ bytes[at + 1]!) === 0xff &&
    VERSIONS.includes(bytes[at]!) &&
    record.ipIsCut
  );
}

/** -1 for a type that ISO 13400-2, table 17, does not define. */
function maxLength(type: number): number {
  if (type >= DIAGNOSTIC_MESSAGE && type <= DIAGNOSTIC_NEGATIVE) return MAX_DIAGNOSTIC_LENGTH;
  const isDefined =
    type <= ALIVE_CHECK_RESPONSE || (type >= ENTITY_STATUS_REQUEST && type <= POWER_MODE_RESPONSE);
  return isDefined ? MAX_FIXED_LENGTH : -1;
}

/**
 * The columns of the first diagnostic message, else of the first message, and how many messages begin in the packet; one begins
 * at `at`. In a `stream` (TCP) the last one may go on in the next segment, which is no error.
 */
export function decodeDoip(record: DecodingRecord, at: number, end: number, stream: boolean): void {
  const { bytes } = record;
  let shown = at;
  let count = 0;
  // A message has at least its header: the loop ends with the packet.
  for (let next = at; isDoip(bytes, next, end); next += HEADER_LENGTH + uint32(bytes, next + 4)) {
    count++;
    const isFirstDiagnostic =
      uint16(bytes, shown + 2) !== DIAGNOSTIC_MESSAGE && uint16(bytes, next + 2) === DIAGNOSTIC_MESSAGE;
    if (isFirstDiagnostic) shown = next;
  }
  record.doipCount = count;
  decodeMessage(record, shown, end, stream);
}

function decodeMessage(record: DecodingRecord, at: number, end: number, stream: boolean): void {
  const { bytes } = record;
  const type = uint16(bytes, at + 2);
  const length = uint32(bytes, at + 4);
  const body = at + HEADER_LENGTH;
  const bodyEnd = Math.min(end, body + length);
  record.doipPayloadType = type;
  setPayload(record, body, bodyEnd);
  switch (type) {
    case ROUTING_ACTIVATION_REQUEST:
    case ALIVE_CHECK_RESPONSE:
      if (bodyEnd - body >= 2) record.doipSourceAddress = uint16(bytes, body);
      else incomplete(record, length < 2, stream);
      return;
    case ROUTING_ACTIVATION_RESPONSE:
      // The tester's address comes first, then the entity's own, which is the sender's.
      if (bodyEnd - body >= 4) record.doipSourceAddress = uint16(bytes, body + 2);
      else incomplete(record, length < 4, stream);
      return;
    case DIAGNOSTIC_MESSAGE:
    case DIAGNOSTIC_POSITIVE:
    case DIAGNOSTIC_NEGATIVE:
      if (bodyEnd - body >= 4) setDiagnostic(record, type, body, bodyEnd);
      else incomplete(record, length < 4, stream);
      return;
  }
}

/** Source and target address; a diagnostic message's user data begins with the UDS service (ISO 14229-1, section 8.2). */
function setDiagnostic(record: DecodingRecord, type: number, body: number, bodyEnd: number): void {
  const { bytes } = record;
  record.doipSourceAddress = uint16(bytes, body);
  record.doipTargetAddress = uint16(bytes, body + 2);
  if (type === DIAGNOSTIC_MESSAGE && bodyEnd - body > 4) record.udsServiceId = bytes[body + 4]!;
  setPayload(record, body + 4, bodyEnd);
}

/**
 * The type's fields are not all here. A length without room for them contradicts the type, and so does a datagram that ends before
 * its message. A capture that cut them off is truncated. A TCP segment that ends before them goes on in the next one.
 */
function incomplete(record: DecodingRecord, isTooShort: boolean, stream: boolean): void {
  if (isTooShort) malformed(record);
  else if (record.ipIsCut) truncated(record);
  else if (!stream) malformed(record);
}
