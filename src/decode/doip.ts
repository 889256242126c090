import type { DecodingRecord } from "./decoding-record.ts";
import { cut, malformed, setPayload, uint16, uint32 } from "./fields.ts";

/** Generic header: version, its inverse, payload type, payload length (ISO 13400-2, section 7.1). */
const HEADER_LENGTH = 8;

const ROUTING_ACTIVATION_REQUEST = 0x0005;
const ROUTING_ACTIVATION_RESPONSE = 0x0006;
const ALIVE_CHECK_RESPONSE = 0x0008;
const DIAGNOSTIC_MESSAGE = 0x8001;
const DIAGNOSTIC_POSITIVE = 0x8002;
const DIAGNOSTIC_NEGATIVE = 0x8003;

/** Whether a message can begin here: the second byte is the inverse of the first. */
export function isDoip(bytes: Uint8Array, at: number, end: number): boolean {
  return end - at >= 2 && (bytes[at]! ^ bytes[at + 1]!) === 0xff;
}

export function decodeDoip(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
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
      else incomplete(record, length, 2, end);
      return;
    case ROUTING_ACTIVATION_RESPONSE:
      // The tester's address comes first, then the entity's own, which is the sender's.
      if (bodyEnd - body >= 4) record.doipSourceAddress = uint16(bytes, body + 2);
      else incomplete(record, length, 4, end);
      return;
    case DIAGNOSTIC_MESSAGE:
    case DIAGNOSTIC_POSITIVE:
    case DIAGNOSTIC_NEGATIVE:
      return decodeDiagnostic(record, type, length, body, bodyEnd, end);
  }
}

/** Source and target address; a diagnostic message's user data begins with the UDS service (ISO 14229-1, section 8.2). */
function decodeDiagnostic(
  record: DecodingRecord,
  type: number,
  length: number,
  body: number,
  bodyEnd: number,
  end: number,
): void {
  if (bodyEnd - body < 4) return incomplete(record, length, 4, end);
  const { bytes } = record;
  record.doipSourceAddress = uint16(bytes, body);
  record.doipTargetAddress = uint16(bytes, body + 2);
  if (type === DIAGNOSTIC_MESSAGE && bodyEnd - body > 4) record.udsServiceId = bytes[body + 4]!;
  setPayload(record, body + 4, bodyEnd);
}

/** A length that has no room for the type's fields contradicts the type; otherwise the packet ends too soon. */
function incomplete(record: DecodingRecord, length: number, needed: number, end: number): void {
  if (length < needed) malformed(record);
  else cut(record, end);
}
