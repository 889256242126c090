import { expect, test } from "vitest";
import { tombstoneRetention } from "../../src/actions/retention.ts";

const HOUR = 3_600_000;
const retention = (text: string) =>
  tombstoneRetention({ configuration: { "delta.deletedFileRetentionDuration": text } });

test("a table without the property keeps what was removed for a week", () => {
  expect(tombstoneRetention({ configuration: {} })).toBe(168 * HOUR);
});

test.each([
  ["interval 1 week", 168 * HOUR],
  ["interval 30 days", 720 * HOUR],
  ["INTERVAL 36 Hours", 36 * HOUR],
  ["2 days 12 hours", 60 * HOUR],
  [" interval  1   minute 30 seconds ", 90_000],
  ["interval 1500 milliseconds", 1500],
  ["interval 0 hours", 0],
])("%s is read", (text, milliseconds) => {
  expect(retention(text)).toBe(milliseconds);
});

test.each([
  "",
  "interval",
  "interval week",
  "1 month",
  "interval -1 days",
  "interval 1.5 days",
  "1 day 2",
  "P7D",
  "1 constructor",
])("%j is no interval: nobody may delete by it", (text) => {
  expect(retention(text)).toBeNull();
});
