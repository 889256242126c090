import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { byteOrders, concatenated, type Option, PcapngBlocks } from "../support/captures/capture-builder.ts";
import { deltacap } from "../support/command-line.ts";
import { Random, testSeed } from "../support/random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const CAPTURES = 8;
const utf8 = new TextEncoder();

/** Sections with and without interfaces and packets; packets with possible, impossible and no times; comments of all kinds. */
function randomCapture(random: Random): Uint8Array {
  const blocks = new PcapngBlocks(random.pick(byteOrders));
  const parts: Uint8Array[] = [];
  const sections = random.between(1, 9);
  for (let section = 1; section <= sections; section++) {
    parts.push(blocks.sectionHeader());
    const interfaces = section === sections ? random.between(1, 4) : random.between(0, 4);
    const snapLength = random.pick([0, 5, 8, 60]);
    for (let i = 0; i < interfaces; i++) parts.push(randomInterface(random, blocks, snapLength));
    const packets = interfaces === 0 ? 0 : random.between(section === sections ? 1 : 0, 8);
    for (let i = 0; i < packets; i++) parts.push(randomPacket(random, blocks, interfaces, snapLength));
  }
  return concatenated(...parts);
}

function randomInterface(random: Random, blocks: PcapngBlocks, snapLength: number): Uint8Array {
  const name = random.pick([null, "", "eth0", "can \u{1f697}"]);
  return blocks.interfaceDescription({
    linkType: random.pick([1, 101, 227]),
    snapLength,
    // Not fractions of 2: such a clock can tell nanoseconds and impossible times, and the writer takes two interfaces for that.
    tsresol: random.pick([0, 6, 9]),
    tsoffset: random.pick([0n, 0n, -5_000_000_000n, 200_000_000_000n]),
    ...(name === null ? {} : { name }),
  });
}

function randomPacket(
  random: Random,
  blocks: PcapngBlocks,
  interfaces: number,
  snapLength: number,
): Uint8Array {
  if (random.chance(0.4)) {
    const original = random.between(0, 100);
    // Without a snapshot length the block's room may cut it, a multiple of 4.
    const captured =
      snapLength === 0 ? random.pick([original, original & ~7]) : Math.min(original, snapLength);
    return blocks.simplePacket(random.bytes(captured), original);
  }
  const bytes = random.bytes(random.between(0, 70));
  return blocks.enhancedPacket({
    interfaceId: random.below(interfaces),
    time: random.pick([
      1_772_352_000_123_456_789n,
      1_772_352_000_123_456n,
      BigInt(random.uint32()),
      2n ** 63n + BigInt(random.uint32()),
      2n ** 64n - 1n,
    ]),
    bytes,
    originalLength: random.pick([bytes.length, bytes.length + 1, 1500, 3]),
    options: random.pick<Option[]>([
      [],
      [[1, utf8.encode("begin \u{1f697}")]],
      [[1, utf8.encode("")]],
      [
        [1, utf8.encode("x".repeat(65_000))],
        [1, utf8.encode("a\nb".repeat(20_000))],
      ],
      [[1, new Uint8Array(60_000).fill(0x80)]],
    ]),
  });
}

const seed = testSeed(20);
test(`random captures are the same rows again after export (seed ${seed})`, async () => {
  const random = new Random(seed);
  const folder = temporaryFolder();
  const [first, second] = [join(folder, "first", "car"), join(folder, "second", "car")];
  for (const place of [first, second]) mkdirSync(place, { recursive: true });
  const names = Array.from({ length: CAPTURES }, (_, i) => `${i}.pcapng`);
  for (const name of names) writeFileSync(join(first, name), randomCapture(random));
  const tables = [join(folder, "table-1"), join(folder, "table-2")] as const;
  expect((await deltacap("ingest", join(first, ".."), "--table", tables[0])).code).toBe(0);
  for (const name of names) {
    const argv = ["--capture", join(first, name), "-o", join(second, name)];
    const { code, err } = await deltacap("export", tables[0], ...argv);
    expect([name, code, err]).toEqual([name, 0, ""]);
  }
  expect((await deltacap("ingest", join(second, ".."), "--table", tables[1])).code).toBe(0);
  const query =
    "select parse_filename(capture) as name, * exclude (capture, source_id, ingested_at) from packets order by name, packet_number, record_number";
  const rows = await Promise.all(tables.map((table) => deltacap("sql", table, query, "--json")));
  expect(rows[1]?.out.split("\n")).toEqual(rows[0]?.out.split("\n"));
  expect(rows[0]?.out.split("\n").length).toBeGreaterThan(CAPTURES);
}, 120_000);
