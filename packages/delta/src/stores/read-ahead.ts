/**
 * `read(item)` of each item, in the items' order, up to `limit` of them under way at once: a store answers many requests in
 * the time of one. Ends at the first that fails.
 */
export async function* readAhead<Item, Result>(
  items: readonly Item[],
  limit: number,
  read: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const underWay: Promise<Result>[] = [];
  let next = 0;
  while (next < items.length || underWay.length > 0) {
    while (next < items.length && underWay.length < limit) {
      const result = read(items[next++]!);
      // One that fails is seen when its turn comes, or not at all after an earlier failure.
      result.catch(() => {});
      underWay.push(result);
    }
    yield await underWay.shift()!;
  }
}
