import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SupersededError } from "../../src/errors.ts";
import { FileCaptureStore, fileSource, findFiles } from "../../src/local/file-capture-store.ts";
import { KeyPattern } from "../../src/manifest/key-pattern.ts";

const pattern = new KeyPattern("{vehicle_id}/**");
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deltacap-captures-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function written(name: string, content: string | Uint8Array) {
  const path = join(folder, name);
  writeFileSync(path, content);
  return { path, key: `car-1/${name}`, size: content.length };
}

async function contentOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of chunks) text += Buffer.from(chunk).toString("latin1");
  return text;
}

describe("a capture in a file", () => {
  test("is known by its content: the same name with other bytes of the same length is another source", async () => {
    const first = await fileSource(written("a.pcap", "one"), pattern);
    const second = await fileSource(written("a.pcap", "two"), pattern);
    expect(first.eTag).toBe(createHash("sha256").update("one").digest("hex"));
    expect(second.eTag).toBe(createHash("sha256").update("two").digest("hex"));
    expect(first.capture).toBe(pathToFileURL(join(folder, "a.pcap")).href);
    expect(first.vehicleId).toBe("car-1");
  });

  test("of several chunks comes whole and in order", async () => {
    const content = Uint8Array.from({ length: 2_500_000 }, (_, i) => i % 251);
    const source = await fileSource(written("large.pcap", content), pattern);
    const hash = createHash("sha256").update(content).digest("hex");
    expect(source.eTag).toBe(hash);
    const read = await contentOf(new FileCaptureStore().open(source));
    expect(createHash("sha256").update(Buffer.from(read, "latin1")).digest("hex")).toBe(hash);
  });

  test("that changed after it was found, in length or content, is superseded", async () => {
    const store = new FileCaptureStore();
    for (const later of ["longer", "on", "two"]) {
      const source = await fileSource(written("a.pcap", "one"), pattern);
      written("a.pcap", later);
      await expect(contentOf(store.open(source)), later).rejects.toThrow(SupersededError);
      expect(await store.exists(source), later).toBe(false);
    }
  });

  test("that is gone is superseded", async () => {
    const source = await fileSource(written("a.pcap", "one"), pattern);
    rmSync(join(folder, "a.pcap"));
    await expect(contentOf(new FileCaptureStore().open(source))).rejects.toThrow(SupersededError);
    expect(await new FileCaptureStore().exists(source)).toBe(false);
  });
});

test("a walk finds files in the order of their names, without hidden ones and without the table's folder", async () => {
  const names = ["b.pcap", "a.pcap", ".hidden"];
  for (const name of names) written(name, name);
  const keys: string[] = [];
  for await (const file of findFiles(folder, join(folder, "table"))) keys.push(file.key);
  expect(keys).toEqual(["a.pcap", "b.pcap"]);
});
