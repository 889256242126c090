import type { DecodingRecord } from "../record/decoding-record.ts";
import { setPayload } from "../record/fields.ts";
import { IpProtocol } from "../record/protocol-numbers.ts";
import { decodeIcmp } from "./icmp.ts";
import { decodeSctp } from "./sctp.ts";
import { decodeTcp } from "./tcp.ts";
import { decodeUdp } from "./udp.ts";

/** What the outermost IP header carries. Tunnels are payload: columns mean the outermost IP header. */
export function decodeTransport(record: DecodingRecord, protocol: number, at: number, end: number): void {
  switch (protocol) {
    case IpProtocol.tcp:
      return decodeTcp(record, at, end);
    case IpProtocol.udp:
      return decodeUdp(record, at, end);
    case IpProtocol.sctp:
      return decodeSctp(record, at, end);
    case IpProtocol.icmp:
    case IpProtocol.icmpv6:
      return decodeIcmp(record, at, end);
    default:
      return setPayload(record, at, end);
  }
}
