import { describe, expect, test } from "vitest";
import { DateCounts } from "../../src/packets/date-counts.ts";
import { Random } from "../support/random.ts";

function counted(days: Iterable<number>): DateCounts {
  const counts = new DateCounts();
  for (const day of days) counts.add(day);
  return counts;
}

const repeated = (day: number, times: number) => Array.from({ length: times }, () => day);

describe("the dates that a capture's rows keep", () => {
  test("have two rows, and one in a thousand of the capture's", () => {
    expect(counted([...repeated(1, 2), 2]).kept(10)).toEqual(new Set([1]));
    expect(counted([...repeated(1, 9989), ...repeated(2, 10), 3]).kept(10)).toEqual(new Set([1, 2]));
    const counts = counted([...repeated(1, 9990), ...repeated(2, 10), 3]);
    expect(counts.minRows).toBe(11);
    expect(counts.kept(10)).toEqual(new Set([1]));
  });

  test("are those with the most rows where there are too many, whatever the order", () => {
    const days = [...repeated(1, 3), ...repeated(2, 4), ...repeated(3, 5), ...repeated(4, 4)];
    for (const order of [days, days.toReversed()]) {
      expect(counted(order).kept(2)).toEqual(new Set([3, 2]));
    }
  });

  test.each(["before", "behind", "among"])(
    "are found %s a million rows that each have a date of their own",
    (where) => {
      const random = new Random(20_261_201);
      const wrong = Array.from({ length: 1_000_000 }, () => random.below(3_000_000) + 100_000);
      const right = repeated(20_455, 50_000);
      let days = where === "before" ? [...right, ...wrong] : [...wrong, ...right];
      if (where === "among") days = wrong.flatMap((day, i) => (i % 20 === 0 ? [day, 20_455] : [day]));
      expect(counted(days).kept(400), `seed ${random.seed}`).toEqual(new Set([20_455]));
    },
  );
});
