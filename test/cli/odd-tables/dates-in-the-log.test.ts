import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { deltacap } from "../../support/command-line.ts";
import { folderContent } from "../../support/folder-content.ts";
import { captureOf, DATE, DAY } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A folder above the table's, so that what is written outside of the table is seen. */
let above: string;
let table: string;

/** A table of two files, each with rows of two vehicles. */
beforeEach(async () => {
  above = join(temporaryFolder(), "a", "b");
  table = join(above, "table");
  for (const [round, seed] of [
    ["one", 1],
    ["two", 2],
  ] as const) {
    for (const car of ["car-1", "car-2"]) {
      mkdirSync(join(above, round, car), { recursive: true });
      writeFileSync(join(above, round, car, "a.pcap"), captureOf(4, DAY, seed + car.length));
    }
    await deltacap("ingest", join(above, round), "--table", table);
  }
});

/** Changes the date of version 2's file in the log. */
function spoil(date: string): void {
  const name = join(table, "_delta_log", "00000000000000000002.json");
  const spoilt = readFileSync(name, "utf8").replace(
    `"partitionValues":{"date":"${DATE}"}`,
    () => `"partitionValues":{"date":${JSON.stringify(date)}}`,
  );
  expect(spoilt).toContain(JSON.stringify(date));
  writeFileSync(name, spoilt);
}

test.each(["x/../../../outside/evil", "../evil", "2026-02-31", "garbage"])(
  "the date %j in the log: no command writes a file for it, inside or outside of the table",
  async (date) => {
    spoil(date);
    const root = join(above, "..");
    const before = folderContent(root);
    for (const words of [
      ["forget", table, "--vehicle", "car-1"],
      ["sql", table, "select count(*) from packets"],
    ]) {
      const { code, out, err } = await deltacap(...words);
      expect([words[0], code, out]).toEqual([words[0], 3, ""]);
      expect(err).toContain(JSON.stringify(date));
      expect(folderContent(root), words[0]).toEqual(before);
    }
    const optimized = await deltacap("optimize", table);
    expect([optimized.code, optimized.err]).toEqual([0, ""]);
    expect(optimized.out).toContain(`its date is not one of the calendar: ${JSON.stringify(date)}`);
    expect(folderContent(root)).toEqual(before);
    expect(existsSync(join(above, "outside"))).toBe(false);
  },
);
