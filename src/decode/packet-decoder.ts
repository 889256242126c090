import type { Frame } from "../capture/frame.ts";
import { decodeLinkLayer } from "./link-layer.ts";
import { ABSENT, DecodeStatus, PacketRecord, type RecordSink } from "./packet-record.ts";

/**
 * Turns frames into table rows. The one reused record is reset, filled and given to the sink for each row; nothing is
 * allocated for a packet.
 */
export class PacketDecoder {
  readonly #sink: RecordSink;
  readonly #record = new PacketRecord();

  constructor(sink: RecordSink) {
    this.#sink = sink;
  }

  /** Decodes one frame and calls the sink for its row. Never throws but for what the sink throws. */
  decode(frame: Frame): void {
    const record = this.#record;
    resetHeaders(record);
    copyFrame(record, frame);
    const end = frame.offset + frame.capturedLength;
    const fcs = frame.fcsLength > 0 && frame.capturedLength >= frame.originalLength ? frame.fcsLength : 0;
    decodeLinkLayer(record, frame.offset, Math.max(frame.offset, end - fcs));
    this.#sink(record);
  }
}

function copyFrame(record: PacketRecord, frame: Frame): void {
  record.packetNumber = frame.packetNumber;
  record.recordNumber = ABSENT;
  record.hasTime = frame.hasTime;
  record.seconds = frame.seconds;
  record.nanoseconds = frame.nanoseconds;
  record.sectionNumber = frame.sectionNumber;
  record.interfaceId = frame.interfaceId;
  record.interfaceName = frame.interfaceName;
  record.packetComment = frame.packetComment;
  record.linkType = frame.linkType;
  record.capturedLength = frame.capturedLength;
  record.originalLength = frame.originalLength;
  record.bytes = frame.bytes;
  record.frameOffset = frame.offset;
  record.frameLength = frame.capturedLength;
}

/** Every field that a decoder may leave out. */
function resetHeaders(record: PacketRecord): void {
  record.ethSrcOffset = ABSENT;
  record.ethDstOffset = ABSENT;
  record.ethType = ABSENT;
  record.vlanId = ABSENT;
  record.vlanPriority = ABSENT;
  record.innerVlanId = ABSENT;
  record.arpOpcode = ABSENT;
  record.ipVersion = ABSENT;
  record.ipProtocol = ABSENT;
  record.ipTtl = ABSENT;
  record.ipDscp = ABSENT;
  record.ipSrcOffset = ABSENT;
  record.ipDstOffset = ABSENT;
  record.ipId = ABSENT;
  record.ipFragmentOffset = ABSENT;
  record.ipMoreFragments = ABSENT;
  record.srcPort = ABSENT;
  record.dstPort = ABSENT;
  record.tcpFlags = ABSENT;
  record.tcpWindow = ABSENT;
  record.tcpSeq = ABSENT;
  record.tcpAck = ABSENT;
  record.icmpType = ABSENT;
  record.icmpCode = ABSENT;
  record.canId = ABSENT;
  record.canExtended = ABSENT;
  record.canRemote = ABSENT;
  record.canError = ABSENT;
  record.canFd = ABSENT;
  record.canLength = ABSENT;
  record.someipServiceId = ABSENT;
  record.someipMethodId = ABSENT;
  record.someipClientId = ABSENT;
  record.someipSessionId = ABSENT;
  record.someipInterfaceVersion = ABSENT;
  record.someipMessageType = ABSENT;
  record.someipReturnCode = ABSENT;
  record.someipCount = ABSENT;
  record.doipPayloadType = ABSENT;
  record.doipSourceAddress = ABSENT;
  record.doipTargetAddress = ABSENT;
  record.udsServiceId = ABSENT;
  record.ptpMessageType = ABSENT;
  record.ptpSequenceId = ABSENT;
  record.payloadOffset = ABSENT;
  record.payloadLength = ABSENT;
  record.decodeStatus = DecodeStatus.ok;
}
