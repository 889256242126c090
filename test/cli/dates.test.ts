import { expect, test } from "vitest";
import { timeOrDate } from "../../cli/terminal/dates.ts";
import { isCalendarDate } from "../../src/packets/partition-folder.ts";
import { deltacap } from "../support/command-line.ts";

test.each(["2020-99-99", "2026-02-29", "2026-04-31", "2026-00-10", "2026-1-1", "2026-01-01x"])(
  "%s is no date",
  (text) => {
    expect([isCalendarDate(text), timeOrDate(text)]).toEqual([false, null]);
  },
);

test.each([
  ["2024-02-29", Date.UTC(2024, 1, 29)],
  ["2026-01-31T12:00", Date.UTC(2026, 0, 31, 12)],
  ["2026-01-31T12:00:00.5Z", Date.UTC(2026, 0, 31, 12, 0, 0, 500)],
  ["2026-01-31T12:00:00+02:00", Date.UTC(2026, 0, 31, 10)],
  ["2026-01-31T25:00", null],
  ["2026-01-31Z", null],
])("%s is a time in UTC, or none", (text, milliseconds) => {
  expect(timeOrDate(text)).toBe(milliseconds);
});

test("optimize refuses a day that no calendar has", async () => {
  const { code, err } = await deltacap("optimize", "nowhere", "--date", "2020-99-99");
  expect([code, err]).toEqual([
    2,
    expect.stringContaining("--date 2020-99-99: a date as 2026-01-31 is expected"),
  ]);
});
