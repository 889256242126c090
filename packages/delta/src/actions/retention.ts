import type { Metadata } from "./actions.ts";

const PROPERTY = "delta.deletedFileRetentionDuration";
const HOUR = 3_600_000;
/** The default of the property. */
const WEEK = 7 * 24 * HOUR;

/** Months and years have no fixed length, and Delta takes neither. */
const UNIT_MILLISECONDS: Readonly<Record<string, number>> = {
  week: WEEK,
  day: 24 * HOUR,
  hour: HOUR,
  minute: 60_000,
  second: 1000,
  millisecond: 1,
  microsecond: 0.001,
};

/**
 * Milliseconds for which the table keeps what was removed, as its properties say; null where they say something that is no
 * interval (`interval 1 week`, `7 days 12 hours`). Whoever deletes then must not; whoever keeps tombstones keeps all.
 */
export function tombstoneRetention({ configuration }: Pick<Metadata, "configuration">): number | null {
  const text = configuration[PROPERTY];
  return text === undefined ? WEEK : intervalMilliseconds(text);
}

function intervalMilliseconds(text: string): number | null {
  const words = text
    .trim()
    .toLowerCase()
    .replace(/^interval\s+/, "")
    .split(/\s+/);
  if (words.length % 2 !== 0) return null;
  let total = 0;
  for (let i = 0; i < words.length; i += 2) {
    const count = /^\d{1,9}$/.test(words[i] ?? "") ? Number(words[i]) : null;
    const unit = (words[i + 1] ?? "").replace(/s$/, "");
    const milliseconds = Object.hasOwn(UNIT_MILLISECONDS, unit) ? UNIT_MILLISECONDS[unit] : undefined;
    if (count === null || milliseconds === undefined) return null;
    total += count * milliseconds;
  }
  return total;
}
