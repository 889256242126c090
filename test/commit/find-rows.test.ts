import { expect, test } from "vitest";
import { fileWithSource, sourcesWithRows } from "../../src/commit/find-rows.ts";
import type { SourceId } from "../../src/manifest/source-id.ts";
import { captureOf, PacketsWorld } from "../support/tables/packets-world.ts";

test("a source whose rows are all deleted by deletion vectors is in no file; one that has a row left is", async () => {
  const world = new PacketsWorld();
  await world.ingest({ "car-1/a": captureOf(2), "car-1/b": captureOf(3) });
  const [file] = await world.live();
  const [a, , b] = (await world.rowsOf(file!)).map(({ source_id, capture }) => ({
    id: source_id as SourceId,
    capture: capture as string,
  }));
  const find = (source: typeof a) => fileWithSource({ log: world.log, store: world.objects }, source!);
  const both = new Set([a!.id, b!.id]);
  const withRows = async () =>
    await sourcesWithRows({ log: world.log, store: world.objects }, new Set([...both, "0".repeat(32)]));
  expect(await find(a)).toBe(file?.path);
  expect(await withRows()).toEqual(both);
  const without = await world.deleteRows(file!, [0, 1, 2, 3], "file");
  expect(await find(a)).toBeNull();
  expect(await find(b)).toBe(file?.path);
  expect(await withRows()).toEqual(new Set([b!.id]));
  await world.deleteRows(without, [0, 1, 2, 3, 4]);
  expect(await find(b)).toBeNull();
  expect(await withRows()).toEqual(new Set());
});
