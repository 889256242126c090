import { DecodeStatus, PacketRecord } from "@deltacap/capture";
import { describe, expect, test } from "vitest";
import { type CaptureColumns, PacketBatch } from "../../src/packets/packet-batch.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import { rowsOf } from "../support/tables/column-values.ts";

const names = packetTable.columns
  .map(({ name }) => name)
  .filter((name) => name !== packetTable.partitionColumn);

const capture: CaptureColumns = {
  capture: "s3://captures/car-1/a.pcap",
  sourceId: "00112233445566778899aabbccddeeff",
  vehicleId: "car-1",
  ingestedMs: 1_772_352_000_123,
};

function rows(batch: PacketBatch, from = 0, to = batch.rows) {
  return rowsOf(batch.take(from, to), names);
}

/** A packet of `length` bytes, all of them its number. */
function packet(number: number, length = 4): PacketRecord {
  const record = new PacketRecord();
  record.packetNumber = number;
  record.bytes = new Uint8Array(length).fill(number);
  record.frameLength = length;
  return record;
}

const numbers = (batch: PacketBatch) => rows(batch).map((row) => Number(row.packet_number));

test("a packet of which nothing is decoded has a null in every decoded column", () => {
  const batch = new PacketBatch(1);
  batch.append(packet(1), { ...capture, vehicleId: null });
  const present = Object.entries(rows(batch)[0] ?? {}).filter(([, value]) => value !== null);
  expect(Object.fromEntries(present)).toEqual({
    capture: capture.capture,
    source_id: capture.sourceId,
    packet_number: 1n,
    ts: 0n,
    ts_nanos: 0,
    link_type: 0,
    captured_length: 0n,
    original_length: 0n,
    decode_status: "ok",
    ingested_at: 1_772_352_000_123_000n,
    frame: [1, 1, 1, 1],
  });
});

test("a packet without a time has neither ts nor ts_nanos", () => {
  const batch = new PacketBatch(1);
  const record = packet(1);
  Object.assign(record, { hasTime: false, seconds: 5, nanoseconds: 7 });
  batch.append(record, capture);
  expect(rows(batch)[0]).toMatchObject({ ts: null, ts_nanos: null });
});

test("ts is in microseconds, and ts_nanos is what it leaves out, before 1970 too", () => {
  const batch = new PacketBatch(1);
  for (const [seconds, nanoseconds] of [
    [5, 123_456_789],
    [-1, 999_999_999],
  ]) {
    batch.append(Object.assign(packet(1), { seconds, nanoseconds }), capture);
  }
  expect(rows(batch).map(({ ts, ts_nanos }) => [ts, ts_nanos])).toEqual([
    [5_123_456n, 789],
    [-1n, 999],
  ]);
});

test("addresses are taken from the record's bytes, of the length that the IP version has", () => {
  const batch = new PacketBatch(1);
  const record = packet(1, 40);
  record.bytes = Uint8Array.from({ length: 40 }, (_, i) => i);
  Object.assign(record, { ethDstOffset: 0, ethSrcOffset: 6, ipVersion: 4, ipSrcOffset: 12, ipDstOffset: 16 });
  batch.append(record, capture);
  Object.assign(record, { ipVersion: 6, ipSrcOffset: 0, ipDstOffset: 16 });
  batch.append(record, capture);
  expect(rows(batch)).toMatchObject([
    {
      eth_dst: "00:01:02:03:04:05",
      eth_src: "06:07:08:09:0a:0b",
      ip_src: "12.13.14.15",
      ip_dst: "16.17.18.19",
    },
    { ip_src: "1:203:405:607:809:a0b:c0d:e0f", ip_dst: "1011:1213:1415:1617:1819:1a1b:1c1d:1e1f" },
  ]);
});

/** Fields that are not one column of the same name, and are tested above. */
const special = new Set([
  "has_time",
  "seconds",
  "nanoseconds",
  "bytes",
  "frame_offset",
  "frame_length",
  "decode_status",
  "eth_src_offset",
  "eth_dst_offset",
  "ip_src_offset",
  "ip_dst_offset",
]);

test("every field of a record comes out in the column of its name", () => {
  const record = packet(1);
  const fields = Object.keys(record).map((field) => [field, snakeCase(field)] as const);
  const expected: Record<string, unknown> = {};
  fields.forEach(([field, column], i) => {
    if (special.has(column)) return;
    const type = packetTable.columns.find(({ name }) => name === column)?.type;
    const value = type === "boolean" ? i % 2 : type === "string" ? `text ${i}` : 100 + i;
    Object.assign(record, { [field]: value });
    expected[column] = type === "long" ? BigInt(value) : value;
  });
  Object.assign(record, { decodeStatus: DecodeStatus.malformed });
  const batch = new PacketBatch(1);
  batch.append(record, capture);
  expect(rows(batch)[0]).toMatchObject({ ...expected, decode_status: "malformed" });
});

