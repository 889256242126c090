import { decodeIpv4 } from "../internet/ipv4.ts";
import { decodeIpv6 } from "../internet/ipv6.ts";
import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload, uint16 } from "../record/fields.ts";
import { EtherType } from "../record/protocol-numbers.ts";
import { decodeEtherType } from "./ether-type.ts";
import { decodeEthernet, decodeSnap } from "./ethernet.ts";

/** The last byte of a Q.922 address has this bit; an address has two to four bytes. */
const LAST_ADDRESS_BYTE = 0x01;
const MIN_ADDRESS_LENGTH = 2;
const MAX_ADDRESS_LENGTH = 4;
/** Q.922 control field of unnumbered information, which a network layer protocol identifier follows (RFC 2427 section 3). */
const UNNUMBERED_INFORMATION = 0x03;
const NLPID_SNAP = 0x80;
const NLPID_IPV6 = 0x8e;
const NLPID_IPV4 = 0xcc;
/** SNAP organization code and protocol of a bridged Ethernet frame without its check sequence (RFC 2427 section 4.2). */
const BRIDGED_ORGANIZATION = 0x0080;
const BRIDGED_ETHERNET = 0xc2_0007;

/** LINKTYPE_FRELAY: RFC 2427 multiprotocol encapsulation, or Cisco's, which has an EtherType behind the address. */
export function decodeFrameRelay(record: DecodingRecord, at: number, end: number): void {
  const { bytes } = record;
  let length = MIN_ADDRESS_LENGTH;
  if (end - at < length) return cut(record, end);
  while (length < MAX_ADDRESS_LENGTH && (bytes[at + length - 1]! & LAST_ADDRESS_BYTE) === 0) {
    length++;
    if (end - at < length) return cut(record, end);
  }
  at += length;
  if (end - at < 2) return cut(record, end);
  if (bytes[at] === UNNUMBERED_INFORMATION) return decodeNetworkLayer(record, at + 1, end);
  const type = uint16(bytes, at);
  if (type < EtherType.first) return setPayload(record, at, end);
  record.ethType = type;
  decodeEtherType(record, type, at + 2, end);
}

function decodeNetworkLayer(record: DecodingRecord, at: number, end: number): void {
  const { bytes } = record;
  // A zero aligns what follows the identifier.
  if (bytes[at] === 0 && end - at > 1) at++;
  switch (bytes[at]) {
    case NLPID_IPV4:
      return decodeIpv4(record, at + 1, end);
    case NLPID_IPV6:
      return decodeIpv6(record, at + 1, end);
    case NLPID_SNAP:
      return decodeSnapOrBridged(record, at + 1, end);
    default:
      return setPayload(record, at, end);
  }
}

function decodeSnapOrBridged(record: DecodingRecord, at: number, end: number): void {
  const { bytes } = record;
  if (end - at < 5) return cut(record, end);
  const isBridged =
    uint16(bytes, at) === BRIDGED_ORGANIZATION &&
    bytes[at + 2]! * 0x1_0000 + uint16(bytes, at + 3) === BRIDGED_ETHERNET;
  if (isBridged) return decodeEthernet(record, at + 5, end);
  decodeSnap(record, at, end);
}
