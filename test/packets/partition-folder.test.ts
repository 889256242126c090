import { TableRefusedError } from "@deltacap/delta";
import { describe, expect, test } from "vitest";
import {
  isCalendarDate,
  packetFolder,
  requireCalendarDate,
  statedDate,
  statesPartition,
} from "../../src/packets/partition-folder.ts";

const NO_DATES = [
  ...["x/../../../outside/evil", "..", "2026-02-31", "2025-02-29", "2026-13-01", "2026-1-1", "garbage"],
  ...["0000-01-01", "2026-01-01/", "2026-01-01\n", "+012026-01-01", "2026-01-01 00:00:00", "%2e%2e", "\0"],
];

test.each(NO_DATES)("no folder is made of %j", (date) => {
  expect(isCalendarDate(date)).toBe(false);
  const file = { path: "a.parquet", partitionValues: { date } };
  expect(() => packetFolder(date)).toThrow(TableRefusedError);
  expect(() => requireCalendarDate(file)).toThrow(TableRefusedError);
  expect(() => requireCalendarDate(file)).toThrow(`${JSON.stringify(date)} for the file "a.parquet"`);
});

test.each([
  ["2026-01-31", "date=2026-01-31"],
  ["2024-02-29", "date=2024-02-29"],
  ["0001-01-01", "date=0001-01-01"],
  ["9999-12-31", "date=9999-12-31"],
  [null, "date=__HIVE_DEFAULT_PARTITION__"],
])("the folder of %j is %s", (date, folder) => {
  expect(packetFolder(date)).toBe(folder);
  expect(() => requireCalendarDate({ path: "a", partitionValues: { date } })).not.toThrow();
});

test.each([
  [{ date: "2026-01-31" }, "2026-01-31"],
  [{ date: "" }, null],
  [{ date: null }, null],
  [{}, null],
])("the log's %j is the date %j", (partitionValues, date) => {
  expect(statedDate(partitionValues as Record<string, string | null>)).toBe(date);
});

describe("whether a path states the log's partition values", () => {
  const values = { day: "2", shop: "b" };
  test.each<[string, Record<string, string | null>, boolean]>([
    ["/t/day=2/shop=b/0.parquet", values, true],
    ["/t/day=2/shop=__HIVE_DEFAULT_PARTITION__/0.parquet", { ...values, shop: "" }, true],
    ["/t/shop=b/day=2/0.parquet", values, false],
    ["/t/day=2/shop=c/0.parquet", values, false],
    ["/t/day=2/0.parquet", values, false],
    ["/t/day=2/shop=b", values, false],
    ["/x=1/day=2/shop=b/0.parquet", values, false],
    ["/t/day=2/shop=b/n=1.parquet", values, false],
    ["/t/day=2/shop=b c/0.parquet", { ...values, shop: "b c" }, false],
    ["/t/day=2/shop=b%20c/0.parquet", { ...values, shop: "b%20c" }, false],
    ["/t/day=2/shop=b/0.parquet", { day: "2" }, false],
  ])("%s with %j: %s", (path, partitionValues, states) => {
    expect(statesPartition(path, ["day", "shop"], partitionValues)).toBe(states);
  });
});
