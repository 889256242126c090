import { describe, expect, test } from "vitest";
import { MemoryObjectStore } from "../../../../test/support/memory/memory-object-store.ts";
import { Random, testSeed } from "../../../../test/support/random.ts";
import {
  inlineVector,
  randomRows,
  vectorBytes,
  vectorFile,
  z85,
} from "../../../../test/support/tables/deletion-vectors.ts";
import type { DeletionVector } from "../../src/actions/actions.ts";
import { crc32 } from "../../src/actions/crc32.ts";
import { TableRefusedError } from "../../src/errors.ts";
import { DamagedVectorError } from "../../src/vectors/damaged-vector.ts";
import { readDeletionVector, statedDeletedRows } from "../../src/vectors/deletion-vector.ts";
import { decodeZ85 } from "../../src/vectors/z85.ts";

const seed = testSeed(42);
const UUID = "ab^-aqEH.-t@S}K{vb[*k^";
const FILE = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin";

async function rowsOf(
  store: MemoryObjectStore,
  deletionVector: object | undefined,
  rows = 100,
): Promise<number[] | null> {
  const set = await readDeletionVector(
    store,
    { path: "a.parquet", deletionVector: deletionVector as DeletionVector },
    rows,
  );
  if (set === null) return null;
  return [...set.spans()].flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i));
}

describe("a deletion vector is read", () => {
  test("from the log, where it is inline", async () => {
    expect(await rowsOf(new MemoryObjectStore(), inlineVector([3, 4, 7, 11, 18, 29]))).toEqual([
      3, 4, 7, 11, 18, 29,
    ]);
  });

  test("not at all where there is none", async () => {
    expect(await rowsOf(new MemoryObjectStore(), undefined)).toBeNull();
  });

  test(`from a file that has several, each by its offset, the far ones too (seed ${seed})`, async () => {
    const random = new Random(seed);
    const sets = Array.from({ length: 30 }, () => randomRows(random, 200_000));
    const { bytes, offsets } = vectorFile(sets.map((rows) => vectorBytes(rows)));
    expect(bytes.length).toBeGreaterThan(2 * 64 * 1024);
    const store = new MemoryObjectStore();
    await store.put(FILE, bytes);
    for (const [i, expected] of sets.entries()) {
      const descriptor = {
        storageType: "u",
        pathOrInlineDv: UUID,
        offset: offsets[i],
        sizeInBytes: vectorBytes(expected).length,
        cardinality: expected.length,
      };
      expect(await rowsOf(store, descriptor, 200_000), `seed ${seed}, vector ${i}`).toEqual(expected);
    }
  });

  test("from a path relative to the table, and at the file's beginning where no offset is given", async () => {
    const store = new MemoryObjectStore();
    const vector = vectorBytes([5]);
    await store.put("a b.bin", vectorFile([vector]).bytes);
    const descriptor = {
      storageType: "p",
      pathOrInlineDv: "a%20b.bin",
      sizeInBytes: vector.length,
      cardinality: 1,
    };
    expect(await rowsOf(store, descriptor)).toEqual([5]);
  });
});

test("how many rows are deleted is what the log says", () => {
  expect(statedDeletedRows({ deletionVector: inlineVector([1, 2]) })).toBe(2);
  expect(statedDeletedRows({})).toBe(0);
  expect(statedDeletedRows({ deletionVector: { storageType: "u", pathOrInlineDv: UUID } })).toBe(0);
});

