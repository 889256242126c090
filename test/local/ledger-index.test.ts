import { expect, test } from "vitest";
import { type IndexedStatus, idWords, LedgerIndex } from "../../src/local/ledger-index.ts";
import { Random, testSeed } from "../support/random.ts";

const id = (random: Random) => [0, 1, 2, 3].map(() => random.uint32()) as [number, number, number, number];

const isCommitted = (status?: IndexedStatus) => status === "committed" || status === "earlier";

const seed = testSeed(19);

test(`an index finds what a Map finds, also after it has grown, and for ids that share their first words (DELTACAP_SEED=${seed})`, () => {
  const random = new Random(seed);
  const index = new LedgerIndex();
  const model = new Map<string, { offset: number; status: IndexedStatus }>();
  const ids: (readonly [number, number, number, number])[] = [];
  for (let offset = 0; offset < 10_000; offset++) {
    const [a, b, c, d] = id(random);
    // Ids of the same slot, the last slot of all among them; and ids that come again.
    const first = random.chance(0.2) ? random.pick([0, 7, 2 ** 32 - 1]) : a;
    const words = random.chance(0.2) && ids.length > 0 ? random.pick(ids) : ([first, b, c, d] as const);
    const status = random.pick<IndexedStatus>(["committed", "earlier", "rejected", "empty", "released"]);
    ids.push(words);
    index.put(words, offset, status);
    const before = model.get(String(words));
    if (isCommitted(status) || status === "released" || !isCommitted(before?.status))
      model.set(String(words), { offset, status });
  }
  expect(index.size).toBe(model.size);
  expect(index.earlier).toBe([...model.values()].filter(({ status }) => status === "earlier").length);
  for (const words of ids) {
    const expected = model.get(String(words));
    expect(index.find(words)).toEqual(expected?.status === "released" ? null : expected);
  }
  for (let i = 0; i < 1_000; i++) expect(index.find(id(random))).toBeNull();
});

test("room that was reserved changes nothing of what is found", () => {
  const index = new LedgerIndex();
  index.put([1, 2, 3, 4], 5, "rejected");
  index.reserve(100_000);
  expect(index.find([1, 2, 3, 4])).toEqual({ offset: 5, status: "rejected" });
  expect(index.size).toBe(1);
});

test.each(["", "x", "0".repeat(31), "0".repeat(33), "A".repeat(32)])("%j is no source id", (text) => {
  expect(idWords(text)).toBeNull();
});

test("a source id is four words in the order of its digits", () => {
  expect(idWords("00000001fffffffe00000000a0b0c0d0")).toEqual([1, 0xfffffffe, 0, 0xa0b0c0d0]);
});
