import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { describe, expect, test } from "vitest";
import {
  comment,
  concatenated,
  filling,
  PcapMagic,
  PcapngBlocks,
  pcap,
} from "../support/captures/capture-builder.ts";
import { readPackets } from "../support/captures/read-packets.ts";
import { deltacap } from "../support/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const jsonLines = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const nanoPcap = pcap({ magic: PcapMagic.nanoseconds }, [
  { seconds: 1_772_352_000, fraction: 123_456_789, bytes: filling(60), originalLength: 1500 },
  { seconds: 1_772_409_600, fraction: 999_999_999, bytes: filling(20, 1) },
]);

const blocks = new PcapngBlocks();
const pcapng = concatenated(
  blocks.sectionHeader(),
  blocks.interfaceDescription({ name: "eth0", tsresol: 9 }),
  blocks.interfaceDescription({ name: "can0", tsresol: 9, linkType: 227 }),
  blocks.enhancedPacket({
    time: 1_772_352_000_000_000_001n,
    bytes: filling(60),
    options: [comment("begin \u{1f697}")],
  }),
  blocks.enhancedPacket({ interfaceId: 1, time: 1_772_352_000_123_456_789n, bytes: filling(16, 2) }),
  blocks.simplePacket(filling(40, 3)),
);

/** A folder with captures, and a table that does not exist yet. */
function place(captures: Readonly<Record<string, Uint8Array>>) {
  const folder = temporaryFolder();
  for (const [name, bytes] of Object.entries(captures)) {
    const path = join(folder, "captures", "car-1", name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, bytes);
  }
  const path = (name: string) => join(folder, "captures", "car-1", name);
  return { folder, captures: join(folder, "captures"), table: join(folder, "table"), path };
}

const broken = {
  "a.pcap": nanoPcap,
  "cut.pcap": nanoPcap.subarray(0, -3),
  "empty.pcap": new Uint8Array(0),
  "notes.txt": filling(30),
};

