import { PacketDecoder, readCapture } from "@deltacap/capture";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { describe, expect, test } from "vitest";
import { nodeDecompressors } from "../../src/node/compression.ts";
import { nodeParquetWriter } from "../../src/node/parquet.ts";
import { PacketFiles } from "../../src/packets/packet-files.ts";
import { fileColumns } from "../../src/packets/packet-table.ts";
import { converterDefaults } from "../../src/settings.ts";
import { comment, concatenated, filling, PcapngBlocks } from "../support/captures/capture-builder.ts";
import { inChunks } from "../support/captures/read-packets.ts";
import { Traffic, vehicleMix } from "../support/captures/traffic.ts";
import { MemoryObjectStore } from "../support/memory/memory-object-store.ts";

interface Sent {
  readonly frame: Uint8Array;
  readonly linkType: number;
  /** Null for a Simple Packet Block. */
  readonly nanoseconds: bigint | null;
  readonly comment: string | null;
}

const MIDNIGHT = 1_772_409_600_000_000_000n;

/** A pcapng capture over midnight, with two interfaces, comments, and packets without a time. */
function captureOf(packets: number): { bytes: Uint8Array; sent: Sent[] } {
  const blocks = new PcapngBlocks();
  const traffic = new Traffic(3, vehicleMix);
  const sent: Sent[] = [];
  const parts = [
    blocks.sectionHeader(),
    blocks.interfaceDescription({ name: "eth0", tsresol: 9, linkType: 1 }),
    blocks.interfaceDescription({ name: "can0", tsresol: 9, linkType: 227 }),
  ];
  for (let i = 0; i < packets; i++) {
    const { bytes, linkType } = traffic.next();
    const frame = bytes.slice();
    const nanoseconds = MIDNIGHT + BigInt(i - packets / 2) * 1_000_000_001n;
    if (i % 50 === 7 && linkType === 1) {
      sent.push({ frame, linkType, nanoseconds: null, comment: null });
      parts.push(blocks.simplePacket(frame));
      continue;
    }
    const text = i % 10 === 0 ? `packet ${i} \u{1f697}` : null;
    sent.push({ frame, linkType, nanoseconds, comment: text });
    parts.push(
      blocks.enhancedPacket({
        interfaceId: linkType === 1 ? 0 : 1,
        time: nanoseconds,
        bytes: frame,
        options: text === null ? [] : [comment(text)],
      }),
    );
  }
  return { bytes: concatenated(...parts), sent };
}

async function converted(capture: Uint8Array, hashSeed = 1, chunk = 1000) {
  const store = new MemoryObjectStore();
  const files = new PacketFiles({
    batchId: "0123-abcd",
    limits: { ...converterDefaults, rows: 300 },
    parquet: nodeParquetWriter,
    create: (path) => store.create(path),
    hashSeed,
  });
  files.begin({
    capture: "s3://b/car/a.pcapng",
    sourceId: "00ff",
    vehicleId: "car",
    ingestedMs: 1_772_500_000_000,
  });
  const decoder = new PacketDecoder((record) => files.append(record));
  const end = await readCapture(
    inChunks(capture, chunk),
    nodeDecompressors,
    (frame) => decoder.decode(frame),
    converterDefaults,
    async () => {
      if (files.full) await files.makeRoom();
    },
  );
  expect(end.kind).toBe("complete");
  await files.keep();
  const written = await files.finish();
  return { written, objects: store.objects };
}

async function readBack(bytes: Uint8Array): Promise<Record<string, unknown>[]> {
  const file = bytes.slice().buffer as ArrayBuffer;
  // Microseconds stay exact: a Date would hold milliseconds.
  const parsers = { timestampFromMicroseconds: (micros: bigint) => micros as unknown as Date };
  return await parquetReadObjects({ file, compressors, utf8: false, parsers });
}

