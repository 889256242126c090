import { Application } from "../record/decode-settings.ts";
import type { DecodingRecord } from "../record/decoding-record.ts";
import { setPayload, truncated } from "../record/fields.ts";
import { decodeCanInUdp, isCanInUdp } from "../vehicle/can-in-udp.ts";
import { decodeDoip, isCutDoip, isDoip } from "../vehicle/doip.ts";
import { decodeSomeip, decodeSomeipPort, isSomeip } from "../vehicle/someip.ts";
import { decodePtp } from "./ptp.ts";

/** What a UDP datagram carries, by its ports first; SOME/IP elsewhere only where the whole datagram is nothing else. */
export function decodeDatagram(record: DecodingRecord, at: number, end: number): void {
  const { applicationPorts, bytes } = record;
  const applications = applicationPorts[record.srcPort]! | applicationPorts[record.dstPort]!;
  if (applications !== 0 && at < end) {
    if ((applications & Application.ptp) !== 0) return decodePtp(record, at, end);
    if ((applications & Application.canInUdp) !== 0 && isCanInUdp(bytes, at, end)) {
      return decodeCanInUdp(record, at, end);
    }
    if (decodeConfigured(record, applications, at, end, false)) return;
  }
  if (isSomeip(bytes, at, end)) return decodeSomeip(record, at, end);
  setPayload(record, at, end);
}

/** What a TCP segment carries. A message that began in an earlier segment cannot be told from other bytes. */
export function decodeSegment(record: DecodingRecord, at: number, end: number): void {
  if (at >= end) return setPayload(record, at, end);
  const { applicationPorts } = record;
  const applications = applicationPorts[record.srcPort]! | applicationPorts[record.dstPort]!;
  if (applications !== 0 && decodeConfigured(record, applications, at, end, true)) return;
  if (isSomeip(record.bytes, at, end)) return decodeSomeip(record, at, end);
  setPayload(record, at, end);
}

/** What settings say of ports: whether such a message was there, and is decoded. */
function decodeConfigured(
  record: DecodingRecord,
  applications: number,
  at: number,
  end: number,
  stream: boolean,
): boolean {
  if ((applications & Application.doip) !== 0) {
    if (isDoip(record.bytes, at, end)) {
      decodeDoip(record, at, end, stream);
      return true;
    }
    if (isCutDoip(record, at, end)) truncated(record);
  }
  return (applications & Application.someip) !== 0 && decodeSomeipPort(record, at, end, stream);
}
