import { ConditionalLogStore, commitFileName } from "@deltacap/delta";
import { expect, test } from "vitest";
import { findSources } from "../../src/commit/find-sources.ts";
import { deltaLogFixture } from "../support/tables/delta-log-fixture.ts";

const id = (byte: number) => Buffer.alloc(16, byte).toString("hex");
const tagged = (byte: number) => {
  const tags = { "deltacap.batches": '["b"]', "deltacap.sources": Buffer.alloc(16, byte).toString("base64") };
  return `\n${JSON.stringify({ commitInfo: { tags } })}`;
};

/** The log of versions 0 to 4 with a checkpoint at 3, a source in version 0 and one in version 4. */
async function logWithSources() {
  const store = await deltaLogFixture();
  for (const [version, byte] of [
    [0, 1],
    [4, 2],
  ] as const) {
    const path = `_delta_log/${commitFileName(version)}`;
    await store.put(path, Buffer.concat([(await store.read(path))!, Buffer.from(tagged(byte))]));
  }
  return { store, log: new ConditionalLogStore(store) };
}

const ids = new Set([id(1), id(2), id(3)]);

test("sources on both sides of a gap that a checkpoint covers are found, and the answer is not complete", async () => {
  const { store, log } = await logWithSources();
  expect(await findSources(log, ids)).toMatchObject({ complete: true });
  await store.remove([`_delta_log/${commitFileName(1)}`]);
  expect(await findSources(log, ids)).toEqual({
    versions: new Map([
      [id(1), 0],
      [id(2), 4],
    ]),
    complete: false,
  });
});

test("a gap that no checkpoint covers is refused", async () => {
  const { store, log } = await logWithSources();
  const checkpoint = "_delta_log/00000000000000000003.checkpoint.parquet";
  await store.remove([`_delta_log/${commitFileName(1)}`, checkpoint]);
  await expect(findSources(log, ids)).rejects.toThrow("version 0 is followed by 2");
});
