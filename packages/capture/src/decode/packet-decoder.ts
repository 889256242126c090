import type { Frame } from "../read/frame.ts";
import { decodeEthernet } from "./link-layer/ethernet.ts";
import { decodeLinkLayer } from "./link-layer/link-layer.ts";
import {
  applicationPorts,
  type DecodeSettings,
  decodeDefaults,
  defaultApplicationPorts,
} from "./record/decode-settings.ts";
import { beginPacket, beginRecord, CaptureModule, DecodingRecord } from "./record/decoding-record.ts";
import { ABSENT, type RecordSink } from "./record/packet-record.ts";
import { decodeModuleRecord } from "./vehicle/capture-module.ts";
import { NO_RECORD } from "./vehicle/module-record.ts";

/**
 * Turns frames into table rows. The one reused record is reset, filled and given to the sink for each row; nothing is
 * allocated for a packet. Work is linear in the packet's length.
 */
export class PacketDecoder {
  readonly #sink: RecordSink;
  readonly #record: DecodingRecord;

  constructor(sink: RecordSink, settings?: Partial<DecodeSettings>) {
    this.#sink = sink;
    this.#record = new DecodingRecord(
      settings === undefined ? defaultApplicationPorts : applicationPorts({ ...decodeDefaults, ...settings }),
    );
  }

  /**
   * Decodes one frame and calls the sink for its own row, then for each record inside a capture module's packet. Never throws
   * but for what the sink throws.
   */
  decode(frame: Frame): void {
    const record = this.#record;
    beginPacket(record, frame);
    decodeLinkLayer(record, frame.offset, record.capturedEnd);
    const { captureModule } = record;
    this.#sink(record);
    if (captureModule !== CaptureModule.none) this.#decodeRecords(frame, captureModule);
  }

  /** A capture module's packet inside a record is the record's payload: records are not nested. */
  #decodeRecords(frame: Frame, captureModule: number): void {
    const record = this.#record;
    const { recordType, recordsEnd, moduleDeviceId } = record;
    let at = record.recordsOffset;
    for (let recordNumber = 1; ; recordNumber++) {
      beginRecord(record, frame, recordNumber);
      record.moduleDeviceId = moduleDeviceId;
      at = decodeModuleRecord(record, captureModule, recordType, at, recordsEnd);
      if (at === NO_RECORD) return;
      const ethernetFrame = record.ethernetFrameOffset;
      if (ethernetFrame !== ABSENT) decodeEthernet(record, ethernetFrame, record.capturedEnd);
      this.#sink(record);
    }
  }
}
