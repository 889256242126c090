import { expect, test } from "vitest";
import { frameOf } from "../../../../test/support/captures/decode-rows.ts";
import {
  mutatedPacket,
  type RandomPacket,
  randomPacket,
} from "../../../../test/support/captures/random-packet.ts";
import { watchReads } from "../../../../test/support/captures/watched-bytes.ts";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { PacketDecoder } from "../../src/decode/packet-decoder.ts";
import { ABSENT, decodeStatusNames, PacketRecord } from "../../src/decode/record/packet-record.ts";

const seed = testSeed(6);
const EVERY_RUN = 20_000;
const packets = Number(process.env.DELTACAP_FUZZ_PACKETS ?? EVERY_RUN);

/** A SOME/IP datagram is read twice, for what it is and for how many; each header of 4 bytes or more is read a few times. */
const READS_PER_BYTE = 4;
const READS_PER_PACKET = 100;
/** A record of CAN in UDP; no module's record is shorter. */
const SHORTEST_RECORD = 15;

const addressLengths = { ethSrcOffset: 6, ethDstOffset: 6, ipSrcOffset: 4, ipDstOffset: 4 } as const;
const numbers = Object.entries(new PacketRecord())
  .filter(([, value]) => typeof value === "number")
  .map(([name]) => name as NumberName);
type NumberName = {
  [Name in keyof PacketRecord]: PacketRecord[Name] extends number ? Name : never;
}[keyof PacketRecord];

/** Greatest values of fields that are narrower than their columns. */
const greatest: Partial<Record<NumberName, number>> = {
  ethType: 0xffff,
  vlanId: 0xfff,
  vlanPriority: 7,
  innerVlanId: 0xfff,
  arpOpcode: 0xffff,
  ipVersion: 6,
  ipProtocol: 0xff,
  ipTtl: 0xff,
  ipDscp: 0x3f,
  ipFragmentOffset: 0xfff8,
  ipMoreFragments: 1,
  srcPort: 0xffff,
  dstPort: 0xffff,
  tcpFlags: 0xfff,
  tcpWindow: 0xffff,
  icmpType: 0xff,
  icmpCode: 0xff,
  canId: 0x1fff_ffff,
  canExtended: 1,
  canRemote: 1,
  canError: 1,
  canFd: 1,
  canLength: 0xffff,
  someipMessageType: 0xff,
  doipPayloadType: 0xffff,
  udsServiceId: 0xff,
  ptpMessageType: 15,
  ptpSequenceId: 0xffff,
  moduleDeviceId: 0xffff,
  decodeStatus: decodeStatusNames.length - 1,
  /** A module's 64 bits of nanoseconds. */
  seconds: 18_446_744_073,
  nanoseconds: 999_999_999,
};

/** Packets that begin with one tree of headers: the first as it is, the others mutated. */
const VARIANTS = 8;

test(`${packets} packets of mutated structure: no throw, nothing outside the frame, linear work (seed ${seed})`, () => {
  const random = new Random(seed);
  const faults: string[] = [];
  let rows: PacketRecord[] = [];
  const decoder = new PacketDecoder((record) => rows.push({ ...record }));
  const reached = new Reached();
  let tree = randomPacket(random);
  for (let i = 0; i < packets && faults.length < 3; i++) {
    if (i % VARIANTS === 0) tree = randomPacket(random);
    const packet = i % VARIANTS === 0 ? tree : mutatedPacket(random, tree);
    rows = [];
    const fault = faultOf(packet, decoder, () => rows);
    if (fault !== null)
      faults.push(`packet ${i}, link type ${packet.linkType}: ${fault}\n${hex(packet.bytes)}`);
    for (const row of rows) reached.add(row);
  }
  expect(faults.join("\n")).toBe("");
  if (packets > EVERY_RUN) console.log(`seed ${seed}: ${packets} packets of mutated structure`);
  // A fuzz that never gets to a decoder says nothing of it.
  if (packets >= EVERY_RUN) expect(reached.missing()).toEqual([]);
});

/** Which fields have been filled, and which statuses given. */
class Reached {
  readonly #fields = new Set(numbers.filter((name) => name !== "interfaceId" && name !== "sectionNumber"));
  readonly #statuses = new Set<string>(decodeStatusNames);

  add(row: PacketRecord): void {
    for (const name of this.#fields) if (row[name] > 0) this.#fields.delete(name);
    this.#statuses.delete(decodeStatusNames[row.decodeStatus as 0]);
  }

  missing(): string[] {
    return [...this.#fields, ...this.#statuses];
  }
}

function faultOf(packet: RandomPacket, decoder: PacketDecoder, rowsOf: () => PacketRecord[]): string | null {
  const frame = frameOf(packet.bytes, packet);
  const length = frame.capturedLength;
  const watched = watchReads(frame);
  try {
    decoder.decode(frame);
  } catch (error) {
    return `threw ${String(error)}`;
  }
  if (watched.outside.length > 0)
    return `read outside of the frame, at ${watched.outside.slice(0, 5).join(", ")}`;
  if (watched.reads > READS_PER_PACKET + READS_PER_BYTE * length)
    return `${watched.reads} reads for ${length} bytes`;
  const rows = rowsOf();
  if (rows.length > 1 + length / SHORTEST_RECORD) return `${rows.length} rows from ${length} bytes`;
  for (const [index, row] of rows.entries()) {
    const fault = faultOfRow(row, index, length);
    if (fault !== null) return `row ${index}: ${fault}`;
  }
  const again: PacketRecord[] = [];
  new PacketDecoder((record) => again.push({ ...record })).decode(frame);
  return differenceOf(rows, again);
}

function faultOfRow(row: PacketRecord, index: number, length: number): string | null {
  if (row.recordNumber !== (index === 0 ? ABSENT : index)) return `record number ${row.recordNumber}`;
  if (row.frameLength !== (index === 0 ? length : ABSENT)) return `frame length ${row.frameLength}`;
  if (row.capturedLength < 0 || row.capturedLength > length) return `captured length ${row.capturedLength}`;
  for (const name of numbers) {
    const value = row[name];
    if (!Number.isSafeInteger(value) || value < ABSENT || value > (greatest[name] ?? 0xffff_ffff)) {
      return `${name} is ${value}`;
    }
  }
  for (const [name, bytes] of Object.entries(addressLengths)) {
    const offset = row[name as keyof typeof addressLengths];
    const wanted = bytes === 4 && row.ipVersion === 6 ? 16 : bytes;
    if (offset === ABSENT) continue;
    if (offset < row.frameOffset || offset + wanted > row.frameOffset + length) return `${name} is ${offset}`;
  }
  if ((row.payloadOffset === ABSENT) !== (row.payloadLength === ABSENT)) return "half a payload";
  if (row.payloadOffset !== ABSENT && row.payloadOffset + row.payloadLength > length) {
    return `payload of ${row.payloadLength} bytes at ${row.payloadOffset} in ${length}`;
  }
  return null;
}

/** A decoder that has decoded other packets before must give what a new one gives. */
function differenceOf(rows: readonly PacketRecord[], again: readonly PacketRecord[]): string | null {
  if (rows.length !== again.length) return `${rows.length} rows, ${again.length} from a new decoder`;
  for (const [index, row] of rows.entries()) {
    const name = numbers.find((field) => row[field] !== again[index]?.[field]);
    if (name !== undefined)
      return `row ${index}: ${name} is ${row[name]}, ${again[index]?.[name]} from a new decoder`;
  }
  return null;
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
