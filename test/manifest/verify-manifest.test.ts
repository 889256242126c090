import { RetryableError } from "@deltacap/delta";
import { describe, expect, test } from "vitest";
import { SqsCaptureQueue } from "../../src/aws/sqs-capture-queue.ts";
import { appendBody } from "../../src/commit/commit-body.ts";
import { RejectedError } from "../../src/errors.ts";
import type { DataFile, Manifest, ManifestSource } from "../../src/manifest/manifest.ts";
import { parseManifest } from "../../src/manifest/parse-manifest.ts";
import { sourceId } from "../../src/manifest/source-id.ts";
import { type ManifestRules, manifestProblem } from "../../src/manifest/verify-manifest.ts";
import { sha256 } from "../../src/node/hash.ts";
import { Random, testSeed } from "../support/random.ts";

const rules: ManifestRules = {
  buckets: new Set(["captures", "lake"]),
  table: { bucket: "lake", prefix: "tables/packets" },
  hashContent: false,
  sha256,
};

function source(changes: Partial<ManifestSource> = {}): ManifestSource {
  const plain = {
    capture: `s3://${changes.bucket ?? "captures"}/${changes.key ?? "car ü/a+b.pcap"}`,
    bucket: "captures",
    key: "car ü/a+b.pcap",
    eTag: "d41d8cd98f00b204e9800998ecf8427e-12",
    size: 10,
    uploadedMs: 1_767_225_600_000,
    packets: 2,
    ...changes,
  };
  const { contentSha256 } = plain;
  return { id: sourceId({ ...plain, eTag: contentSha256 ?? plain.eTag }, sha256), ...plain };
}

const file: DataFile = {
  path: "date=2026-01-02/b-00000.parquet",
  size: 1234,
  partitionValues: { date: "2026-01-02" },
  rows: 2,
  stats: stats("2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"),
};

function stats(min?: string, max?: string): string {
  const bounds = (ts: string | undefined) => (ts === undefined ? {} : { ts });
  return JSON.stringify({
    numRecords: 2,
    minValues: bounds(min),
    maxValues: bounds(max),
    nullCount: { ts: 0 },
  });
}

function manifest(files: readonly DataFile[], sources: readonly ManifestSource[]): Manifest {
  return { manifestVersion: 1, batchId: "b", createdMs: 1, files, sources };
}

/** As it would come over the queue. */
function problemOf(wanted: Manifest, changed: Partial<ManifestRules> = {}): string | null {
  return manifestProblem(parseManifest(JSON.stringify(wanted)), { ...rules, ...changed });
}

const ofSource = (changes: Partial<ManifestSource>) => problemOf(manifest([file], [source(changes)]));
const ofFile = (changes: Partial<DataFile>) => problemOf(manifest([{ ...file, ...changes }], [source()]));

describe("a manifest of a converter is accepted", () => {
  const NULL = "date=__HIVE_DEFAULT_PARTITION__/b-00000.parquet";
  test.each<[string, Manifest]>([
    ["as older converters wrote it", manifest([file], [source()])],
    ["with an id made from the content", manifest([file], [source({ contentSha256: "0a".repeat(32) })])],
    ["with a version", manifest([file], [source({ versionId: "null" })])],
    [
      "of packets without a time",
      manifest([{ ...file, path: NULL, partitionValues: { date: null }, stats: stats() }], [source()]),
    ],
    [
      "of packets whose clock was wrong",
      manifest([{ ...file, path: NULL, partitionValues: { date: null } }], [source()]),
    ],
    [
      "with bounds of one millisecond",
      manifest(
        [{ ...file, stats: stats("2026-01-02T23:59:59.999Z", "2026-01-02T23:59:59.999Z") }],
        [source()],
      ),
    ],
    ["without bounds of ts", manifest([{ ...file, stats: stats() }], [source()])],
  ])("%s", (_, wanted) => {
    expect(problemOf(wanted)).toBeNull();
  });

  test("with an id of the content but without its hash, only where all ids are made from the content", () => {
    const old = manifest([file], [{ ...source(), id: "0".repeat(32) }]);
    expect(problemOf(old, { hashContent: true })).toBeNull();
    expect(problemOf(old)).toContain("source id");
  });
});