test.each([
  ["tcp_seq", "tcpSeq", { tcpFlags: 0 }],
  ["tcp_ack", "tcpAck", { tcpFlags: 0 }],
  ["ip_id", "ipId", {}],
  ["original_length", "originalLength", {}],
])("%s holds 2^32 - 1", (column, field, others) => {
  const batch = new PacketBatch(1);
  batch.append(Object.assign(packet(1), { [field]: 2 ** 32 - 1, ...others }), capture);
  expect(rows(batch)[0]?.[column]).toBe(4_294_967_295n);
});

describe("rows", () => {
  test("beyond the first 1024 keep what was stored before", () => {
    const batch = new PacketBatch(1);
    for (let i = 1; i <= 2500; i++) batch.append(packet(i, i % 7), capture);
    expect(numbers(batch)).toEqual(Array.from({ length: 2500 }, (_, i) => i + 1));
    expect(rows(batch, 2400, 2402).map((row) => row.frame)).toEqual([
      [2401, 2401, 2401, 2401, 2401, 2401, 2401].slice(0, 2401 % 7).map((n) => n & 0xff),
      [2402, 2402, 2402, 2402, 2402, 2402, 2402].slice(0, 2402 % 7).map((n) => n & 0xff),
    ]);
  });

  test("taken back from the end are overwritten by the next", () => {
    const batch = new PacketBatch(1);
    for (let i = 1; i <= 5; i++) batch.append(packet(i, 10), capture);
    batch.truncate(2);
    expect(batch.frameBytes).toBe(20);
    batch.append(packet(9, 3), { ...capture, vehicleId: "car-2" });
    expect(rows(batch).map((row) => [row.packet_number, row.vehicle_id, row.frame])).toEqual([
      [1n, "car-1", Array(10).fill(1)],
      [2n, "car-1", Array(10).fill(2)],
      [9n, "car-2", [9, 9, 9]],
    ]);
  });

  test("taken back to more than there are leave all", () => {
    const batch = new PacketBatch(1);
    batch.append(packet(1), capture);
    batch.truncate(7);
    expect(batch.rows).toBe(1);
  });

  test("removed from the front leave the others", () => {
    const batch = new PacketBatch(1);
    for (let i = 1; i <= 5; i++) batch.append(packet(i, i), capture);
    batch.removeFirst(3);
    batch.append(packet(6, 1), capture);
    expect(rows(batch).map((row) => [row.packet_number, row.frame])).toEqual([
      [4n, [4, 4, 4, 4]],
      [5n, [5, 5, 5, 5, 5]],
      [6n, [6]],
    ]);
    expect(batch.frameBytes).toBe(10);
    batch.removeFirst(3);
    expect([batch.rows, batch.bytes]).toEqual([0, 0]);
  });

  test("after clear begin anew, and a record within a packet has no frame", () => {
    const batch = new PacketBatch(1);
    batch.append(packet(1, 100), capture);
    batch.clear();
    expect([batch.rows, batch.frameBytes, batch.bytes]).toEqual([0, 0, 0]);
    const record = packet(2);
    Object.assign(record, { recordNumber: 1, frameLength: -1 });
    batch.append(record, capture);
    expect(rows(batch)).toMatchObject([{ packet_number: 2n, record_number: 1, frame: null }]);
  });
});

test("a batch counts a comment once, however many packets have it", () => {
  const batch = new PacketBatch(1);
  const comment = "c".repeat(60_000);
  for (let i = 0; i < 3; i++) batch.append(Object.assign(packet(i, 10), { packetComment: comment }), capture);
  expect(batch.bytes).toBeGreaterThan(120_000);
  expect(batch.bytes).toBeLessThan(125_000);
  batch.append(Object.assign(packet(4, 10), { packetComment: `${comment}!` }), capture);
  expect(batch.bytes).toBeGreaterThan(240_000);
});

test("rows do not depend on the seed of the address hash", () => {
  const [a, b] = [new PacketBatch(1), new PacketBatch(-77)];
  for (const batch of [a, b]) {
    for (let i = 0; i < 100; i++) batch.append(Object.assign(packet(i, 6), { ethSrcOffset: 0 }), capture);
  }
  expect(b.take(0, 100)).toEqual(a.take(0, 100));
});

function snakeCase(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