describe("ingest", () => {
  test("of good captures exits 0, and a second time adds nothing", async () => {
    const { captures, table } = place({ "a.pcap": nanoPcap, "b.pcapng": pcapng });
    const first = await deltacap("ingest", captures, "--table", table, "--json");
    expect(first).toMatchObject({ code: 0, err: "" });
    const none = { rejected: [], damaged: [], empty: 0 };
    const { version, ...summary } = jsonLines(first.out).at(-1) ?? {};
    const vehicles = { vehicles: ["car-1"], vehicle_count: 1, without_vehicle: 0 };
    expect(summary).toEqual({ ingested: 2, duplicates: 0, ...none, packets: 5, ...vehicles });
    const second = await deltacap("ingest", captures, "--table", table, "--json");
    expect(second.code).toBe(0);
    expect(jsonLines(second.out).at(-1)).toEqual({
      ingested: 0,
      duplicates: 2,
      ...none,
      packets: 0,
      version,
      ...vehicles,
    });
  });

  test("names the vehicles, and says which option helps captures that have none", async () => {
    const { captures, table, path } = place({ "a.pcap": nanoPcap });
    writeFileSync(join(captures, "beside.pcapng"), pcapng);
    const first = await deltacap("ingest", captures, "--table", table);
    expect(first.out).toMatch(/^vehicles {2}car-1$/m);
    expect(first.err).toContain("1 captures' paths do not match the key pattern {vehicle_id}/**");
    expect(first.err).toContain("beside.pcapng");
    expect(first.err).toContain("--vehicle");
    const none = await deltacap("ingest", path("a.pcap"), "--table", `${table}-none`, "--json");
    expect(none.err).toContain("no capture's path matches the key pattern");
    expect(jsonLines(none.out).at(-1)).toMatchObject({ vehicles: [], vehicle_count: 0, without_vehicle: 1 });
  });

  test("--vehicle names the vehicle of all captures, whatever their paths are", async () => {
    const { captures, table } = place({ "a.pcap": nanoPcap, "b.pcapng": pcapng });
    const { err, out } = await deltacap("ingest", captures, "--table", table, "--vehicle", "car ü/7");
    expect(err).toBe("");
    expect(out).toMatch(/^vehicles {2}car ü\/7$/m);
    const rows = await deltacap("sql", table, "select distinct vehicle_id from packets", "--json");
    expect(jsonLines(rows.out)).toEqual([{ vehicle_id: "car ü/7" }]);
  });

  test.each([
    [["--vehicle", ""], "--vehicle ID is empty"],
    [["--vehicle", "a", "--key-pattern", "{vehicle_id}/**"], "exclude each other"],
  ])("refuses %j", async (options, reason) => {
    const { captures, table } = place({ "a.pcap": nanoPcap });
    const { code, err } = await deltacap("ingest", captures, "--table", table, ...options);
    expect(code).toBe(2);
    expect(err).toContain(reason);
  });

  test("names rejected and damaged captures with reason and offset, again in a second run", async () => {
    const { captures, table, path } = place(broken);
    const url = (name: string) => pathToFileURL(path(name)).href;
    for (const ingested of [2, 0]) {
      const { code, out } = await deltacap("ingest", captures, "--table", table, "--json");
      expect(code).toBe(1);
      expect(jsonLines(out).at(-1)).toMatchObject({
        ingested,
        duplicates: 2 - ingested,
        rejected: [
          { capture: url("notes.txt"), reason: expect.stringContaining("not a capture"), offset: 0 },
        ],
        damaged: [{ capture: url("cut.pcap"), reason: expect.stringContaining("cut short"), offset: 100 }],
        empty: 1,
        packets: ingested === 0 ? 0 : 3,
      });
    }
    const text = await deltacap("ingest", captures, "--table", table);
    expect(text.out).toContain(`rejected  ${path("notes.txt")} at byte 0`);
    expect(text.out).toContain(`damaged   ${path("cut.pcap")} at byte 100`);
  });

  test.each(["ingest", "inspect", "convert"])(
    "of a path that is not there is wrong use: %s",
    async (command) => {
      const { folder } = place({});
      const more = { ingest: ["--table", join(folder, "t")], convert: ["-o", join(folder, "o")] };
      const { code, err } = await deltacap(
        command,
        join(folder, "nowhere"),
        ...(more[command as "ingest"] ?? []),
      );
      expect(code).toBe(2);
      expect(err).toContain("nowhere: there is no such file or folder");
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  test("names what cannot be read as a file, ingests the others, and exits 1", async () => {
    const { captures, table, path } = place({ "a.pcap": nanoPcap });
    symlinkSync("loop.pcap", path("loop.pcap"));
    symlinkSync(captures, path("linked"));
    const run = await deltacap("ingest", captures, "/dev/null", "--table", table, "--json");
    expect(run.code).toBe(1);
    expect(jsonLines(run.out).at(-1)).toMatchObject({
      ingested: 1,
      passed_over: [
        { path: path("linked"), reason: expect.stringContaining("links to folders are not followed") },
        { path: path("loop.pcap"), reason: expect.stringContaining("ELOOP") },
        { path: "/dev/null", reason: expect.stringContaining("a device") },
      ],
    });
    const text = await deltacap("ingest", captures, "--table", table);
    expect(text.out).toContain(`left out  ${path("loop.pcap")}: cannot be read: ELOOP`);
    expect(text.out).toContain("2 left out; the table is at version");
  });

  test("of the same file by two paths reads it once", async () => {
    const { captures, table, path } = place({ "a.pcap": nanoPcap });
    const { out } = await deltacap("ingest", captures, path("a.pcap"), "--table", table, "--json");
    expect(jsonLines(out).at(-1)).toMatchObject({ ingested: 1, duplicates: 0 });
  });

  test("two at once tell the same version, and each capture is ingested by one of them", async () => {
    const { captures, table } = place({ "a.pcap": nanoPcap, "b.pcapng": pcapng });
    const ingest = () => deltacap("ingest", captures, "--table", table, "--json");
    const both = (await Promise.all([ingest(), ingest()])).map(({ out }) => jsonLines(out).at(-1));
    expect(both.map((summary) => summary?.version)).toEqual([1, 1]);
    expect(both.map((summary) => summary?.ingested).sort()).toEqual([0, 2]);
  });

  test("notes when no path tells a vehicle", async () => {
    const { table, path } = place({ "a.pcap": nanoPcap });
    const { code, err } = await deltacap("ingest", path("a.pcap"), "--table", table);
    expect(code).toBe(0);
    expect(err).toContain("no capture's path matches the key pattern {vehicle_id}/**");
  });

  test("into what is a file is wrong use", async () => {
    const { captures, path } = place({ "a.pcap": nanoPcap });
    const { code, err } = await deltacap("ingest", captures, "--table", path("a.pcap"));
    expect([code, err]).toEqual([2, expect.stringContaining("it is a file, and a folder is expected")]);
  });
});

describe("wrong use exits 2 and says what is wrong", () => {
  test.each([
    [["ingest", "x"], "--table DIR is missing"],
    [["ingest", "--table", "t"], "PATH is missing"],
    [["ingest", "x", "--table", "t", "--jobs", "0"], "--jobs 0: a whole number from 1 to 64"],
    [["ingest", "x", "--table", "t", "--key-pattern", "{vehicle}"], "vehicle"],
    [["ingest", "x", "--table", "t", "--quick"], "--quick"],
    [["convert", "x"], "--output OUT.parquet is missing"],
    [["inspect"], "FILE or TABLE is missing"],
    [["log", "nowhere"], "is no Delta table"],
    [["log", "a", "b"], "there is also b"],
    [["sql", "nowhere"], "TABLE and a query are expected"],
    [["export", "nowhere", "--capture", "c", "-o", "o.pcap"], "is no Delta table"],
    [["frobnicate"], 'no command "frobnicate"'],
  ])("%j", async (argv, message) => {
    const { code, err, out } = await deltacap(...argv);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(message);
  });
});

test.each(["ingest", "convert", "inspect", "log", "sql", "export"])(
  "%s --help explains it and exits 0",
  async (name) => {
    const { code, out, err } = await deltacap(name, "--help");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(`Usage: deltacap ${name}`);
    expect((await deltacap("--help")).out).toContain(`  ${name}`);
  },
);

describe("export gives the packets back", () => {
  test.each([
    ["a.pcap", nanoPcap, "out.pcap"],
    ["b.pcapng", pcapng, "out.pcapng"],
  ])("of %s: bytes, lengths, times to the nanosecond, interfaces, comments", async (name, bytes, output) => {
    const { folder, captures, table, path } = place({ "a.pcap": nanoPcap, "b.pcapng": pcapng });
    await deltacap("ingest", captures, "--table", table);
    const target = join(folder, output);
    expect((await deltacap("export", table, "--capture", path(name), "-o", target)).code).toBe(0);
    const fields = (of: Uint8Array) => readPackets(of).packets;
    expect(fields(readFileSync(target))).toEqual(fields(bytes));
  });

  test("of a capture that the table does not have is wrong use", async () => {
    const { captures, table } = place({ "a.pcap": nanoPcap });
    await deltacap("ingest", captures, "--table", table);
    const { code, err } = await deltacap("export", table, "--capture", "s3://b/k", "-o", "o.pcap");
    expect(code).toBe(2);
    expect(err).toContain("the table has no packets of s3://b/k");
  });
});

test("sql, log and inspect tell what is in a table", async () => {
  const { captures, table } = place({ "a.pcap": nanoPcap, "b.pcapng": pcapng });
  await deltacap("ingest", captures, "--table", table);
  const query = "select vehicle_id, count(*)::int as n, count(date)::int as dated from packets group by 1";
  const rows = await deltacap("sql", table, query, "--json");
  expect(jsonLines(rows.out)).toEqual([{ vehicle_id: "car-1", n: 5, dated: 4 }]);
  expect(await deltacap("sql", table, "select nonsense")).toMatchObject({ code: 2 });
  const versions = jsonLines((await deltacap("log", table, "--json")).out);
  expect(versions.map(({ version }) => version)).toEqual(versions.map((_, i) => i));
  expect(versions.at(-1)).toMatchObject({ files: 3, rows: 5, sources: 2 });
  const facts = JSON.parse((await deltacap("inspect", table, "--json")).out) as object;
  expect(facts).toMatchObject({
    table: "packets",
    files: 3,
    rows: 5,
    dates: "2, from 2026-03-01 to 2026-03-02",
  });
});

test("inspect of a capture tells its packets, and exits 1 where it is damaged", async () => {
  const { path } = place(broken);
  const whole = await deltacap("inspect", path("a.pcap"), "--json");
  expect(whole.code).toBe(0);
  expect(JSON.parse(whole.out)).toMatchObject({
    end: "complete",
    packets: 2,
    first: "2026-03-01T08:00:00.123456789Z",
  });
  const cut = await deltacap("inspect", path("cut.pcap"), "--json");
  expect(cut.code).toBe(1);
  expect(JSON.parse(cut.out)).toMatchObject({ end: "damaged", at_byte: 100, packets: 1 });
});

test("convert writes the packets as one Parquet file, and none for what is no capture", async () => {
  const { folder, path } = place(broken);
  const output = join(folder, "out.parquet");
  expect((await deltacap("convert", path("notes.txt"), "-o", output)).code).toBe(1);
  expect(() => readFileSync(output)).toThrow("ENOENT");
  expect((await deltacap("convert", path("cut.pcap"), "-o", output)).code).toBe(1);
  expect((await deltacap("convert", path("a.pcap"), "-o", output)).code).toBe(0);
  const file = Uint8Array.from(readFileSync(output)).buffer;
  const rows = await parquetReadObjects({ file, compressors, utf8: false });
  expect(rows.map(({ packet_number, frame }) => [packet_number, frame])).toEqual([
    [1n, filling(60)],
    [2n, filling(20, 1)],
  ]);
});