describe("a forged manifest is refused with the value", () => {
  test.each<[string, string | null, string]>([
    ["an id of another key", ofSource({ id: source({ key: "other" }).id }), "give"],
    ["an id of another eTag", ofSource({ id: source({ eTag: "e" }).id }), "eTag"],
    ["an id of another size", ofSource({ id: source({ size: 1 }).id }), "size"],
    ["an id of another content", ofSource({ contentSha256: "0a".repeat(32), id: source().id }), "content"],
    ["a bucket that is not configured", ofSource({ bucket: "elsewhere" }), '"elsewhere"'],
    ["a capture that is another object", ofSource({ capture: "s3://captures/b" }), '"s3://captures/b"'],
    ["a file URL", ofSource({ capture: "file:///a" }), '"file:///a"'],
    ["an empty key", ofSource({ key: "", capture: "s3://captures/" }), '""'],
    ["a key that is too long", ofSource({ key: "k".repeat(1_025) }), "not a key"],
    [
      "a key of the table",
      ofSource({ bucket: "lake", key: "tables/packets/date=x/a" }),
      "belongs to the table",
    ],
    ["an eTag with a line break", ofSource({ eTag: "a\nb" }), "a\\nb"],
    ["an empty eTag", ofSource({ eTag: "" }), "eTag"],
    ["a version with a space", ofSource({ versionId: "a b" }), '"a b"'],
    ["a date that is none", ofDate("garbage"), '"garbage"'],
    ["a date that no calendar has", ofDate("2026-02-31"), '"2026-02-31"'],
    ["a date with a time", ofDate("2026-01-02T00"), '"2026-01-02T00"'],
    ["a date of another folder", ofFile({ partitionValues: { date: "2026-01-03" } }), "date=2026-01-03"],
    ["a null date in a day's folder", ofFile({ partitionValues: { date: null } }), "HIVE_DEFAULT"],
    ["an empty date in a day's folder", ofFile({ partitionValues: { date: "" } }), "HIVE_DEFAULT"],
    ["a day in two folders", ofFile({ path: "date=2026-01-01/date=2026-01-02/a" }), "does not lie"],
    ["another partition column", ofFile({ partitionValues: { day: "2026-01-02" } }), "[day]"],
    [
      "statistics that begin the day before",
      ofFile({ stats: stats("2026-01-01T23:59:59.999Z") }),
      "begin at",
    ],
    ["statistics that begin the day after", ofFile({ stats: stats("2026-01-03T00:00:00.000Z") }), "begin at"],
    [
      "statistics that end the day after",
      ofFile({ stats: stats(undefined, "2026-01-03T00:00:00.001Z") }),
      "end at",
    ],
    ["statistics of no time", ofFile({ stats: stats("soon") }), '"soon"'],
  ])("%s", (_, problem, named) => {
    expect(problem).toContain(named);
  });
});

function ofDate(date: string): string | null {
  return ofFile({ path: `date=${date.slice(0, 20)}/a.parquet`, partitionValues: { date } });
}

describe("what is nested deep, or is not what it should be, is refused in a short line", () => {
  const deep = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
  const text = JSON.stringify(manifest([file], [source()]));
  test.each([
    ["the whole", deep],
    ["a batch id", text.replace('"b"', deep)],
    ["a date", text.replace('"date":"2026-01-02"', `"date":${deep}`)],
    ["an eTag", text.replace('"eTag":"', `"eTag":${deep},"x":"`)],
    ["statistics", text.replace('\\"ts\\":\\"2026-01-02T00:00:00.000Z\\"', `\\"ts\\":${deep}`)],
  ])("%s", (_, changed) => {
    expect(changed.length).toBeGreaterThan(19_000);
    const read = () => parseManifest(changed);
    expect(read).toThrow(RejectedError);
    expect(read).toThrow(/^[^\n]{1,300}$/);
  });

  test("an empty date in the folder of null is null in the log", () => {
    const path = "date=__HIVE_DEFAULT_PARTITION__/a.parquet";
    const wanted = manifest([{ ...file, path, partitionValues: { date: "" } }], [source()]);
    expect(problemOf(wanted)).toBeNull();
    expect(parseManifest(JSON.stringify(wanted)).files[0]?.partitionValues).toEqual({ date: null });
  });

  test("an upload time beyond every calendar is refused: it could not be announced again", () => {
    const wanted = JSON.stringify(manifest([file], [source({ uploadedMs: 8_640_000_000_000_001 })]));
    expect(() => parseManifest(wanted)).toThrow("uploadedMs");
  });
});

const seed = testSeed(1_812);
test(`what passes can be committed and announced, whatever was changed in it (seed ${seed})`, async () => {
  const random = new Random(seed);
  const text = JSON.stringify(
    manifest([file], [source({ versionId: "v", damage: { offset: 1, reason: "cut" } })]),
  );
  const send = ({ input }: { input: { Entries: { Id: string }[] } }) =>
    Promise.resolve({ Successful: input.Entries.map(({ Id }) => ({ Id })) });
  const queue = new SqsCaptureQueue({ send } as never, "queue");
  const identity = { txnId: "t", timestamp: 1, engineInfo: "test" };
  const pieces = [
    "",
    '"',
    "{}",
    "[]",
    "null",
    "-1",
    "9e15",
    "1e999",
    "\\n",
    "\\ud800",
    "..",
    "/",
    "x",
    "\u0000",
  ];
  for (let i = 0; i < 5_000; i++) {
    const at = random.below(text.length);
    const changed = text.slice(0, at) + random.pick(pieces) + text.slice(at + random.below(6));
    let read: Manifest;
    try {
      read = parseManifest(changed);
    } catch (error) {
      expect([RejectedError, RetryableError], changed).toContain((error as Error).constructor);
      continue;
    }
    if (manifestProblem(read, rules) !== null) continue;
    expect(() => appendBody([read], null, ["date"], identity), changed).not.toThrow();
    await queue.send(read.sources);
  }
});
