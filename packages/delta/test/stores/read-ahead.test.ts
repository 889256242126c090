import { expect, test } from "vitest";
import { readAhead } from "../../src/stores/read-ahead.ts";

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test("results come in the items' order, whichever is ready first, and no more than the limit are under way", async () => {
  let underWay = 0;
  let most = 0;
  const read = async (item: number) => {
    most = Math.max(most, ++underWay);
    for (let i = 0; i < 10 - item; i++) await Promise.resolve();
    underWay--;
    return item * 2;
  };
  expect(await collect(readAhead([1, 2, 3, 4, 5, 6, 7], 3, read))).toEqual([2, 4, 6, 8, 10, 12, 14]);
  expect(most).toBe(3);
  expect(await collect(readAhead([], 3, read))).toEqual([]);
});

test("the first failure in order is thrown, later ones are not left unhandled", async () => {
  const read = async (item: number) => {
    if (item > 1) throw new Error(`item ${item}`);
    return item;
  };
  await expect(collect(readAhead([1, 2, 3, 4], 4, read))).rejects.toThrow("item 2");
});
