import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload, uint16 } from "../record/fields.ts";
import { EtherType } from "../record/protocol-numbers.ts";
import { decodeEtherType } from "./ether-type.ts";

/** Destination, source, type or length (IEEE 802.3 section 3.2). */
const HEADER_LENGTH = 14;

/** Decodes an Ethernet frame (IEEE 802.3): addresses, VLAN tags, and what its EtherType or LLC header leads to. */
export function decodeEthernet(record: DecodingRecord, at: number, end: number): void {
  if (end - at < HEADER_LENGTH) return cut(record, end);
  record.ethDstOffset = at;
  record.ethSrcOffset = at + 6;
  let type = uint16(record.bytes, at + 12);
  at += HEADER_LENGTH;
  if (type === EtherType.fabricPath) {
    // The columns are those of the frame that travels through the fabric, as far as it was captured.
    record.ethType = type;
    at += FABRIC_TAG_LENGTH;
    if (end - at < HEADER_LENGTH) return cut(record, end);
    record.ethDstOffset = at;
    record.ethSrcOffset = at + 6;
    type = uint16(record.bytes, at + 12);
    at += HEADER_LENGTH;
  }
  decodeTypeOrLength(record, type, at, end);
}

/** FabricPath, behind its EtherType: forwarding tag and time to live. */
const FABRIC_TAG_LENGTH = 2;

/** What stands between the EtherType of an E-TAG (IEEE 802.1BR section 7.4) or a VN-Tag and the next EtherType. */
const E_TAG_LENGTH = 6;
const VN_TAG_LENGTH = 4;

/** Tags (IEEE 802.1Q section 9.6): the first two have columns, more are passed over. */
const TAG_LENGTH = 4;

/** What follows the addresses: `type` was read just before `at`. */
export function decodeTypeOrLength(record: DecodingRecord, type: number, at: number, end: number): void {
  const { bytes } = record;
  let tags = 0;
  if (type === EtherType.eTag || type === EtherType.vnTag) {
    record.ethType = type;
    const length = type === EtherType.eTag ? E_TAG_LENGTH : VN_TAG_LENGTH;
    if (end - at < length + 2) return cut(record, end);
    type = uint16(bytes, at + length);
    at += length + 2;
    if (!isVlanTag(type)) return decodeEtherType(record, type, at, end);
  }
  while (isVlanTag(type)) {
    record.ethType = type;
    if (end - at < TAG_LENGTH) return cut(record, end);
    const control = uint16(bytes, at);
    if (tags === 0) {
      record.vlanPriority = control >> 13;
      record.vlanId = control & 0xfff;
    } else if (tags === 1) record.innerVlanId = control & 0xfff;
    tags++;
    type = uint16(bytes, at + 2);
    at += TAG_LENGTH;
  }
  if (type < EtherType.first) return decodeLlc(record, type, at, end);
  record.ethType = type;
  decodeEtherType(record, type, at, end);
}

function isVlanTag(type: number): boolean {
  return type === EtherType.vlan || type === EtherType.providerBridge || type === EtherType.oldQinQ;
}

/** DSAP, SSAP and control of SNAP (IEEE 802 section 9.4), then an organization code and a type. */
const SNAP = 0xaaaa;
const SNAP_HEADER_LENGTH = 8;

/** A frame whose type field is its length: IEEE 802.2 LLC. Behind a SNAP header of Ethernet's code the type is an EtherType. */
export function decodeLlc(record: DecodingRecord, length: number, at: number, end: number): void {
  record.ethType = -1;
  const { bytes } = record;
  const limit = Math.min(end, at + length);
  if (limit - at >= 2 && limit - at < SNAP_HEADER_LENGTH && uint16(bytes, at) === SNAP)
    return cut(record, limit);
  const isSnap =
    limit - at >= SNAP_HEADER_LENGTH &&
    uint16(bytes, at) === SNAP &&
    bytes[at + 2] === 3 &&
    bytes[at + 3] === 0 &&
    uint16(bytes, at + 4) === 0;
  if (!isSnap) return setPayload(record, at, limit);
  decodeSnap(record, at + 3, limit);
}

/** Organization code and type of SNAP, whose five bytes are there; only types of Ethernet's code are EtherTypes. */
export function decodeSnap(record: DecodingRecord, at: number, end: number): void {
  const { bytes } = record;
  const type = uint16(bytes, at + 3);
  if (bytes[at] !== 0 || uint16(bytes, at + 1) !== 0 || type < EtherType.first)
    return setPayload(record, at + 5, end);
  record.ethType = type;
  decodeEtherType(record, type, at + 5, end);
}
