export { PacketDecoder } from "./decode/packet-decoder.ts";
export type { DecodeSettings } from "./decode/record/decode-settings.ts";
export {
  ABSENT,
  DecodeStatus,
  decodeStatusNames,
  PacketRecord,
  type RecordSink,
} from "./decode/record/packet-record.ts";
export type { CaptureLimits } from "./read/capture-limits.ts";
export { type CaptureEnd, CaptureReader } from "./read/capture-reader.ts";
export { concatenated } from "./read/concatenated.ts";
export type { DecompressionLimits } from "./read/decompress.ts";
export { DamagedStreamError, type Decompressor, type Decompressors } from "./read/decompressor.ts";
export { Frame, type FrameSink } from "./read/frame.ts";
export { readCapture, readInto } from "./read/read-capture.ts";
export { RejectedCaptureError } from "./read/rejected-capture.ts";
export {
  type CaptureWriter,
  type InterfaceToWrite,
  type PacketToWrite,
  PcapngWriter,
  PcapWriter,
  UnwritableError,
} from "./write/capture-writer.ts";
