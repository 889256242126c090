import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { existingTable } from "../../../cli/tables/local-table.ts";
import { deltacap } from "../../support/command-line.ts";
import { captureOf } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

type Line = Record<string, unknown>;

let folder: string;
let table: string;
beforeEach(() => {
  folder = temporaryFolder();
  table = join(folder, "table");
});

function write(path: string, bytes: Uint8Array): void {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), bytes);
}

async function json(...argv: readonly string[]): Promise<Line> {
  const { out, err } = await deltacap(...argv, "--json");
  expect(err).not.toContain("deltacap ");
  return JSON.parse(out.trim().split("\n").at(-1) ?? "") as Line;
}

const ingest = async (path = "captures") => await json("ingest", join(folder, path), "--table", table);
const again = async (...paths: readonly string[]) =>
  await deltacap("retry", "--again", ...paths.map((path) => join(folder, path)), "--table", table);

async function rowsOf(vehicle: string): Promise<number> {
  const query = `select count(*)::int as n from packets where vehicle_id = '${vehicle}'`;
  return (await json("sql", table, query)).n as number;
}

describe("captures of a vehicle that was forgotten", () => {
  beforeEach(async () => {
    write("captures/car-1/a.pcap", captureOf(3));
    write("captures/car-1/b.pcap", captureOf(4, undefined, 5).subarray(0, -3));
    write("captures/car-2/a.pcap", captureOf(2, undefined, 9));
    await ingest();
    await deltacap("forget", table, "--vehicle", "car-1");
  });

  const leftOut = { ingested: 0, duplicates: 1, forgotten: 2, damaged: [] };

  test.each(["the ledger as it is", "a ledger that is made anew from the log"])(
    "are left out by ingest, which counts them; doing as it says brings them back exactly once: %s",
    async (ledger) => {
      const remake = () => {
        if (ledger !== "the ledger as it is") rmSync(join(table, "_deltacap"), { recursive: true });
      };
      remake();
      const told = await ingest();
      expect(told).toMatchObject(leftOut);
      expect(await rowsOf("car-1")).toBe(0);
      const command = String(told.again);
      expect(command).toBe(`deltacap retry --again ${join(folder, "captures")} --table ${table}`);
      const back = await json(...command.split(" ").slice(1));
      expect(back).toMatchObject({ ingested: 2, duplicates: 1, packets: 6, damaged: [{}] });
      expect(await rowsOf("car-1")).toBe(6);
      remake();
      expect(await ingest()).toMatchObject({ ingested: 0, duplicates: 3 });
      const { code, err } = await again("captures");
      expect(code).toBe(3);
      expect(err).toContain("and those of 2 more captures: they would be there twice");
      expect([await rowsOf("car-1"), await rowsOf("car-2")]).toEqual([6, 2]);
    },
  );

  test("come back once without an ingest before, also with a ledger that is made anew", async () => {
    for (const path of ["captures/car-1/a.pcap", "captures/car-1/b.pcap"]) {
      await again(path);
      expect(await ingest()).toMatchObject({ ingested: 0 });
      rmSync(join(table, "_deltacap"), { recursive: true });
    }
    expect(await ingest()).toMatchObject({ ingested: 0, duplicates: 3 });
    // Named as files, they are of no vehicle.
    const query = "select count(*)::int as n from packets";
    expect(await json("sql", table, query)).toEqual({ n: 3 + 3 + 2 });
  });

  test("are left out where they were moved to, and after a second forget", async () => {
    renameSync(join(folder, "captures"), join(folder, "moved"));
    expect(await ingest("moved")).toMatchObject(leftOut);
    await again("moved");
    expect(await rowsOf("car-1")).toBe(6);
    await deltacap("forget", table, "--vehicle", "car-1");
    expect(await ingest("moved")).toMatchObject(leftOut);
    expect(await rowsOf("car-1")).toBe(0);
  });

  test("the message gives a command that a shell takes, with the options of this one", async () => {
    write("it's 1/car-1/a.pcap", captureOf(3));
    const argv = ["ingest", join(folder, "it's 1"), "--table", table, "--vehicle", "car 1"];
    const { code, out } = await deltacap(...argv);
    expect(code).toBe(0);
    expect(out).toContain(
      `forgotten 1 captures were left out, since their vehicle's rows were removed by "deltacap forget". This ingests them again: deltacap retry --again '${folder}/it'\\''s 1' --table ${table} --vehicle 'car 1'`,
    );
  });

  test("of several captures, those whose rows are in the table are left alone", async () => {
    const { code, err, out } = await again("captures/car-1/a.pcap", "captures/car-2");
    expect(code).toBe(0);
    expect(err).toContain("note: rows of 1 of the 2 captures are in the table");
    expect(out).toContain("1 captures ingested with 3 packets, 1 were in the table already");
    expect(await ingest()).toMatchObject({ duplicates: 2, forgotten: 1 });
  });

  test("a file that cannot be read may have their rows: nothing is released", async () => {
    const day = join(table, "date=2026-03-01");
    for (const name of readdirSync(day)) writeFileSync(join(day, name), "x");
    expect(await again("captures")).toMatchObject({ code: 3 });
    expect(await ingest()).toMatchObject(leftOut);
  });
});

