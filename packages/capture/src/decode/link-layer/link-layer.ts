import { decodeIpv4 } from "../internet/ipv4.ts";
import { decodeIpv6 } from "../internet/ipv6.ts";
import type { DecodingRecord } from "../record/decoding-record.ts";
import {
  cut,
  malformed,
  setPayload,
  uint16,
  uint16LittleEndian,
  uint32,
  uint32LittleEndian,
} from "../record/fields.ts";
import { DecodeStatus } from "../record/packet-record.ts";
import { EtherType, LinkType } from "../record/protocol-numbers.ts";
import { decodeCan, decodeCookedCan } from "../vehicle/can.ts";
import { decodeFlexRay } from "../vehicle/flexray.ts";
import { decodeLin } from "../vehicle/lin.ts";
import { decodeArcnet, decodeArcnetLinux } from "./arcnet.ts";
import { decodePpp, decodePppoe, decodeRawIp } from "./encapsulation.ts";
import { decodeEtherType } from "./ether-type.ts";
import { decodeEthernet, decodeLlc, decodeTypeOrLength } from "./ethernet.ts";
import { decodeFrameRelay } from "./frame-relay.ts";
import { decodeIeee80211, decodeRadiotap } from "./ieee80211.ts";
import { decodeNetlink, decodeNflog } from "./netfilter.ts";

/** Decodes a frame by its LINKTYPE_ value; an unknown one leaves the whole frame as payload. */
export function decodeLinkLayer(record: DecodingRecord, at: number, end: number): void {
  switch (record.linkType) {
    case LinkType.ppi:
      return decodePpi(record, at, end);
    case LinkType.pktap:
      return decodePktap(record, at, end);
    default:
      return decodeLinkType(record, record.linkType, at, end);
  }
}

/** The same for the link type that a header of PPI or PKTAP states; neither is decoded inside the other. */
function decodeLinkType(record: DecodingRecord, linkType: number, at: number, end: number): void {
  switch (linkType) {
    case LinkType.ethernet:
      return decodeEthernet(record, at, end);
    case LinkType.linuxSll:
    case LinkType.netlink:
      return decodeLinuxSll(record, at, end);
    case LinkType.linuxSll2:
      return decodeLinuxSll2(record, at, end);
    case LinkType.null:
    case LinkType.loop:
      return decodeLoopback(record, at, end);
    case LinkType.raw:
    case LinkType.rawBsd:
    case LinkType.rawOpenBsd:
    case LinkType.linuxClip:
      return decodeRawIp(record, at, end);
    case LinkType.ipv4:
      return decodeIpv4(record, at, end);
    case LinkType.ipv6:
      return decodeIpv6(record, at, end);
    case LinkType.canSocketcan:
      return decodeCan(record, at, end);
    case LinkType.lin:
      return decodeLin(record, at, end);
    case LinkType.flexRay:
      return decodeFlexRay(record, at, end);
    case LinkType.ppp:
      return decodePpp(record, at, end);
    case LinkType.pppHdlc:
      return decodePppHdlc(record, at, end);
    case LinkType.frameRelay:
      return decodeFrameRelay(record, at, end);
    case LinkType.fddi:
      return decodeFddi(record, at, end);
    case LinkType.arcnetBsd:
      return decodeArcnet(record, at, end);
    case LinkType.arcnetLinux:
      return decodeArcnetLinux(record, at, end);
    case LinkType.ipnet:
      return decodeIpnet(record, at, end);
    case LinkType.pppWithDirection:
      return decodePppWithDirection(record, at, end);
    case LinkType.pppoe:
      return decodePppoe(record, at, end);
    case LinkType.ciscoHdlc:
      return decodeCiscoHdlc(record, at, end);
    case LinkType.atmRfc1483:
      return decodeLlc(record, end - at, at, end);
    case LinkType.ieee80211:
      return decodeIeee80211(record, at, end);
    case LinkType.ieee80211Radiotap:
      return decodeRadiotap(record, at, end);
    case LinkType.ipOverInfiniband:
      return decodeIpOverInfiniband(record, at, end);
    case LinkType.nflog:
      return decodeNflog(record, at, end);
    default:
      record.decodeStatus = DecodeStatus.unsupported;
      return setPayload(record, at, end);
  }
}

/** LINKTYPE_LINUX_SLL: packet type, ARPHRD_ type, address length, address, protocol. */
const SLL_HEADER_LENGTH = 16;
/** LINKTYPE_LINUX_SLL2: protocol first, interface index, ARPHRD_ type, packet type, address length, address. */
const SLL2_HEADER_LENGTH = 20;

