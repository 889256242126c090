import { ABSENT, decodeStatusNames, PacketDecoder, PacketRecord } from "@deltacap/capture";
import { ipv4Text, ipv6Text, macText } from "@deltacap/parquet";
import { expect, test } from "vitest";
import { type CaptureColumns, PacketBatch } from "../../src/packets/packet-batch.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import { frameOf } from "../support/captures/decode-rows.ts";
import { mutatedPacket, randomPacket } from "../support/captures/random-packet.ts";
import { Random, testSeed } from "../support/random.ts";
import { rowsOf } from "../support/tables/column-values.ts";

type Row = Record<string, unknown>;

const columns = packetTable.columns.filter(({ name }) => name !== packetTable.partitionColumn);
const names = columns.map(({ name }) => name);

/** A row as the table's words say it, one field of the record after another: what a batch must give. */
function expectedRow(record: PacketRecord, capture: CaptureColumns): Row {
  const { bytes, hasTime, frameOffset, frameLength } = record;
  const fields = record as unknown as Record<string, number | string | null>;
  const micros = BigInt(record.seconds) * 1_000_000n + BigInt(Math.floor(record.nanoseconds / 1000));
  const address = (offset: number, text: (bytes: Uint8Array, at: number) => string) =>
    offset === ABSENT ? null : text(bytes, offset);
  const ipText = record.ipVersion === 6 ? ipv6Text : dotted;
  const special: Row = {
    vehicle_id: capture.vehicleId,
    capture: capture.capture,
    source_id: capture.sourceId,
    ingested_at: BigInt(capture.ingestedMs) * 1000n,
    ts: hasTime ? micros : null,
    ts_nanos: hasTime ? record.nanoseconds % 1000 : null,
    eth_src: address(record.ethSrcOffset, macText),
    eth_dst: address(record.ethDstOffset, macText),
    ip_src: address(record.ipSrcOffset, ipText),
    ip_dst: address(record.ipDstOffset, ipText),
    decode_status: decodeStatusNames[record.decodeStatus],
    frame: frameLength === ABSENT ? null : [...bytes.subarray(frameOffset, frameOffset + frameLength)],
  };
  return Object.fromEntries(
    columns.map(({ name, type }) => {
      if (name in special) return [name, special[name]];
      const value = fields[camelCase(name)] ?? null;
      if (value === null || value === ABSENT) return [name, null];
      return [name, type === "long" ? BigInt(value) : value];
    }),
  );
}

function dotted(bytes: Uint8Array, at: number): string {
  return ipv4Text(new DataView(bytes.buffer, bytes.byteOffset).getUint32(at));
}

function camelCase(column: string): string {
  return column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Decodes random packets into `batch` and their rows into `model`. */
function appendRandom(random: Random, batch: PacketBatch, model: Row[], capture: CaptureColumns): void {
  const decoder = new PacketDecoder((record) => {
    batch.append(record, capture);
    model.push(expectedRow(record, capture));
  });
  let packet = randomPacket(random);
  for (let i = random.below(60); i > 0; i--) {
    packet = random.chance(0.5) ? randomPacket(random) : mutatedPacket(random, packet);
    const frame = frameOf(packet.bytes, {
      ...packet,
      seconds: random.uint32() - 2 ** 31,
      nanoseconds: 999_999_999,
    });
    frame.hasTime = random.chance(0.9);
    frame.packetNumber = model.length + 1;
    frame.sectionNumber = random.pick([ABSENT, 1]);
    frame.interfaceId = frame.sectionNumber === ABSENT ? ABSENT : random.below(3);
    frame.interfaceName = frame.sectionNumber === ABSENT ? null : random.pick([null, "eth0", "can1"]);
    frame.packetComment = random.chance(0.05) ? `comment ${random.below(5)}` : null;
    decoder.decode(frame);
  }
}

const seed = testSeed(12);
const STEPS = 80;
const MOST_TAKEN = 30;

test(`rows hold all that their records do and nothing of rows that lay there before (seed ${seed})`, () => {
  const random = new Random(seed);
  const batch = new PacketBatch(random.uint32());
  let model: Row[] = [];
  for (let step = 0; step < STEPS; step++) {
    const capture = {
      capture: `s3://captures/${step}`,
      sourceId: String(step % 7),
      vehicleId: random.chance(0.2) ? null : `car-${step % 3}`,
      ingestedMs: step,
    };
    appendRandom(random, batch, model, capture);
    const rows = random.below(model.length + 1);
    const what = random.below(5);
    if (what === 0) {
      batch.truncate(rows);
      model = model.slice(0, rows);
    } else if (what === 1) {
      batch.removeFirst(rows);
      model = model.slice(rows);
    } else if (what === 2 && random.chance(0.3)) {
      batch.clear();
      model = [];
    }
    expect(batch.rows).toBe(model.length);
    const from = random.below(model.length + 1);
    const to = from + random.below(Math.min(MOST_TAKEN, model.length - from) + 1);
    expect(rowsOf(batch.take(from, to), names)).toEqual(model.slice(from, to));
  }
});

test("columns that no row has a value of share their memory", () => {
  const batch = new PacketBatch(1);
  for (let i = 0; i < 2000; i++) {
    batch.append(new PacketRecord(), { capture: "c", sourceId: "s", vehicleId: null, ingestedMs: 0 });
  }
  const taken = batch.take(0, 2000).columns;
  const buffers = ["tcp_seq", "can_id", "can_fd", "someip_service_id", "record_number"].map((name) => {
    const column = taken[names.indexOf(name)];
    return column !== undefined && "values" in column ? column.values.buffer : null;
  });
  expect(buffers[0]).toBeInstanceOf(ArrayBuffer);
  expect(new Set(buffers).size).toBe(1);
});

test("a protocol of the first packet only is null in the thousands behind it", () => {
  const batch = new PacketBatch(1);
  const capture = { capture: "c", sourceId: "s", vehicleId: null, ingestedMs: 0 };
  batch.append(Object.assign(new PacketRecord(), { canError: 0, canId: 5 }), capture);
  for (let i = 0; i < 3000; i++) batch.append(new PacketRecord(), capture);
  const ids = rowsOf(batch.take(0, 3001), names).map(({ can_id }) => can_id);
  expect(ids).toEqual([5n, ...Array(3000).fill(null)]);
});
