import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { filling, pcap } from "../../support/captures/capture-builder.ts";
import { deltacap } from "../../support/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const DAY = 86_400;
const right = Array.from({ length: 1000 }, (_, i) => ({ seconds: 20_000 * DAY + i, bytes: filling(20, i) }));
const wrong = Array.from({ length: 401 }, (_, i) => ({ seconds: i * 7 * DAY, bytes: filling(20, i) }));

test("a capture with 401 wrong times is ingested whole, exits 1, and its rows without a date are found", async () => {
  const folder = temporaryFolder();
  const captures = join(folder, "captures", "car-1");
  mkdirSync(captures, { recursive: true });
  const path = join(captures, "clock.pcap");
  writeFileSync(path, pcap({}, [...wrong, ...right]));
  const table = join(folder, "table");
  const ingest = () =>
    deltacap("ingest", join(folder, "captures"), "--table", table, "--json", "--jobs", "1");
  const lines = (out: string) =>
    out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  const first = await ingest();
  expect(first.code).toBe(1);
  const capture = pathToFileURL(path).href;
  const reason = expect.stringContaining("The 401 rows on dates with fewer than 2 rows") as string;
  expect(lines(first.out)).toContainEqual(
    expect.objectContaining({ event: "converted", capture, packets: 1401, undated: 401 }),
  );
  const damaged = [{ capture, reason, offset: 0 }];
  expect(lines(first.out).at(-1)).toMatchObject({ ingested: 1, packets: 1401, rejected: [], damaged });

  const again = await ingest();
  expect(again.code).toBe(1);
  expect(lines(again.out).at(-1)).toMatchObject({ ingested: 0, duplicates: 1, damaged });

  const query = "SELECT count(*)::INT AS n FROM packets WHERE date IS NULL AND ts IS NOT NULL";
  expect(JSON.parse((await deltacap("sql", table, query, "--json")).out)).toEqual({ n: 401 });
  const dated = "SELECT count(*)::INT AS n FROM packets WHERE date = ts::DATE AND date = '2024-10-04'";
  expect(JSON.parse((await deltacap("sql", table, dated, "--json")).out)).toEqual({ n: 1000 });
});
