import { expect, test } from "vitest";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { TextSet } from "../../src/log/text-set.ts";

const seed = testSeed(20_261_201);

test(`tells what it has met as a Set of the texts does (seed ${seed})`, () => {
  const random = new Random(seed);
  const set = new TextSet();
  const model = new Set<string>();
  for (let i = 0; i < 200_000; i++) {
    // Alike, as paths are: a few digits differ.
    const text = `date=2026-01-0${random.below(9)}/part-${String(random.below(60_000)).padStart(random.below(12), "0")}`;
    expect(set.add(text)).toBe(!model.has(text));
    model.add(text);
  }
});

test("empty texts, and those that only zeros or their length tell apart, are different", () => {
  const set = new TextSet();
  const texts = ["", "\0", "\0\0", "0", "00", "a", "a\0", "\0a", "ä", "\u{1f600}", "\ud83d", "\ude00"];
  expect(texts.map((text) => set.add(text))).toEqual(texts.map(() => true));
  expect(texts.map((text) => set.add(text))).toEqual(texts.map(() => false));
});
