import { decodeArp } from "./arp.ts";
import { decodeMacsec, decodeMetaData, decodeMpls, decodeNsh, decodePppoe } from "./encapsulation.ts";
import { setPayload } from "./fields.ts";
import { decodeIpv4 } from "./ipv4.ts";
import { decodeIpv6 } from "./ipv6.ts";
import type { PacketRecord } from "./packet-record.ts";
import { EtherType } from "./protocol-numbers.ts";
import { decodePtp } from "./ptp.ts";

/** What an EtherType announces. One that this table does not decode leaves its bytes as the payload. */
export function decodeEtherType(record: PacketRecord, type: number, at: number, end: number): void {
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
    case EtherType.macsec:
      return decodeMacsec(record, at, end);
    case EtherType.nsh:
      return decodeNsh(record, at, end);
    case EtherType.metaData:
      return decodeMetaData(record, at, end);
    default:
      return setPayload(record, at, end);
  }
}
