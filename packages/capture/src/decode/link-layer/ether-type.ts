import { decodeArp } from "../internet/arp.ts";
import { decodeIpv4 } from "../internet/ipv4.ts";
import { decodeIpv6 } from "../internet/ipv6.ts";
import { decodePtp } from "../internet/ptp.ts";
import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload, uint16 } from "../record/fields.ts";
import { EtherType } from "../record/protocol-numbers.ts";
import { decodeAsamCmp } from "../vehicle/asam-cmp.ts";
import { decodeTecmp } from "../vehicle/tecmp.ts";
import { decodeMpls, decodeNsh, decodePppoe } from "./encapsulation.ts";

/** SecTAG flags (IEEE 802.1AE section 9.5): a channel identifier follows; data is encrypted; data is changed. */
const SECTAG_CHANNEL = 0x20;
const SECTAG_ENCRYPTED = 0x08;
const SECTAG_CHANGED = 0x04;
/** Integrity check value of the default cipher suite. */
const ICV_LENGTH = 16;

/**
 * What an EtherType announces. One that this table does not decode leaves its bytes as the payload. Tags that lead to another
 * EtherType are stepped over in a loop: a packet can hold ten thousands of them, one in another, and the stack cannot.
 */
export function decodeEtherType(record: DecodingRecord, type: number, at: number, end: number): void {
  const { bytes } = record;
  // Bytes at the packet's end that the capture left out: check values are the first to lack them.
  let missing = Math.max(0, record.originalLength - record.capturedLength);
  for (;;) {
    if (type === EtherType.metaData) {
      // Cisco MetaData: six bytes, then an EtherType.
      if (end - at < 8) return cut(record, end);
      type = uint16(bytes, at + 6);
      at += 8;
    } else if (type === EtherType.macsec) {
      // What is only authenticated can be read; what is encrypted is payload.
      if (end - at < 6) return cut(record, end);
      const flags = bytes[at]!;
      const data = at + ((flags & SECTAG_CHANNEL) === 0 ? 6 : 14);
      if (end < data + 2) return cut(record, end);
      if ((flags & (SECTAG_ENCRYPTED | SECTAG_CHANGED)) !== 0) return setPayload(record, data, end);
      type = uint16(bytes, data);
      at = data + 2;
      end = Math.max(at, end - Math.max(0, ICV_LENGTH - missing));
      missing = Math.max(0, missing - ICV_LENGTH);
    } else return decodeProtocol(record, type, at, end);
  }
}

function decodeProtocol(record: DecodingRecord, type: number, at: number, end: number): void {
  switch (type) {
    case EtherType.ipv4:
      return decodeIpv4(record, at, end);
    case EtherType.ipv6:
      return decodeIpv6(record, at, end);
    case EtherType.arp:
    case EtherType.rarp:
      return decodeArp(record, at, end);
    case EtherType.ptp:
      return decodePtp(record, at, end);
    case EtherType.mpls:
    case EtherType.mplsMulticast:
      return decodeMpls(record, at, end);
    case EtherType.pppoeSession:
      return decodePppoe(record, at, end);
    case EtherType.captureModule:
      return decodeCaptureModule(record, at, end);
    case EtherType.oldTecmp:
      return decodeTecmp(record, at, end);
    case EtherType.nsh:
      return decodeNsh(record, at, end);
    default:
      return setPayload(record, at, end);
  }
}

/** The first byte of a device identifier, which older TECMP devices may set to this. */
const TECMP_USER_DEFINED = 0xff;

/** TECMP begins with a device identifier below 256, its successor ASAM CMP with its version, which is not zero. */
function decodeCaptureModule(record: DecodingRecord, at: number, end: number): void {
  if (end - at < 1) return cut(record, end);
  const first = record.bytes[at]!;
  if (first === 0 || first === TECMP_USER_DEFINED) return decodeTecmp(record, at, end);
  return decodeAsamCmp(record, at, end);
}
