import { RetryableError } from "@deltacap/delta";
import { describe, expect, test } from "vitest";
import { RejectedError } from "../../src/errors.ts";
import { MAX_SOURCES, type Manifest } from "../../src/manifest/manifest.ts";
import { parseManifest, serializeManifest } from "../../src/manifest/parse-manifest.ts";
import { Random, testSeed } from "../support/random.ts";

const file = {
  path: "date=2026-01-02/0f9d-00000.parquet",
  size: 1234,
  partitionValues: { date: "2026-01-02" },
  rows: 2,
  stats: '{"numRecords":2}',
};
const source = {
  id: "0123456789abcdef0123456789abcdef",
  capture: "s3://bucket/a b.pcap",
  bucket: "bucket",
  key: "a b.pcap",
  eTag: "d41d8cd98f00b204e9800998ecf8427e",
  size: 10,
  packets: 2,
};
const manifest: Manifest = {
  manifestVersion: 1,
  batchId: "0f9d",
  createdMs: 1_767_225_600_000,
  files: [file],
  sources: [source],
};

describe("a manifest that came over a queue", () => {
  test("is read as it was written, unknown fields left out", () => {
    const full: Manifest = {
      ...manifest,
      files: [
        { ...file, partitionValues: { date: null }, path: "date=__HIVE_DEFAULT_PARTITION__/a.parquet" },
      ],
      sources: [
        { ...source, versionId: "v1", damage: { offset: 2 ** 40, reason: "cut" } },
        { ...source, id: "f".repeat(32), contentSha256: "0a".repeat(32) },
      ],
    };
    expect(parseManifest(serializeManifest(full))).toEqual(full);
    expect(parseManifest(JSON.stringify({ ...manifest, later: 1 }))).toEqual(manifest);
  });

  test("a newer version is left to a newer committer", () => {
    const newer = JSON.stringify({ ...manifest, manifestVersion: 2 });
    expect(() => parseManifest(newer)).toThrow(RetryableError);
  });

  test.each<[string, unknown, string]>([
    ["no JSON", "{", "is no JSON"],
    ["an array", [], "manifest is a list"],
    ["version 0", { ...manifest, manifestVersion: 0 }, "manifest version 0: this committer reads version 1"],
    ["no version", { ...manifest, manifestVersion: undefined }, "manifest version nothing"],
    ["an absolute path", withFile({ path: "/etc/passwd" }), '"/etc/passwd"'],
    ["a path that climbs", withFile({ path: "date=x/../../secret" }), '"date=x/../../secret"'],
    ["a path of the log", withFile({ path: "_delta_log/00000000000000000001.json" }), "_delta_log"],
    ["a hidden file", withFile({ path: "date=x/.hidden" }), ".hidden"],
    ["an empty segment", withFile({ path: "date=x//a" }), "date=x//a"],
    ["a space in a path", withFile({ path: "date=x/a b" }), "a b"],
    ["an encoded path", withFile({ path: "date=x/%2e%2e" }), "%2e%2e"],
    ["a line break after a path", withFile({ path: `${file.path}\n` }), "file path"],
    ["a URL as path", withFile({ path: "s3://other/a" }), "s3://other/a"],
    ["a path too long", withFile({ path: "a".repeat(1025) }), "file path"],
    ["a negative size", withFile({ size: -1 }), "file size is -1"],
    ["a size that is no integer", withFile({ size: 1.5 }), "file size is 1.5"],
    ["a size as text", withFile({ size: "12" }), 'file size is "12"'],
    ["a partition value that is no text", withFile({ partitionValues: { date: 5 } }), "partition value is 5"],
    ["statistics that are no JSON", withFile({ stats: "numRecords" }), "file stats is no JSON"],
    [
      "statistics of other rows",
      withFile({ stats: '{"numRecords":3}' }),
      "2 rows, and its statistics that it has 3",
    ],
    ["an id in upper case", withSource({ id: "A".repeat(32) }), "source id"],
    ["an id that is short", withSource({ id: "ab" }), '"ab"'],
    ["a content hash in upper case", withSource({ contentSha256: "A".repeat(64) }), "contentSha256"],
    ["a content hash that is short", withSource({ contentSha256: "ab" }), '"ab"'],
    ["a damage without a reason", withSource({ damage: { offset: 1 } }), "damage reason is nothing"],
    ["no sources", { ...manifest, sources: [] }, "0 sources: 1 to 50000"],
    ["no files", { ...manifest, files: [] }, "0 files"],
    ["a source twice", { ...manifest, sources: [source, source] }, `repeats the source ${source.id}`],
    ["a file twice", { ...manifest, files: [file, file] }, `repeats the file ${file.path}`],
    ["a batch id that is a path", { ...manifest, batchId: "../a" }, '"../a"'],
    ["a text without end", withSource({ capture: "a".repeat(70_000) }), "70000 characters"],
  ])("%s is rejected with the value", (_, value, named) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    expect(() => parseManifest(text)).toThrow(RejectedError);
    expect(() => parseManifest(text)).toThrow(named);
  });

  test("one source too many is rejected, one less is not", () => {
    const sources = Array.from({ length: MAX_SOURCES + 1 }, (_, i) => ({
      ...source,
      id: i.toString(16).padStart(32, "0"),
    }));
    expect(() => parseManifest(JSON.stringify({ ...manifest, sources }))).toThrow("50001 sources");
    expect(parseManifest(JSON.stringify({ ...manifest, sources: sources.slice(1) })).sources).toHaveLength(
      MAX_SOURCES,
    );
  });

  test("a member named __proto__ changes nothing", () => {
    const text = serializeManifest(manifest).replace('{"date":', '{"__proto__":"x","date":');
    const values = parseManifest(text).files[0]!.partitionValues;
    expect(Object.keys(values)).toEqual(["__proto__", "date"]);
    expect(Object.getPrototypeOf(values)).toBe(Object.prototype);
  });

  const seed = testSeed(4_711);
  test(`whatever is changed in it, it is read or rejected, never anything else (seed ${seed})`, () => {
    const random = new Random(seed);
    const text = serializeManifest(manifest);
    for (let i = 0; i < 5_000; i++) {
      const at = random.below(text.length);
      const piece = random.pick(["", '"', "{", "}", "null", "-1", "..", "/", ",", "1e999", "\\u0000"]);
      const changed = text.slice(0, at) + piece + text.slice(at + random.below(6));
      try {
        parseManifest(changed);
      } catch (error) {
        expect(error, changed).toBeInstanceOf(RejectedError);
      }
    }
  });
});

function withFile(changes: object): object {
  return { ...manifest, files: [{ ...file, ...changes }] };
}

function withSource(changes: object): object {
  return { ...manifest, sources: [{ ...source, ...changes }] };
}
