import type { DecodeSettings } from "@deltacap/capture";
import { ABSENT, decodeStatusNames, Frame, PacketDecoder, type PacketRecord } from "@deltacap/capture";
import { ipv4Text, ipv6Text, macText } from "@deltacap/parquet";

/** What of a row is there, without what the frame itself says: addresses as text, booleans as booleans, status by name. */
export type Row = Record<string, number | string | boolean>;

export interface FrameOptions {
  readonly linkType?: number;
  readonly originalLength?: number;
  readonly fcsLength?: number;
  readonly bigEndian?: boolean;
  readonly seconds?: number;
  readonly nanoseconds?: number;
  readonly hasTime?: boolean;
  readonly packetComment?: string;
  readonly settings?: Partial<DecodeSettings>;
}

/** The frame, at an odd place of a larger buffer full of other bytes: a decoder that reads beyond it is found out. */
export function frameOf(bytes: Uint8Array, options: FrameOptions = {}): Frame {
  const frame = new Frame();
  frame.offset = 7;
  frame.bytes = new Uint8Array(bytes.length + 64).fill(0xa5);
  frame.bytes.set(bytes, frame.offset);
  frame.capturedLength = bytes.length;
  frame.originalLength = options.originalLength ?? bytes.length;
  frame.linkType = options.linkType ?? 1;
  frame.fcsLength = options.fcsLength ?? -1;
  frame.bigEndian = options.bigEndian ?? false;
  frame.packetNumber = 1;
  frame.seconds = options.seconds ?? 1_700_000_000;
  frame.nanoseconds = options.nanoseconds ?? 0;
  frame.hasTime = options.hasTime ?? true;
  frame.packetComment = options.packetComment ?? null;
  return frame;
}

/** Copies of all records that one frame gives, its own first. */
export function decodedRecords(bytes: Uint8Array, options: FrameOptions = {}): PacketRecord[] {
  const records: PacketRecord[] = [];
  const decoder = new PacketDecoder((record) => records.push({ ...record }), options.settings);
  decoder.decode(frameOf(bytes, options));
  return records;
}

/** The frame's own row; it must be the only one. */
export function decoded(bytes: Uint8Array, options: FrameOptions = {}): Row {
  const [own, ...others] = decodedRecords(bytes, options).map(rowOf);
  if (own === undefined || others.length > 0)
    throw new Error(`${others.length} records beside the packet's row`);
  return own;
}

/** The rows of the records inside a capture module's packet. */
export function decodedInner(bytes: Uint8Array, options: FrameOptions = {}): Row[] {
  return decodedRecords(bytes, options).slice(1).map(rowOf);
}

const ofFrame = new Set([
  ...["packetNumber", "sectionNumber", "interfaceId", "linkType", "capturedLength", "originalLength"],
  ...["seconds", "nanoseconds", "frameOffset", "frameLength", "recordNumber"],
  ...["capturedEnd", "captureModule", "recordType", "recordsOffset", "recordsEnd"],
]);
const addresses = new Set(["ethSrcOffset", "ethDstOffset", "ipSrcOffset", "ipDstOffset"]);
const booleans = new Set(["ipMoreFragments", "canExtended", "canRemote", "canError", "canFd"]);

export function rowOf(record: PacketRecord): Row {
  const row: Row = {};
  for (const [name, value] of Object.entries(record)) {
    if (typeof value !== "number" || value === ABSENT || ofFrame.has(name)) continue;
    if (name === "decodeStatus") row[name] = decodeStatusNames[value] ?? `unknown ${value}`;
    else if (booleans.has(name)) row[name] = value === 1;
    else if (addresses.has(name)) row[name.slice(0, -"Offset".length)] = addressText(record, name, value);
    else row[name] = value;
  }
  return row;
}

function addressText(record: PacketRecord, name: string, offset: number): string {
  if (name.startsWith("eth")) return macText(record.bytes, offset);
  if (record.ipVersion === 6) return ipv6Text(record.bytes, offset);
  const { buffer, byteOffset } = record.bytes;
  return ipv4Text(new DataView(buffer, byteOffset).getUint32(offset));
}