test("retry --again of a capture whose rows others deleted: no commit names it as forgotten, and it comes back once", async () => {
  write("captures/car-1/a.pcap", captureOf(3));
  await ingest();
  const log = join(table, "_delta_log");
  const added = readFileSync(join(log, `${"1".padStart(20, "0")}.json`), "utf8")
    .split("\n")
    .flatMap((line) => (line.startsWith('{"add"') ? [JSON.parse(line) as { add: { path: string } }] : []));
  const removes = added.map(({ add: { path } }) => ({
    remove: { path, dataChange: true, deletionTimestamp: 1 },
  }));
  writeFileSync(
    join(log, `${"2".padStart(20, "0")}.json`),
    removes.map((line) => JSON.stringify(line)).join("\n"),
  );
  expect(await ingest()).toMatchObject({ ingested: 0, duplicates: 1 });
  expect((await again("captures")).code).toBe(0);
  expect(await ingest()).toMatchObject({ ingested: 0, duplicates: 1 });
  expect(await rowsOf("car-1")).toBe(3);
});

test("retry in a folder takes what was rejected again, and without --again leaves what is known", async () => {
  write("captures/car-1/a.pcap", captureOf(3));
  write("captures/car-1/b.pcap", new TextEncoder().encode("no capture"));
  await ingest();
  for (const options of [[], ["--again"]]) {
    const { code, out } = await deltacap("retry", join(folder, "captures"), "--table", table, ...options);
    expect(code).toBe(1);
    expect(out).toContain("0 captures ingested with 0 packets, 1 were in the table already, 1 rejected");
  }
});

test.each([
  [["--again", "x"], "nowhere", "nowhere is no Delta table"],
  [["--again"], "t", "PATH is missing"],
  [["--again", "x", "--stack", "S"], "t", "--stack is for a stack"],
])("wrong use: %j", async (argv, name, message) => {
  const { code, err } = await deltacap("retry", ...argv, "--table", name);
  expect(code).toBe(2);
  expect(err).toContain(message);
});

describe("a table of an older version, of which a vehicle was forgotten", () => {
  const fixture = join(import.meta.dirname, "../..", "fixtures", "older-local-table");
  beforeEach(() => cpSync(fixture, folder, { recursive: true }));

  test("its captures come back once where they were moved to, without an ingest before", async () => {
    await deltacap("forget", table, "--vehicle", "car-1");
    expect((await again("captures")).out).toContain("2 captures ingested with 6 packets");
    expect(await ingest()).toMatchObject({ ingested: 0, duplicates: 3 });
    expect([await rowsOf("car-1"), await rowsOf("car-2")]).toEqual([6, 2]);
  });

  test.each(["before", "after"])(
    "its captures are left out where they were moved to, and come back once: known by content %s that",
    async (when) => {
      if (when === "before") await ingest();
      await deltacap("forget", table, "--vehicle", "car-1");
      expect(await ingest()).toMatchObject({ ingested: 0, duplicates: 1, forgotten: 2 });
      expect((await again("captures")).code).toBe(1);
      expect(await ingest()).toMatchObject({ ingested: 0, duplicates: 3 });
      expect([await rowsOf("car-1"), await rowsOf("car-2")]).toEqual([6, 2]);
    },
  );
});

test("the forgetting commit names the sources, and the ledger has the version of both commits", async () => {
  write("captures/car-1/a.pcap", captureOf(3));
  await ingest();
  await deltacap("forget", table, "--vehicle", "car-1");
  await ingest();
  const { ledger } = await existingTable(table);
  const { out } = await deltacap("ingest", join(folder, "captures"), "--table", table, "--json");
  const { source_id: id, known } = JSON.parse(out.split("\n")[0] ?? "") as Line;
  expect(known).toMatchObject({ status: "committed", version: 1, forgottenIn: 2, packets: 3 });
  expect((await ledger.lookup([String(id)])).get(String(id))).toEqual(known);
});
