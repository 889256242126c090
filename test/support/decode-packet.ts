import { Frame } from "../../src/capture/frame.ts";
import type { DecodeSettings } from "../../src/decode/decode-settings.ts";
import { PacketDecoder } from "../../src/decode/packet-decoder.ts";
import { decodeStatusNames, type PacketRecord } from "../../src/decode/packet-record.ts";

/** Fields of a record by name; those that are ABSENT are left out, offsets are relative to the frame. */
export type DecodedRow = Readonly<Record<string, number | string | boolean>>;

export interface PacketOptions {
  readonly linkType?: number;
  readonly fcsLength?: number;
  readonly originalLength?: number;
  readonly settings?: Partial<DecodeSettings>;
}

/** Bytes before the frame in its buffer: an offset that forgets where the frame begins is wrong by this much. */
const BEFORE = 37;
const ABSENT = -1;

/** The rows that a packet gives: its own, then its records'. Ethernet unless told. */
export function decodeRows(bytes: Uint8Array, options: PacketOptions = {}): DecodedRow[] {
  const rows: DecodedRow[] = [];
  const decoder = new PacketDecoder((record) => rows.push(rowOf(record)), options.settings);
  decoder.decode(frameOf(bytes, options));
  return rows;
}

/** A packet's own row. */
export function decodeRow(bytes: Uint8Array, options: PacketOptions = {}): DecodedRow {
  return decodeRows(bytes, options)[0]!;
}

/** The frame in the middle of a buffer whose other bytes are all ones, so that reading beyond the frame shows. */
export function frameOf(bytes: Uint8Array, options: PacketOptions = {}): Frame {
  const frame = new Frame();
  frame.bytes = new Uint8Array(BEFORE + bytes.length + 64).fill(0xff);
  frame.bytes.set(bytes, BEFORE);
  frame.offset = BEFORE;
  frame.capturedLength = bytes.length;
  frame.originalLength = options.originalLength ?? bytes.length;
  frame.linkType = options.linkType ?? 1;
  frame.fcsLength = options.fcsLength ?? -1;
  frame.packetNumber = 1;
  return frame;
}

/** What every packet has, whatever is in it. */
const frameFields = new Set(["bytes", "frameOffset", "packetNumber", "sectionNumber", "interfaceId"]);
const addressOffsets = new Set(["ethSrcOffset", "ethDstOffset", "ipSrcOffset", "ipDstOffset"]);
/** The decoder's own notes, no columns. */
const notes = new Set([
  "capturedEnd",
  "applicationPorts",
  "captureModule",
  "recordType",
  "recordsOffset",
  "recordsEnd",
]);

function rowOf(record: PacketRecord): DecodedRow {
  const row: Record<string, number | string | boolean> = {};
  for (const [name, value] of Object.entries(record)) {
    if (value === ABSENT || value === null || frameFields.has(name) || notes.has(name)) continue;
    if (name === "decodeStatus") row[name] = decodeStatusNames[value as 0]!;
    else row[name] = addressOffsets.has(name) ? value - record.frameOffset : value;
  }
  return row;
}
