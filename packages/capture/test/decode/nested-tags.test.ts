import { expect, test } from "vitest";
import { PacketDecoder } from "../../src/decode/packet-decoder.ts";
import { DecodeStatus } from "../../src/decode/record/packet-record.ts";
import { Frame } from "../../src/read/frame.ts";

const CISCO_METADATA = 0x8909;
const MACSEC = 0x88e5;

/**
 * Length of a tag that leads to another EtherType, where in it that EtherType stands, and how a packet full of it ends: MACsec
 * takes its integrity check value from the end, so that the tags meet it before the captured bytes end.
 */
const tags = [
  ["Cisco MetaData", CISCO_METADATA, 8, 6, DecodeStatus.truncated],
  ["MACsec without encryption", MACSEC, 8, 6, DecodeStatus.malformed],
] as const;

test.each(tags)(
  "the largest packet, full of %s in itself, costs no stack",
  (_, type, length, next, status) => {
    const bytes = new Uint8Array(262_144);
    const view = new DataView(bytes.buffer);
    view.setUint16(12, type);
    for (let at = 14; at + length <= bytes.length; at += length) view.setUint16(at + next, type);
    expect(statusOf(bytes)).toBe(status);
  },
);

test.each(tags)("what lies behind two tags of %s is decoded", (_, type, length, next) => {
  const bytes = new Uint8Array(14 + 2 * length + 28 + 32);
  const view = new DataView(bytes.buffer);
  view.setUint16(12, type);
  view.setUint16(14 + next, type);
  view.setUint16(14 + length + next, 0x0806);
  view.setUint32(14 + 2 * length, 0x00010800);
  view.setUint32(14 + 2 * length + 4, 0x06040002);
  let opcode = -1;
  decoded(bytes, (record) => {
    opcode = record.arpOpcode;
  });
  expect(opcode).toBe(2);
});

function statusOf(bytes: Uint8Array): number {
  let status = -1;
  decoded(bytes, (record) => {
    status = record.decodeStatus;
  });
  return status;
}

function decoded(bytes: Uint8Array, sink: ConstructorParameters<typeof PacketDecoder>[0]): void {
  const frame = new Frame();
  frame.bytes = bytes;
  frame.capturedLength = bytes.length;
  frame.originalLength = bytes.length;
  frame.linkType = 1;
  frame.packetNumber = 1;
  new PacketDecoder(sink).decode(frame);
}
