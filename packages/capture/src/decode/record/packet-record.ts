/** `decode_status` codes; the index into {@link decodeStatusNames}. */
export const DecodeStatus = { ok: 0, truncated: 1, malformed: 2, unsupported: 3 } as const;

/** What the table's column `decode_status` holds for each code. */
export const decodeStatusNames = ["ok", "truncated", "malformed", "unsupported"] as const;

/** The value of a numeric field that the packet does not have: a null in the table. Every real value is >= 0. */
export const ABSENT = -1;

/**
 * One row of the table, as numbers: the decoder's output. There is one instance, reset and filled for each row; a sink
 * copies what it keeps. Addresses are offsets into `bytes`, so that nothing is allocated for a packet.
 *
 * Field names are the table's column names in camel case; what each means stands in the table's schema. Where any field of a
 * protocol is there, so is the one that the columns tell the protocol by: sectionNumber, vlanId, ipVersion, ipId (of
 * the three about fragments), srcPort, tcpFlags, icmpType, canError, someipCount, doipPayloadType, ptpMessageType.
 */
export class PacketRecord {
  packetNumber = 0;
  /** ABSENT for the packet's own row. */
  recordNumber = ABSENT;
  hasTime = true;
  /** Seconds since 1970 (floor, may be negative) and nanoseconds within the second. Meaningless without `hasTime`. */
  seconds = 0;
  nanoseconds = 0;
  sectionNumber = ABSENT;
  interfaceId = ABSENT;
  interfaceName: string | null = null;
  packetComment: string | null = null;
  linkType = 0;
  capturedLength = 0;
  originalLength = 0;

  /** Buffer that all offsets below refer to; valid during the sink's call only. */
  bytes: Uint8Array = new Uint8Array(0);
  /** Where the stored frame begins in `bytes`, and its length; length ABSENT for a record row (its `frame` is null). */
  frameOffset = 0;
  frameLength = ABSENT;

  /** Offsets of 6 bytes in `bytes`, or ABSENT. */
  ethSrcOffset = ABSENT;
  ethDstOffset = ABSENT;
  ethType = ABSENT;
  vlanId = ABSENT;
  vlanPriority = ABSENT;
  innerVlanId = ABSENT;

  arpOpcode = ABSENT;

  /** 4 or 6. */
  ipVersion = ABSENT;
  ipProtocol = ABSENT;
  ipTtl = ABSENT;
  ipDscp = ABSENT;
  /** Offsets of 4 (ipVersion 4) or 16 bytes (ipVersion 6) in `bytes`, or ABSENT. */
  ipSrcOffset = ABSENT;
  ipDstOffset = ABSENT;
  ipId = ABSENT;
  ipFragmentOffset = ABSENT;
  /** Booleans are 0, 1 or ABSENT. */
  ipMoreFragments = ABSENT;

  srcPort = ABSENT;
  dstPort = ABSENT;
  tcpFlags = ABSENT;
  tcpWindow = ABSENT;
  tcpSeq = ABSENT;
  tcpAck = ABSENT;
  icmpType = ABSENT;
  icmpCode = ABSENT;

  canId = ABSENT;
  canExtended = ABSENT;
  canRemote = ABSENT;
  canError = ABSENT;
  canFd = ABSENT;
  canLength = ABSENT;

  someipServiceId = ABSENT;
  someipMethodId = ABSENT;
  someipClientId = ABSENT;
  someipSessionId = ABSENT;
  someipInterfaceVersion = ABSENT;
  someipMessageType = ABSENT;
  someipReturnCode = ABSENT;
  someipCount = ABSENT;

  doipPayloadType = ABSENT;
  doipSourceAddress = ABSENT;
  doipTargetAddress = ABSENT;
  udsServiceId = ABSENT;
  doipCount = ABSENT;

  ptpMessageType = ABSENT;
  ptpSequenceId = ABSENT;

  /** Relative to the frame's first byte; for a record's row, to that of the packet's own row. */
  payloadOffset = ABSENT;
  payloadLength = ABSENT;
  decodeStatus: number = DecodeStatus.ok;

  /** The capture module: on its packet's own row and on each record's. */
  moduleDeviceId = ABSENT;
  /** The bus that the module took the record from; 0 to 2^32-1. */
  moduleInterfaceId = ABSENT;
}

/** Receives each row in order, synchronously. */
export type RecordSink = (record: PacketRecord) => void;