describe("a deletion vector is refused", () => {
  const inline = inlineVector([1, 2, 50]);

  test.each([
    ["with a size that is no number", { ...inline, sizeInBytes: "40" }, "its sizeInBytes is 40"],
    ["of a negative size", { ...inline, sizeInBytes: -1 }, "its sizeInBytes is -1"],
    [
      "that is larger than its file's rows can need",
      { ...inline, sizeInBytes: 200_000 },
      "for 100 rows 4 to 131136 are allowed",
    ],
    ["that is smaller than its magic number", { ...inline, sizeInBytes: 3 }, "it has 3 bytes"],
    [
      "whose characters are not its size",
      { ...inline, sizeInBytes: inline.sizeInBytes + 4 },
      "characters are not",
    ],
    ["that is no Base85", { ...inline, pathOrInlineDv: `~${inline.pathOrInlineDv.slice(1)}` }, "in Base85"],
    [
      "with another magic number",
      { ...inline, pathOrInlineDv: `wi5b=${inline.pathOrInlineDv.slice(5)}` },
      "must with 1681511377",
    ],
    ["of another cardinality", { ...inline, cardinality: 2 }, "it has 3 rows, and the log says 2"],
    ["with a row that the file has not", inlineVector([1, 100]), "99 is the last of the file's rows"],
    ["whose cardinality is no number", { ...inline, cardinality: null }, "its cardinality is null"],
  ])("%s", async (_, descriptor, reason) => {
    const reading = rowsOf(new MemoryObjectStore(), descriptor);
    await expect(reading).rejects.toThrow(reason);
    await expect(reading).rejects.toThrow(DamagedVectorError);
  });

  test("whose storage type is not known", async () => {
    const reading = rowsOf(new MemoryObjectStore(), { ...inline, storageType: "x" });
    await expect(reading).rejects.toThrow(TableRefusedError);
  });

  const vector = vectorBytes([1, 2, 50]);
  const stored = {
    storageType: "u",
    pathOrInlineDv: UUID,
    offset: 1,
    sizeInBytes: vector.length,
    cardinality: 3,
  };
  const changed = (at: number, byte: number) => {
    const bytes = Uint8Array.from(vectorFile([vector]).bytes);
    bytes[at] = byte;
    return bytes;
  };

  test.each([
    ["whose file is gone", stored, null, "is gone"],
    ["in a file of another version", stored, changed(0, 2), "is of version 2"],
    ["of another length than its file says", stored, changed(4, 1), "bytes of it, and the log says"],
    ["with a byte changed", stored, changed(20, 255), "are not those of their checksum"],
    ["behind its file's end", { ...stored, offset: 2 }, changed(0, 1), "or behind"],
    ["far behind its file's end", { ...stored, offset: 2 ** 40 }, changed(0, 1), "or behind"],
    ["with an offset that is no number", { ...stored, offset: "1" }, changed(0, 1), "its offset is 1"],
    [
      "outside of the table",
      { ...stored, storageType: "p", pathOrInlineDv: "s3://other/x.bin" },
      null,
      "REORG TABLE",
    ],
  ])("%s", async (_, descriptor, body, reason) => {
    const store = new MemoryObjectStore();
    if (body !== null) await store.put(FILE, body);
    const reading = rowsOf(store, descriptor);
    await expect(reading).rejects.toThrow(reason);
    await expect(reading).rejects.toThrow(DamagedVectorError);
  });
});

test("a vector of runs stays as small as it is written, however many rows it deletes", async () => {
  const rows = 64 * 65_536;
  const runs = vectorBytes(
    Array.from({ length: rows }, (_, row) => row),
    () => "runs",
  );
  expect(runs.length).toBeLessThan(1_500);
  const descriptor = {
    storageType: "i",
    pathOrInlineDv: z85(runs),
    sizeInBytes: runs.length,
    cardinality: rows,
  };
  const set = await readDeletionVector(
    new MemoryObjectStore(),
    { path: "a", deletionVector: descriptor },
    rows,
  );
  expect(set?.count).toBe(rows);
  expect([...(set?.spans() ?? [])]).toHaveLength(64);
});

describe("Base85", () => {
  test("decodes the example of RFC 32", () => {
    expect(decodeZ85("HelloWorld")).toEqual(Uint8Array.of(0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b));
  });

  test("gives null for other lengths, other characters, and more than four bytes hold", () => {
    expect(decodeZ85("Hell")).toBeNull();
    expect(decodeZ85("Hell~")).toBeNull();
    expect(decodeZ85("Hellé")).toBeNull();
    expect(decodeZ85("#####")).toBeNull();
  });
});

test("the checksum is CRC-32", () => {
  expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
  expect(crc32(new Uint8Array())).toBe(0);
});
