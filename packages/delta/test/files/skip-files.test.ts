import { describe, expect, test } from "vitest";
import { mayHoldText } from "../../src/files/skip-files.ts";

const stats = (min: unknown, max: unknown, nulls: unknown = 0) =>
  JSON.stringify({
    numRecords: 3,
    minValues: { vehicle_id: min },
    maxValues: { vehicle_id: max },
    nullCount: { vehicle_id: nulls },
  });
const mayHold = (text: string | undefined, value: string) =>
  mayHoldText(text === undefined ? {} : { stats: text }, "vehicle_id", value);

describe("a file is left out", () => {
  test.each([
    ["b", "d", "a"],
    ["b", "d", "e"],
    // By UTF-8 bytes U+1F697 is after U+FFEE, by UTF-16 units before it.
    ["a", "\uffee", "\u{1f697}"],
  ])("with values from %j to %j, where %j is looked for", (min, max, value) => {
    expect(mayHold(stats(min, max), value)).toBe(false);
  });

  test("where every value is null", () => {
    expect(mayHold(stats(undefined, undefined, 3), "a")).toBe(false);
  });
});

describe("a file is looked at", () => {
  test.each([
    ["b", "d", "b"],
    ["b", "d", "d"],
    ["b", "d", "c"],
    ["a", "\u{1f697}", "\uffee"],
    // A greatest value may be cut off, and not every writer moves it up.
    ["a", "x".repeat(32), `${"x".repeat(32)}y`],
    ["a", undefined, "z"],
    [undefined, "b", "a"],
    [1, 2, "z"],
  ])("with values from %j to %j, where %j is looked for", (min, max, value) => {
    expect(mayHold(stats(min, max), value)).toBe(true);
  });

  test.each([undefined, "", "no JSON", "null", "{}", '{"minValues":null}', '{"minValues":[],"maxValues":3}'])(
    "whose statistics are %j",
    (text) => {
      expect(mayHold(text, "a")).toBe(true);
    },
  );

  test("where some values are null, or it is not known how many", () => {
    expect(mayHold(stats("a", "b", 2), "a")).toBe(true);
    expect(mayHold(stats("a", "b", null), "a")).toBe(true);
  });
});
