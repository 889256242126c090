import type { DecodingRecord } from "./decoding-record.ts";
import { setPayload, uint16, uint32 } from "./fields.ts";

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
    at += LENGTH_FIELD_END + uint32(bytes, at + 4);
    if (at === end) return true;
  }
  return false;
}

/** On a port that is SOME/IP's: whether a message begins here, complete or not. */
export function beginsSomeip(bytes: Uint8Array, at: number, end: number): boolean {
  return end - at >= HEADER_LENGTH && isHeader(bytes, at);
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

/** The first message's columns, and how many messages begin in the packet; a valid header is at `at`. */
export function decodeSomeip(record: DecodingRecord, at: number, end: number): void {
  const { bytes } = record;
  record.someipServiceId = uint16(bytes, at);
  record.someipMethodId = uint16(bytes, at + 2);
  record.someipClientId = uint16(bytes, at + 8);
  record.someipSessionId = uint16(bytes, at + 10);
  record.someipInterfaceVersion = bytes[at + 13]!;
  record.someipMessageType = bytes[at + 14]!;
  record.someipReturnCode = bytes[at + 15]!;
  setPayload(record, at + HEADER_LENGTH, Math.min(end, at + LENGTH_FIELD_END + uint32(bytes, at + 4)));
  let count = 0;
  while (end - at >= HEADER_LENGTH && isHeader(bytes, at)) {
    count++;
    at += LENGTH_FIELD_END + uint32(bytes, at + 4);
  }
  record.someipCount = count;
}
