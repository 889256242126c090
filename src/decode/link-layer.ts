import { decodeEtherType } from "./ether-type.ts";
import { decodeEthernet, decodeLlc, decodeTypeOrLength } from "./ethernet.ts";
import { cut, setPayload, uint16, uint16LittleEndian, uint32, uint32LittleEndian } from "./fields.ts";
import { decodeIpv4 } from "./ipv4.ts";
import { decodeIpv6 } from "./ipv6.ts";
import { DecodeStatus, type PacketRecord } from "./packet-record.ts";
import { EtherType, LinkType } from "./protocol-numbers.ts";

/** Decodes a frame by its LINKTYPE_ value; an unknown one leaves the whole frame as payload. */
export function decodeLinkLayer(record: PacketRecord, at: number, end: number): void {
  switch (record.linkType) {
    case LinkType.ethernet:
      return decodeEthernet(record, at, end);
    case LinkType.linuxSll:
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
    case LinkType.ppp:
    case LinkType.pppHdlc:
      return decodePpp(record, at, end);
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

function decodeLinuxSll(record: PacketRecord, at: number, end: number): void {
  if (end - at < SLL_HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  decodeSllProtocol(record, uint16(bytes, at + 2), uint16(bytes, at + 14), at + SLL_HEADER_LENGTH, end);
}

function decodeLinuxSll2(record: PacketRecord, at: number, end: number): void {
  if (end - at < SLL2_HEADER_LENGTH) return cut(record, end);
  const { bytes } = record;
  decodeSllProtocol(record, uint16(bytes, at + 8), uint16(bytes, at), at + SLL2_HEADER_LENGTH, end);
}

/** ARPHRD_ values whose protocol field is no EtherType. */
const ARPHRD_NETLINK = 824;
const ARPHRD_IPGRE = 778;
const ARPHRD_IEEE80211_RADIOTAP = 803;
const ARPHRD_FRAD = 770;
/** Protocol values below the EtherTypes (linux/if_ether.h). */
const LINUX_LLC = 0x0004;

function decodeSllProtocol(
  record: PacketRecord,
  hardware: number,
  protocol: number,
  at: number,
  end: number,
): void {
  if (
    hardware === ARPHRD_NETLINK ||
    hardware === ARPHRD_IPGRE ||
    hardware === ARPHRD_IEEE80211_RADIOTAP ||
    hardware === ARPHRD_FRAD
  ) {
    return setPayload(record, at, end);
  }
  if (protocol === LINUX_LLC) return decodeLlc(record, end - at, at, end);
  if (protocol < EtherType.first) return setPayload(record, at, end);
  decodeTypeOrLength(record, protocol, at, end);
}

/** LINKTYPE_NULL and LINKTYPE_LOOP: an address family in the byte order of the machine that wrote it. */
function decodeLoopback(record: PacketRecord, at: number, end: number): void {
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

/** The IP version tells what it is. */
function decodeRawIp(record: PacketRecord, at: number, end: number): void {
  if (end - at < 1) return cut(record, end);
  const version = record.bytes[at]! >> 4;
  if (version === 4) return decodeIpv4(record, at, end);
  if (version === 6) return decodeIpv6(record, at, end);
  setPayload(record, at, end);
}

/** Protocol numbers of PPP (RFC 1661; IANA). */
const PPP_IPV4 = 0x0021;
const PPP_IPV6 = 0x0057;

/** RFC 1661, perhaps behind the address and control bytes of RFC 1662, perhaps with a protocol of one byte. */
function decodePpp(record: PacketRecord, at: number, end: number): void {
  const { bytes } = record;
  if (end - at >= 2 && bytes[at] === 0xff && bytes[at + 1] === 3) at += 2;
  if (end - at < 2) return cut(record, end);
  const short = (bytes[at]! & 1) === 1;
  const protocol = short ? bytes[at]! : uint16(bytes, at);
  at += short ? 1 : 2;
  if (protocol === PPP_IPV4) return decodeIpv4(record, at, end);
  if (protocol === PPP_IPV6) return decodeIpv6(record, at, end);
  setPayload(record, at, end);
}

/** LINKTYPE_IPOIB: a destination of 40 bytes, then an EtherType and two reserved bytes (RFC 4391 section 6). */
function decodeIpOverInfiniband(record: PacketRecord, at: number, end: number): void {
  if (end - at < 44) return cut(record, end);
  decodeEtherType(record, uint16(record.bytes, at + 40), at + 44, end);
}

/** LINKTYPE_NFLOG: family, version, resource, then type-length-value attributes in the writer's byte order. */
const NFULA_PAYLOAD = 9;

function decodeNflog(record: PacketRecord, at: number, end: number): void {
  if (end - at < 4) return cut(record, end);
  const { bytes } = record;
  const family = bytes[at]!;
  at += 4;
  while (end - at >= 4) {
    const length = uint16LittleEndian(bytes, at);
    if (length < 4) return setPayload(record, at, end);
    if ((uint16LittleEndian(bytes, at + 2) & 0x7fff) === NFULA_PAYLOAD) {
      const payloadEnd = Math.min(end, at + length);
      if (family === 2) return decodeIpv4(record, at + 4, payloadEnd);
      if (family === 10) return decodeIpv6(record, at + 4, payloadEnd);
      return setPayload(record, at + 4, payloadEnd);
    }
    at += (length + 3) & ~3;
  }
  cut(record, end);
}