function decodeLinuxSll(record: DecodingRecord, at: number, end: number): void {
  if (end - at < SLL_HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  decodeSllProtocol(record, uint16(bytes, at + 2), uint16(bytes, at + 14), at + SLL_HEADER_LENGTH, end);
}

function decodeLinuxSll2(record: DecodingRecord, at: number, end: number): void {
  if (end - at < SLL2_HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  decodeSllProtocol(record, uint16(bytes, at + 8), uint16(bytes, at), at + SLL2_HEADER_LENGTH, end);
}

/** ARPHRD_ values whose protocol field is no EtherType. */
const ARPHRD_NETLINK = 824;
const ARPHRD_IEEE80211_RADIOTAP = 803;
const ARPHRD_FRAD = 770;
/** Protocol values below the EtherTypes (linux/if_ether.h). */
const LINUX_LLC = 0x0004;
const LINUX_CAN = 0x000c;
const LINUX_CAN_FD = 0x000d;
const LINUX_CAN_XL = 0x000e;

function decodeSllProtocol(
  record: DecodingRecord,
  hardware: number,
  protocol: number,
  at: number,
  end: number,
): void {
  if (hardware === ARPHRD_NETLINK) return decodeNetlink(record, protocol, at, end);
  if (hardware === ARPHRD_FRAD) return decodeFrameRelay(record, at, end);
  if (hardware === ARPHRD_IEEE80211_RADIOTAP) return decodeRadiotap(record, at, end);
  if (protocol === LINUX_CAN || protocol === LINUX_CAN_XL) return decodeCookedCan(record, at, end, false);
  if (protocol === LINUX_CAN_FD) return decodeCookedCan(record, at, end, true);
  if (protocol === LINUX_LLC) return decodeLlc(record, end - at, at, end);
  if (protocol < EtherType.first) return setPayload(record, at, end);
  decodeTypeOrLength(record, protocol, at, end);
}

/** LINKTYPE_NULL and LINKTYPE_LOOP: an address family in the byte order of the machine that wrote it. */
function decodeLoopback(record: DecodingRecord, at: number, end: number): void {
  if (end - at < 4) return cut(record, end);
  const { bytes } = record;
  const bigEndian = uint32(bytes, at);
  const family = bigEndian < 0x1_0000 ? bigEndian : uint32LittleEndian(bytes, at);
  switch (family) {
    case 2:
      return decodeIpv4(record, at + 4, end);
    // AF_INET6 of the BSDs, macOS, Linux and Solaris.
    case 10:
    case 24:
    case 26:
    case 28:
    case 30:
      return decodeIpv6(record, at + 4, end);
    default:
      return setPayload(record, at + 4, end);
  }
}

/** LINKTYPE_IPOIB: a destination of 40 bytes, then an EtherType and two reserved bytes (RFC 4391 section 6). */
function decodeIpOverInfiniband(record: DecodingRecord, at: number, end: number): void {
  if (end - at < 44) return cut(record, end);
  record.ethType = uint16(record.bytes, at + 40);
  decodeEtherType(record, record.ethType, at + 44, end);
}

/** LINKTYPE_PPP_WITH_DIR: who sent it, then PPP. */
function decodePppWithDirection(record: DecodingRecord, at: number, end: number): void {
  if (end - at < 1) return cut(record, end);
  decodePpp(record, at + 1, end);
}

/** LINKTYPE_C_HDLC: address, control, EtherType. */
function decodeCiscoHdlc(record: DecodingRecord, at: number, end: number): void {
  if (end - at < 4) return cut(record, end);
  const type = uint16(record.bytes, at + 2);
  record.ethType = type;
  decodeEtherType(record, type, at + 4, end);
}

/** First byte of Cisco HDLC, unicast and broadcast, where PPP in HDLC has 0xff or compresses its address (RFC 1662). */
const CISCO_UNICAST = 0x0f;
const CISCO_BROADCAST = 0x8f;

/** LINKTYPE_PPP_HDLC: PPP, or Cisco HDLC by its address. */
function decodePppHdlc(record: DecodingRecord, at: number, end: number): void {
  if (end - at < 1) return cut(record, end);
  const address = record.bytes[at];
  if (address === CISCO_UNICAST || address === CISCO_BROADCAST) return decodeCiscoHdlc(record, at, end);
  decodePpp(record, at, end);
}

/** LINKTYPE_FDDI: frame control, then two addresses, whose bits may be in either order: they are not shown. */
const FDDI_HEADER_LENGTH = 13;
const FDDI_LLC = 0x50;

function decodeFddi(record: DecodingRecord, at: number, end: number): void {
  if (end - at < FDDI_HEADER_LENGTH) return cut(record, end);
  const data = at + FDDI_HEADER_LENGTH;
  if ((record.bytes[at]! & 0xf0) !== FDDI_LLC) return setPayload(record, data, end);
  decodeLlc(record, end - data, data, end);
}

/** LINKTYPE_IPNET (Solaris): version, address family, hook type, length, four numbers of interfaces and zones. */
const IPNET_HEADER_LENGTH = 24;

function decodeIpnet(record: DecodingRecord, at: number, end: number): void {
  if (end - at < IPNET_HEADER_LENGTH) return cut(record, end);
  decodeRawIp(record, at + IPNET_HEADER_LENGTH, end);
}

/** LINKTYPE_PPI: version, flags, length of the whole header, link type of the frame; all little endian. */
const PPI_HEADER_LENGTH = 8;

function decodePpi(record: DecodingRecord, at: number, end: number): void {
  if (end - at < PPI_HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  const length = uint16LittleEndian(bytes, at + 2);
  if (length < PPI_HEADER_LENGTH) return malformed(record);
  if (length > end - at) return cut(record, end);
  decodeLinkType(record, uint32LittleEndian(bytes, at + 4), at + length, end);
}

/** LINKTYPE_PKTAP (Apple): length of the whole header, record type, link type of the frame, then names and numbers. */
const PKTAP_HEADER_LENGTH = 12;

function decodePktap(record: DecodingRecord, at: number, end: number): void {
  if (end - at < PKTAP_HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  const length = uint32LittleEndian(bytes, at);
  if (length < PKTAP_HEADER_LENGTH) return malformed(record);
  if (length > end - at) return cut(record, end);
  decodeLinkType(record, uint32LittleEndian(bytes, at + 8), at + length, end);
}
