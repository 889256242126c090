import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { deltacap } from "../support/command-line.ts";
import { captureOf, DATE, DAY } from "../support/tables/packets-world.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const lastLine = (text: string) => JSON.parse(text.trim().split("\n").at(-1) ?? "") as unknown;

let table: string;

/** A table of two versions, one file each; both have rows of car-1. */
beforeEach(async () => {
  const folder = temporaryFolder();
  table = join(folder, "table");
  for (const [round, cars] of [
    ["one", ["car-1", "car-2"]],
    ["two", ["car-1", "car-3"]],
  ] as const) {
    for (const [i, car] of cars.entries()) {
      mkdirSync(join(folder, round, car), { recursive: true });
      writeFileSync(
        join(folder, round, car, `${round}.pcap`),
        captureOf(4 + i, DAY, (round === "one" ? 21 : 84) + i),
      );
    }
    await deltacap("ingest", join(folder, round), "--table", table);
  }
});

async function query(sql: string) {
  const { out } = await deltacap("sql", table, sql, "--json");
  return out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

const SUMS =
  "select vehicle_id, count(*)::int n, sum(octet_length(frame))::int bytes, sum(packet_number)::int packets from packets group by 1 order by 1";

test("optimize makes one file of two with the same rows, and a second time says that nothing was to be done", async () => {
  const before = await query(SUMS);
  const { code, out } = await deltacap("optimize", table, "--json");
  expect(code).toBe(0);
  expect(lastLine(out)).toMatchObject({
    version: 3,
    commits: 1,
    removed_files: 2,
    added_files: 1,
    rows: 18,
    stopped: null,
  });
  expect(await query(SUMS)).toEqual(before);
  expect((await deltacap("optimize", table)).out).toContain("0 files (0.0 MB) became 0");
  expect(lastLine((await deltacap("optimize", table, "--date", DATE, "--json")).out)).toMatchObject({
    commits: 0,
  });
});

test("vacuum deletes what optimize replaced, only when told to, and only after a week unless that is allowed", async () => {
  await deltacap("optimize", table);
  expect((await deltacap("vacuum", table)).out).toContain("0 files");
  const short = ["--retention-hours", "0"];
  const refused = await deltacap("vacuum", table, ...short);
  expect(refused).toMatchObject({ code: 3, err: expect.stringContaining("--allow-short-retention") });
  const dry = await deltacap("vacuum", table, ...short, "--allow-short-retention", "--json");
  expect(lastLine(dry.out)).toMatchObject({ files: 2, deleted: false });
  const { out } = await deltacap("vacuum", table, ...short, "--allow-short-retention", "--delete", "--json");
  expect(lastLine(out)).toMatchObject({ version: 3, files: 2, deleted: true, other_files: 0 });
  expect(await query("select count(*)::int n from packets")).toEqual([{ n: 18 }]);
});

test("forget removes a vehicle's rows, says what is not gone yet, and its captures are not ingested again", async () => {
  const { code, out } = await deltacap("forget", table, "--vehicle", "car-1");
  expect(code).toBe(0);
  expect(out).toContain(
    "8 rows of car-1 were removed, 0 files with them, and 2 files written anew; the table is at version 3",
  );
  expect(out).toContain("Raw captures in their bucket were not touched");
  expect(out).toContain("deltacap vacuum --delete");
  expect(await query("select distinct vehicle_id from packets order by 1")).toEqual([
    { vehicle_id: "car-2" },
    { vehicle_id: "car-3" },
  ]);
  const again = await deltacap("ingest", join(table, "..", "one"), "--table", table, "--json");
  expect(lastLine(again.out)).toMatchObject({ ingested: 0, duplicates: 1, forgotten: 1 });
  const json = await deltacap("forget", table, "--vehicle", "car-1", "--json");
  expect(lastLine(json.out)).toMatchObject({ vehicle: "car-1", rows: 0, commits: 0, remaining: [] });
});

test.each([
  [["optimize"], "TABLE is missing"],
  [["optimize", "nowhere"], "is no Delta table"],
  [["optimize", "nowhere", "--date", "x"], "--date x: a date as"],
  [["vacuum", "nowhere", "--retention-hours", "many"], "--retention-hours many"],
  [["vacuum", "nowhere", "--retention-hours=-1"], "--retention-hours -1"],
  [["forget", "nowhere"], "--vehicle ID is missing"],
])("wrong use exits 2: %j", async (argv, message) => {
  const { code, err } = await deltacap(...argv);
  expect(code).toBe(2);
  expect(err).toContain(message);
});

test.each(["optimize", "vacuum", "forget"])("%s --help explains it", async (name) => {
  const { code, out } = await deltacap(name, "--help");
  expect(code).toBe(0);
  expect(out).toContain(`Usage: deltacap ${name} TABLE`);
});