describe("files of packets", () => {
  test("give back every packet, under the date of its time", async () => {
    const { bytes, sent } = captureOf(800);
    const { written, objects } = await converted(bytes);
    const packets: (Sent | undefined)[] = [];
    for (const { path, date, rows } of written) {
      const content = await readBack(objects.get(path)?.body ?? new Uint8Array(0));
      expect(content).toHaveLength(rows);
      for (const row of content) {
        expect(Object.keys(row)).toEqual(fileColumns.map(({ name }) => name));
        const nanoseconds =
          row.ts === null ? null : (row.ts as bigint) * 1000n + BigInt(row.ts_nanos as number);
        expect(date).toBe(
          nanoseconds === null ? null : new Date(Number(nanoseconds / 1_000_000n)).toISOString().slice(0, 10),
        );
        expect(row).toMatchObject({
          capture: "s3://b/car/a.pcapng",
          source_id: "00ff",
          vehicle_id: "car",
          record_number: null,
          section_number: 1,
          ingested_at: 1_772_500_000_000_000n,
        });
        expect(row.interface_name).toBe(row.link_type === 1 ? "eth0" : "can0");
        packets[Number(row.packet_number) - 1] = {
          frame: row.frame as Uint8Array,
          linkType: row.link_type as number,
          nanoseconds,
          comment: row.packet_comment as string | null,
        };
      }
    }
    expect(packets).toEqual(sent);
    expect(new Set(written.map(({ date }) => date))).toEqual(new Set([null, "2026-03-01", "2026-03-02"]));
    expect(written.find(({ date }) => date === null)?.path).toMatch(/^date=__HIVE_DEFAULT_PARTITION__\//);
  });

  test("are the same bytes for the same capture, clock and batch id, whatever the seed of the hash", async () => {
    const { bytes } = captureOf(400);
    const [a, b] = [await converted(bytes, 1), await converted(bytes, 2)];
    expect([...a.objects.keys()]).toEqual([...b.objects.keys()]);
    for (const [path, { body }] of a.objects) {
      expect(Buffer.compare(body, b.objects.get(path)?.body ?? Buffer.alloc(0)), path).toBe(0);
    }
  });

  test("are the same bytes whatever the chunks in which the capture comes", async () => {
    const { bytes } = captureOf(2000);
    const [a, b] = await Promise.all(
      [bytes.length, 70_001].map(async (chunk) => await converted(bytes, 1, chunk)),
    );
    expect(bytes.length).toBeGreaterThan(256 * 1024);
    for (const [path, { body }] of a?.objects ?? []) {
      expect(Buffer.compare(body, b?.objects.get(path)?.body ?? Buffer.alloc(0)), path).toBe(0);
    }
  });

  test("have names of the batch id and characters that no store or engine escapes", async () => {
    const { written } = await converted(captureOf(20).bytes);
    for (const { path } of written) {
      expect(path).toMatch(/^date=[A-Za-z0-9_-]+\/0123-abcd-\d{5}\.parquet$/);
    }
  });

  test("say their exact size", async () => {
    const { written, objects } = await converted(captureOf(20).bytes);
    for (const { path, size } of written) expect(objects.get(path)?.body.length).toBe(size);
  });

  test("have statistics that hold every value, as read back", async () => {
    const { written, objects } = await converted(captureOf(800).bytes);
    for (const { path, statistics } of written) {
      const content = await readBack(objects.get(path)?.body ?? new Uint8Array(0));
      for (const { column, nullCount, bounds } of statistics) {
        const values = content.map((row) => row[column.name]).filter((value) => value !== null);
        expect(content.length - values.length, `nulls of ${column.name} in ${path}`).toBe(nullCount);
        if (bounds === null) expect(values.length === 0 || !column.statistics, column.name).toBe(true);
        else {
          const sorted = ([...values] as (number | bigint | string)[]).sort((x, y) =>
            x < y ? -1 : x > y ? 1 : 0,
          );
          expect([bounds.min, bounds.max], column.name).toEqual([sorted[0], sorted.at(-1)]);
        }
      }
    }
  });
});

test("an empty frame and one of the largest length come back whole", async () => {
  const blocks = new PcapngBlocks();
  const large = filling(262_144, 5);
  const capture = concatenated(
    blocks.sectionHeader(),
    blocks.interfaceDescription({}),
    blocks.enhancedPacket({ bytes: new Uint8Array(0), originalLength: 2 ** 32 - 1 }),
    blocks.enhancedPacket({ bytes: large }),
  );
  const { written, objects } = await converted(capture, 1, 100_000);
  const rows = await readBack(objects.get(written[0]?.path ?? "")?.body ?? new Uint8Array(0));
  expect(rows.map((row) => [row.captured_length, row.original_length])).toEqual([
    [0n, 4_294_967_295n],
    [262_144n, 262_144n],
  ]);
  expect(rows[0]?.frame).toEqual(new Uint8Array(0));
  expect(Buffer.compare(rows[1]?.frame as Uint8Array, large)).toBe(0);
});
