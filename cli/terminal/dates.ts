import { isCalendarDate } from "../../src/packets/partition-folder.ts";

/** Milliseconds since 1970 of a day, or of a time as 2026-01-31T12:00:00Z; UTC where no zone is told. Null for anything else. */
export function timeOrDate(text: string): number | null {
  const match = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?(Z|[+-]\d\d:\d\d)?$/.exec(text);
  const [, date = "", time = "T00:00", zone = "Z"] = match ?? [];
  if (!isCalendarDate(date) || (match?.[2] === undefined && match?.[3] !== undefined)) return null;
  const milliseconds = Date.parse(`${date}${time}${zone}`);
  return Number.isNaN(milliseconds) ? null : milliseconds;
}
