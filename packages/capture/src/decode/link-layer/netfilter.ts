import { decodeIpv4 } from "../internet/ipv4.ts";
import { decodeIpv6 } from "../internet/ipv6.ts";
import type { DecodingRecord } from "../record/decoding-record.ts";
import { cut, setPayload, uint16, uint16LittleEndian } from "../record/fields.ts";
import { decodeRawIp } from "./encapsulation.ts";

/** Attributes that hold the packet (linux/netfilter/nfnetlink_log.h, nfnetlink_queue.h). */
const NFULA_PAYLOAD = 9;
const NFQA_PAYLOAD = 10;

/** LINKTYPE_NFLOG: family, version, resource, then attributes in the byte order of the machine that wrote them. */
export function decodeNflog(record: DecodingRecord, at: number, end: number): void {
  decodeNetfilterMessage(record, at, end, NFULA_PAYLOAD);
}

/** Netlink message header: length, type, flags, sequence, port (linux/netlink.h). */
const NETLINK_HEADER_LENGTH = 16;
const NETLINK_NETFILTER = 12;
const SUBSYSTEM_QUEUE = 3;
const SUBSYSTEM_LOG = 4;

/** A netlink message in a cooked capture: packets that netfilter queued or logged are decoded, others are payload. */
export function decodeNetlink(record: DecodingRecord, family: number, at: number, end: number): void {
  if (family !== NETLINK_NETFILTER) return setPayload(record, at, end);
  if (end - at < NETLINK_HEADER_LENGTH) return cut(record, end);
  const type = nativeUint16(record, at + 4);
  const isPacket = (type & 0xff) === 0;
  const subsystem = type >> 8;
  const body = at + NETLINK_HEADER_LENGTH;
  if (isPacket && subsystem === SUBSYSTEM_QUEUE)
    return decodeNetfilterMessage(record, body, end, NFQA_PAYLOAD);
  if (isPacket && subsystem === SUBSYSTEM_LOG)
    return decodeNetfilterMessage(record, body, end, NFULA_PAYLOAD);
  setPayload(record, body, end);
}

/** Each attribute is at least 4 bytes long, so that the loop ends with the packet. */
function decodeNetfilterMessage(record: DecodingRecord, at: number, end: number, payloadType: number): void {
  if (end - at < 4) return cut(record, end);
  const { bytes } = record;
  const family = bytes[at]!;
  at += 4;
  while (at < end) {
    if (end - at < 4) return cut(record, end);
    const length = nativeUint16(record, at);
    if (length < 4) break;
    if ((nativeUint16(record, at + 2) & 0x7fff) === payloadType) {
      const payloadEnd = Math.min(end, at + length);
      if (family === 2) return decodeIpv4(record, at + 4, payloadEnd);
      if (family === 10) return decodeIpv6(record, at + 4, payloadEnd);
      // Rules of the families inet, netdev and bridge: the packet's own first byte says which IP it is.
      return decodeRawIp(record, at + 4, payloadEnd);
    }
    at += (length + 3) & ~3;
  }
  setPayload(record, Math.min(at, end), end);
}

/** Netlink's numbers are in the byte order of the machine, which is that of the capture it wrote. */
function nativeUint16(record: DecodingRecord, at: number): number {
  return record.bigEndian ? uint16(record.bytes, at) : uint16LittleEndian(record.bytes, at);
}
