import { DOIP_PORT, decodeDoip, isDoip } from "./doip.ts";
import { cut, setPayload } from "./fields.ts";
import type { PacketRecord } from "./packet-record.ts";
import { decodePtp } from "./ptp.ts";
import { decodeSomeip, isHeader, isSomeip } from "./someip.ts";

/** SOME/IP service discovery (AUTOSAR PRS_SOMEIPServiceDiscoveryProtocol, section 4.1). */
const SOMEIP_SD_PORT = 30_490;
const SOMEIP_HEADER_LENGTH = 16;
/** IEEE 1588 annex C: event and general messages. */
const PTP_EVENT_PORT = 319;
const PTP_GENERAL_PORT = 320;

/** What a UDP datagram carries, by its ports first; SOME/IP elsewhere only where the whole datagram is nothing else. */
export function decodeDatagram(record: PacketRecord, at: number, end: number): void {
  const { srcPort, dstPort, bytes } = record;
  if (dstPort === PTP_EVENT_PORT || dstPort === PTP_GENERAL_PORT) return decodePtp(record, at, end);
  if ((srcPort === DOIP_PORT || dstPort === DOIP_PORT) && isDoip(bytes, at, end)) {
    return decodeDoip(record, at, end);
  }
  if (srcPort === SOMEIP_SD_PORT || dstPort === SOMEIP_SD_PORT) {
    if (end - at < SOMEIP_HEADER_LENGTH) return end === at ? setPayload(record, at, end) : cut(record, end);
    if (isHeader(bytes, at)) return decodeSomeip(record, at, end);
  } else if (isSomeip(bytes, at, end)) return decodeSomeip(record, at, end);
  setPayload(record, at, end);
}

/** What a TCP segment carries. A message that began in an earlier segment cannot be told from other bytes. */
export function decodeSegment(record: PacketRecord, at: number, end: number): void {
  const { srcPort, dstPort, bytes } = record;
  if ((srcPort === DOIP_PORT || dstPort === DOIP_PORT) && isDoip(bytes, at, end)) {
    return decodeDoip(record, at, end);
  }
  if (isSomeip(bytes, at, end)) return decodeSomeip(record, at, end);
  setPayload(record, at, end);
}
