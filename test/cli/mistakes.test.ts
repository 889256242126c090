import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { textTable } from "../../cli/terminal/text-table.ts";
import { engineInfo } from "../../src/settings.ts";
import { concatenated, filling, PcapMagic, PcapngBlocks, pcap } from "../support/captures/capture-builder.ts";
import { deltacap } from "../support/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

function place(captures: Readonly<Record<string, Uint8Array>>) {
  const folder = temporaryFolder();
  const car = join(folder, "captures", "car-1");
  mkdirSync(car, { recursive: true });
  for (const [name, bytes] of Object.entries(captures)) writeFileSync(join(car, name), bytes);
  return {
    folder,
    captures: join(folder, "captures"),
    table: join(folder, "table"),
    path: (name: string) => join(car, name),
  };
}

const blocks = new PcapngBlocks();
const twoLinkTypes = concatenated(
  blocks.sectionHeader(),
  blocks.interfaceDescription({ name: "eth0", tsresol: 9 }),
  blocks.interfaceDescription({ name: "\u001b[31mcan0\u0007\n", tsresol: 9, linkType: 227 }),
  blocks.enhancedPacket({ time: 1_772_352_000_000_000_001n, bytes: filling(60) }),
  blocks.enhancedPacket({ interfaceId: 1, time: 1_772_352_000_000_000_001n, bytes: filling(16) }),
);
const outOfOrder = pcap({ magic: PcapMagic.nanoseconds }, [
  { seconds: 1_772_352_000, fraction: 500, bytes: filling(60) },
  { seconds: 1_772_352_000, fraction: 100, bytes: filling(60) },
  { seconds: 1_772_352_001, fraction: 900, bytes: filling(60) },
  { seconds: 1_772_352_001, fraction: 300, bytes: filling(60) },
]);

describe("wrong use is told in two lines, the second of which says how to get help", () => {
  test.each([
    [["ingest", "--table", "t"], "PATH is missing", "deltacap ingest --help"],
    [["ingest", "x", "--table", "t", "--jobs", "-1"], "--jobs -1: a whole number", "deltacap ingest --help"],
    [["frobnicate"], 'no command "frobnicate"', "deltacap --help"],
  ])("%j", async (argv, message, help) => {
    const { code, err } = await deltacap(...argv);
    expect(code).toBe(2);
    expect(err.trimEnd().split("\n")).toEqual([
      expect.stringContaining(message),
      expect.stringContaining(help),
    ]);
  });
});

test("--version tells what commits are signed with", async () => {
  expect(await deltacap("--version")).toEqual({ code: 0, out: `${engineInfo}\n`, err: "" });
});

test("a text table has room for more rows than a call has for arguments", () => {
  const rows = Array.from({ length: 200_000 }, (_, i) => [i]);
  expect(textTable(["n"], rows).split("\n").length).toBe(200_003);
});

test("inspect compares times to the nanosecond", async () => {
  const { path } = place({ "a.pcap": outOfOrder });
  const { out } = await deltacap("inspect", path("a.pcap"), "--json");
  expect(JSON.parse(out)).toMatchObject({
    first: "2026-03-01T08:00:00.000000100Z",
    last: "2026-03-01T08:00:01.000000900Z",
  });
});

test("control characters of a capture do not reach the terminal, and its lines stay lines", async () => {
  const { captures, table, path } = place({ "a.pcapng": twoLinkTypes });
  await deltacap("ingest", captures, "--table", table);
  const outputs = [
    await deltacap("inspect", path("a.pcapng")),
    await deltacap("sql", table, "select distinct interface_name from packets order by all"),
  ];
  for (const { out } of outputs) {
    expect(out).toContain("\\u001b[31mcan0\\u0007\\u000a");
    expect(out).not.toMatch(/[^\P{Cc}\n]/u);
  }
  const json = await deltacap("inspect", path("a.pcapng"), "--json");
  expect((JSON.parse(json.out) as { interfaces: string[] }).interfaces[1]).toContain(
    "\u001b[31mcan0\u0007\n",
  );
});

test("inspect labels an empty list", async () => {
  const { path } = place({ "empty.pcap": new Uint8Array(0) });
  expect((await deltacap("inspect", path("empty.pcap"))).out).toMatch(/^interfaces {4}none$/m);
});

test("export of two link types to .pcap is wrong use, and says what to write instead", async () => {
  const { folder, captures, table, path } = place({ "a.pcapng": twoLinkTypes });
  await deltacap("ingest", captures, "--table", table);
  const output = join(folder, "out.pcap");
  const { code, err } = await deltacap("export", table, "--capture", path("a.pcapng"), "-o", output);
  expect([code, err]).toEqual([2, expect.stringContaining("write .pcapng")]);
  expect(readdirSync(folder).sort()).toEqual(["captures", "table"]);
});

test.each<[string, (file: string) => void]>([
  ["missing", (file) => rmSync(file)],
  ["truncated", (file) => truncateSync(file, readFileSync(file).length - 5)],
  ["short", (file) => truncateSync(file, 3)],
])(
  "sql and export with a data file that is %s tell the table's fault, without a stack or our own SQL",
  async (_, harm) => {
    const { folder, captures, table, path } = place({ "a.pcapng": twoLinkTypes });
    await deltacap("ingest", captures, "--table", table);
    const date = join(table, "date=2026-03-01");
    harm(join(date, readdirSync(date)[0] ?? ""));
    const runs = [
      await deltacap("sql", table, "select count(*) from packets"),
      await deltacap("sql", table, "select frame from packets"),
      await deltacap("export", table, "--capture", path("a.pcapng"), "-o", join(folder, "o.pcapng")),
    ];
    for (const { code, err } of runs) {
      expect([code, err]).toEqual([3, expect.stringContaining("the table's files cannot be read")]);
      expect(err).not.toMatch(/CREATE VIEW|\n {4}at /);
    }
  },
);
