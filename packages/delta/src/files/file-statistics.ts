import type { ColumnStatistics } from "@deltacap/parquet";

/** Characters (code points) of a string bound that are kept; Spark keeps as many. */
const STRING_BOUND_LENGTH = 32;
/** Half of a pair, which UTF-8 cannot hold: a file has U+FFFD in its place. */
const LONE_SURROGATE = /\p{Surrogate}/u;
/** 0001-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z: no reader takes a bound of another year. */
const FIRST_MILLISECOND = -62_135_596_800_000n;
const LAST_MILLISECOND = 253_402_300_799_999n;

/**
 * The add action's `stats` (Delta protocol, "Per-file Statistics"): a JSON string with bounds and null counts of the
 * columns that have statistics. A bound never hides a row: where it must be shortened or rounded it is moved outwards.
 */
export function deltaStatistics(rows: number, columns: readonly ColumnStatistics[]): string {
  const minValues: string[] = [];
  const maxValues: string[] = [];
  const nullCounts: string[] = [];
  for (const { column, nullCount, bounds } of columns) {
    if (!column.statistics) continue;
    const key = JSON.stringify(column.name);
    nullCounts.push(`${key}:${nullCount}`);
    if (bounds === null) continue;
    const min =
      column.type === "timestamp" ? timestampText(bounds.min as bigint, "floor") : minText(bounds.min);
    const max =
      column.type === "timestamp" ? timestampText(bounds.max as bigint, "ceil") : maxText(bounds.max);
    if (min !== null) minValues.push(`${key}:${min}`);
    if (max !== null) maxValues.push(`${key}:${max}`);
  }
  // Written by hand, since JSON.stringify takes no BigInt and a Number would not hold every long.
  return `{"numRecords":${rows},"minValues":{${minValues}},"maxValues":{${maxValues}},"nullCount":{${nullCounts}}}`;
}

/** Null where no bound can be given. */
function minText(value: number | bigint | string): string | null {
  if (typeof value !== "string") return String(value);
  return LONE_SURROGATE.test(value) ? null : JSON.stringify(lowerBound(value));
}

/** Null where no bound can be given. */
function maxText(value: number | bigint | string): string | null {
  if (typeof value !== "string") return String(value);
  const bound = LONE_SURROGATE.test(value) ? null : upperBound(value);
  return bound === null ? null : JSON.stringify(bound);
}

/** A prefix sorts before the whole. */
export function lowerBound(value: string): string {
  const points = [...value];
  return points.length <= STRING_BOUND_LENGTH ? value : points.slice(0, STRING_BOUND_LENGTH).join("");
}

/**
 * The least string of at most 32 characters that sorts after every string with the value's prefix, by UTF-8 bytes: the prefix
 * with its last character that can grow increased, and what follows dropped. Null when none can grow.
 */
export function upperBound(value: string): string | null {
  const points = [...value];
  if (points.length <= STRING_BOUND_LENGTH) return value;
  for (let length = STRING_BOUND_LENGTH; length > 0; length--) {
    const next = successor(points[length - 1]!.codePointAt(0)!);
    if (next !== null) return points.slice(0, length - 1).join("") + String.fromCodePoint(next);
  }
  return null;
}

/** The next code point that UTF-8 can encode. */
function successor(point: number): number | null {
  if (point >= 0x10ffff) return null;
  return point === 0xd7ff ? 0xe000 : point + 1;
}

/**
 * Milliseconds are what every reader takes (Delta protocol); microseconds are rounded outwards. Null for a year before 1 or
 * after 9999. Files of other writers hold such times, and infinity, as any number of microseconds.
 */
export function timestampText(micros: bigint, rounding: "floor" | "ceil"): string | null {
  let millis = micros / 1000n;
  const rest = micros % 1000n;
  if (rest < 0n) millis -= 1n;
  if (rounding === "ceil" && rest !== 0n) millis += 1n;
  if (millis < FIRST_MILLISECOND || millis > LAST_MILLISECOND) return null;
  return JSON.stringify(new Date(Number(millis)).toISOString());
}

/** Days since 1970 as the JSON of a date; null for a year that no reader takes. */
export function dateText(days: number): string | null {
  const text = timestampText(BigInt(days) * 86_400_000_000n, "floor");
  return text === null ? null : `${text.slice(0, '"0001-01-01'.length)}"`;
}
