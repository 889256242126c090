import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  base64,
  fromBase64,
  objectPath,
  parseActions,
  schemaString,
  TableRefusedError,
} from "@deltacap/delta";
import { describe, expect, test } from "vitest";
import { appendBody, createTableBody, encodedPath } from "../../src/commit/commit-body.ts";
import { commitTags, readCommitTags } from "../../src/commit/commit-tags.ts";
import type { Manifest } from "../../src/manifest/manifest.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import { Random, testSeed } from "../support/random.ts";
import { smallTable } from "../support/tables/committer-world.ts";

const GOLDEN = join(import.meta.dirname, "../fixtures/delta-golden");
const identity = { txnId: "5c1f8a0e-txn", timestamp: 1_767_225_600_123, engineInfo: "deltacap/0.1.0" };
const text = (body: Uint8Array) => new TextDecoder().decode(body);

const manifests: Manifest[] = [
  {
    manifestVersion: 1,
    batchId: "batch-1",
    createdMs: 1_767_225_600_000,
    files: [
      {
        path: "date=2026-01-01/batch-1-00000.parquet",
        size: 4_294_967_296,
        partitionValues: { date: "2026-01-01" },
        rows: 3,
        stats:
          '{"numRecords":3,"minValues":{"n":9007199254740993},"maxValues":{"n":9007199254740995},"nullCount":{"n":0}}',
      },
      {
        path: "date=__HIVE_DEFAULT_PARTITION__/batch-1-00001.parquet",
        size: 100,
        partitionValues: { date: null },
        rows: 1,
        stats: '{"numRecords":1,"minValues":{},"maxValues":{},"nullCount":{"n":1}}',
      },
    ],
    sources: [
      source("00112233445566778899aabbccddeeff", "a.pcap"),
      {
        ...source("ffffffffffffffffffffffffffffffff", "b.pcap"),
        damage: { offset: 24, reason: 'cut "here"' },
      },
    ],
  },
  {
    manifestVersion: 1,
    batchId: "batch-2",
    createdMs: 1_767_225_600_001,
    files: [],
    sources: [source("0123456789abcdef0123456789abcdef", "c.pcap")],
  },
];

function source(id: string, key: string) {
  return { id, capture: `s3://bucket/${key}`, bucket: "bucket", key, eTag: "e", size: 1, packets: 2 };
}

describe("commits, byte for byte", () => {
  test("version 0", async () => {
    const body = text(createTableBody(smallTable, "11111111-2222-3333-4444-555555555555", identity));
    expect(body).toBe(await readFile(join(GOLDEN, "create-table.json"), "utf8"));
  });

  test("an append of two manifests, one file without a date, one source damaged", async () => {
    const body = text(appendBody(manifests, null, ["date"], identity));
    expect(body).toBe(await readFile(join(GOLDEN, "write.json"), "utf8"));
  });

  test("no action has a null but in its partition values", () => {
    const bodies = [
      createTableBody(packetTable, "i", identity),
      appendBody(manifests, null, ["date"], identity),
    ];
    for (const action of bodies.flatMap((body) => parseActions(body, "body"))) {
      const without = JSON.stringify(action, (key, value: unknown) =>
        key === "partitionValues" ? {} : value,
      );
      expect(without).not.toMatch(/:null/);
    }
  });

  test("every column of the table is in its schema, nullable, with its meaning as comment", () => {
    const { fields } = JSON.parse(schemaString(packetTable)) as { fields: object[] };
    expect(fields).toEqual(
      packetTable.columns.map(({ name, type, meaning }) => ({
        name,
        type,
        nullable: true,
        metadata: { comment: meaning },
      })),
    );
  });
});

describe("tags", () => {
  test("say which batches and sources a commit added, and what was damaged", () => {
    expect(readCommitTags(commitTags(manifests))).toEqual({
      batchIds: ["batch-1", "batch-2"],
      sources: [
        { id: "00112233445566778899aabbccddeeff" },
        { id: "ffffffffffffffffffffffffffffffff", damage: { offset: 24, reason: 'cut "here"' } },
        { id: "0123456789abcdef0123456789abcdef" },
      ],
      byContent: false,
    });
  });

  test("of other writers are none of ours", () => {
    expect(readCommitTags(undefined)).toBeNull();
    expect(readCommitTags({ other: "x" })).toBeNull();
  });

  test.each<[string, Record<string, string>]>([
    ["no base64", { "deltacap.sources": "%%%" }],
    ["bytes that are no ids", { "deltacap.sources": base64(new Uint8Array(17)) }],
    ["damage that is no JSON", { "deltacap.sources": "", "deltacap.damage": "[" }],
    ["batches that are no array", { "deltacap.sources": "", "deltacap.batches": "{}" }],
  ])("of ours that cannot be read refuse the table: %s", (_, tags) => {
    expect(() => readCommitTags(tags)).toThrow(TableRefusedError);
  });

  test("fifty thousand sources fit, in some ten bytes of JSON for each eight", () => {
    const many = Array.from({ length: 50_000 }, (_, i) => source(i.toString(16).padStart(32, "0"), "k"));
    const tags = commitTags([{ ...manifests[0]!, sources: many }]);
    expect(tags["deltacap.sources"]).toHaveLength(Math.ceil((50_000 * 16) / 3) * 4);
    expect(readCommitTags(tags)?.sources.at(-1)).toEqual({ id: (49_999).toString(16).padStart(32, "0") });
  });
});

describe("base64", () => {
  const seed = testSeed(64);
  test(`is that of RFC 4648 at every length (seed ${seed})`, () => {
    const random = new Random(seed);
    for (const length of [...Array.from({ length: 70 }, (_, i) => i), 8191, 8192, 8193, 100_000]) {
      const bytes = random.bytes(length);
      expect(base64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
      expect(fromBase64(base64(bytes))).toEqual(bytes);
    }
  });
});

describe("paths in the log", () => {
  test.each([
    ["date=2026-01-02/a.parquet", "date=2026-01-02/a.parquet"],
    ["a b/c%20d", "a%20b/c%2520d"],
    ["date=x:y/ü+&$#?", "date=x%3Ay/%C3%BC%2B%26%24%23%3F"],
  ])("%s is encoded once as %s", (path, encoded) => {
    expect(encodedPath(path)).toBe(encoded);
    expect(objectPath(encoded)).toBe(path);
  });
});
