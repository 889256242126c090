import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { RetryableError } from "@deltacap/delta";
import { pagedParquetWriter } from "@deltacap/parquet";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { beforeEach, describe, expect, test } from "vitest";
import { SupersededError } from "../../src/errors.ts";
import {
  type ConversionOutcome,
  type ConverterLimits,
  convertCaptures,
} from "../../src/ingest/convert-captures.ts";
import type { CaptureSource } from "../../src/manifest/capture-store.ts";
import { parseManifest } from "../../src/manifest/parse-manifest.ts";
import { sourceId } from "../../src/manifest/source-id.ts";
import { manifestProblem } from "../../src/manifest/verify-manifest.ts";
import { nodeDecompressors } from "../../src/node/compression.ts";
import { contentHash, sha256 } from "../../src/node/hash.ts";
import { converterDefaults } from "../../src/settings.ts";
import { concatenated, filling, pcap, pcapHeader } from "../support/captures/capture-builder.ts";
import { fault, hasFaults } from "../support/captures/faults.ts";
import { MemoryCaptureStore } from "../support/memory/memory-capture-store.ts";
import { MemoryLedger } from "../support/memory/memory-ledger.ts";
import { MemoryObjectStore } from "../support/memory/memory-object-store.ts";
import { gzip, metadata } from "../support/parquet/read-back.ts";

const NOW = 1_772_352_000_000;
const DAY = 86_400;

let captures: MemoryCaptureStore;
let table: MemoryObjectStore;
let ledger: MemoryLedger;
let batches: number;

beforeEach(() => {
  captures = new MemoryCaptureStore();
  table = new MemoryObjectStore();
  ledger = new MemoryLedger();
  batches = 0;
});

function convert(
  sources: readonly CaptureSource[],
  limits: Partial<ConverterLimits> = {},
  onCapture: (result: { readonly outcome: string }) => void = () => {},
): Promise<ConversionOutcome> {
  const ports = {
    captures,
    table,
    ledger,
    decompressors: nodeDecompressors,
    parquet: pagedParquetWriter({ compressor: gzip }),
    sha256,
    now: () => NOW,
    newBatchId: () => `batch-${batches++}`,
    onCapture,
    contentHash,
  };
  return convertCaptures(sources, ports, { ...converterDefaults, ...limits });
}

const id = (source: CaptureSource) => sourceId(source, sha256);

/** A capture of `packets` packets, the n-th at second n of day `day`. */
function capture(packets: number, day = 20_000): Uint8Array {
  const records = Array.from({ length: packets }, (_, i) => ({
    seconds: day * DAY + i,
    bytes: filling(20, i),
  }));
  return pcap({}, records);
}

/** `key packet_number` of all rows in the manifest's files, in the files' order. */
async function rowsOf({ manifest }: ConversionOutcome): Promise<string[]> {
  const rows: string[] = [];
  for (const { path, size, rows: count } of manifest?.files ?? []) {
    const body = table.objects.get(path)?.body;
    if (body?.length !== size)
      throw new Error(`${path} has ${body?.length} bytes, the manifest says ${size}`);
    const content = await parquetReadObjects({ file: body.slice().buffer as ArrayBuffer, compressors });
    expect(content).toHaveLength(count);
    for (const { capture: from, packet_number } of content) {
      rows.push(`${String(from).replace("s3://captures/", "")} ${packet_number}`);
    }
  }
  return rows;
}

const numbered = (key: string, packets: number) =>
  Array.from({ length: packets }, (_, i) => `${key} ${i + 1}`);
const outcomes = ({ results }: ConversionOutcome) =>
  results.map(({ source, outcome }) => [source.key, outcome]);

describe("failures of the table's store", () => {
  const steps = ["write", "commit"] as const;
  describe.each(steps)("in %s", (step) => {
    /** Fails the `nth` call of the step. */
    function failing(nth: number): void {
      let calls = 0;
      const create = table.create.bind(table);
      table.create = (path) => {
        const writer = create(path);
        const original = writer[step].bind(writer) as (chunk: Uint8Array) => Promise<never>;
        const replaced = async (chunk: Uint8Array) => {
          if (++calls === nth) throw new RetryableError("throttled");
          return await original(chunk);
        };
        return Object.assign(writer, { [step]: replaced });
      };
    }

    test.each([1, 2, 3])("end the batch, and nothing is announced (call %i)", async (nth) => {
      // Large ones among small ones: files are put in the middle of the batch, at a capture's end, and at the batch's.
      const sizes = { "car/a": 60, "car/b": 12_000, "car/c": 12_000 };
      const sources = Object.entries(sizes).map(([key, packets]) => captures.put(key, capture(packets)));
      const text = captures.put("car/d.txt", filling(30));
      failing(nth);
      const seen: string[] = [];
      const limits = { rows: 50, fileBytes: 1 << 30 };
      const converting = convert([...sources, text], limits, ({ outcome }) => seen.push(outcome));
      await expect(converting).rejects.toThrow(new RetryableError("throttled"));
      expect(seen).not.toContain("failed");
      expect(ledger.entries.size).toBe(0);
    });
  });
});

test("many small captures are not held beyond the limit of rows, and share few files", async () => {
  const sources = Array.from({ length: 60 }, (_, i) => captures.put(`car/${i}`, capture(40)));
  const outcome = await convert(sources, { rows: 100 });
  expect(outcome.manifest?.files).toHaveLength(1);
  const [file] = outcome.manifest?.files ?? [];
  const groups = metadata(table.objects.get(file?.path ?? "")?.body ?? new Uint8Array(0)).row_groups;
  for (const { num_rows } of groups) expect(Number(num_rows)).toBeLessThan(100 + 40);
  expect(await rowsOf(outcome)).toHaveLength(2400);
});

test("more captures than a manifest may have are a caller's error, before anything is read", async () => {
  const source = captures.put("car/a", capture(1));
  const converting = convert(Array.from({ length: 50_001 }, () => source));
  await expect(converting).rejects.toThrow(/50001 captures .* at most 50000/);
  expect(captures.opened).toEqual([]);
});

test("no capture is no manifest", async () => {
  expect(await convert([])).toEqual({ results: [], manifest: null });
});

describe("good captures", () => {
  test("give one manifest with their files and sources", async () => {
    const a = captures.put("car-1/a.pcap", capture(3));
    const b = { ...captures.put("car-2/b.pcap", capture(2, 20_001)), versionId: "v7" };
    const outcome = await convert([a, b]);
    expect(outcome.manifest).toMatchObject({
      manifestVersion: 1,
      batchId: "batch-0",
      createdMs: NOW,
      files: [
        { path: "date=2024-10-04/batch-0-00000.parquet", partitionValues: { date: "2024-10-04" }, rows: 3 },
        { path: "date=2024-10-05/batch-0-00001.parquet", partitionValues: { date: "2024-10-05" }, rows: 2 },
      ],
    });
    const { vehicleId: _, ...whereA } = a;
    const { vehicleId: __, ...whereB } = b;
    expect(outcome.manifest?.sources).toEqual([
      { id: id(a), ...whereA, packets: 3 },
      { id: id(b), ...whereB, packets: 2 },
    ]);
    expect(await rowsOf(outcome)).toEqual([...numbered("car-1/a.pcap", 3), ...numbered("car-2/b.pcap", 2)]);
  });

  test("lie in the files by vehicle, then capture, whatever the order they came in", async () => {
    const keys = ["car-2/a", "car-1/b", "car-10/z", "car-1/a", "\u{1f697}/x", "\ufffd/y"];
    const sources = keys.map((key) => captures.put(key, capture(1)));
    sources.push(captures.put("no-vehicle", capture(1), null));
    const expected = ["no-vehicle", "car-1/a", "car-1/b", "car-10/z", "car-2/a", "\ufffd/y", "\u{1f697}/x"];
    for (const order of [sources, sources.toReversed()]) {
      expect(await rowsOf(await convert(order))).toEqual(expected.map((key) => `${key} 1`));
    }
  });

  test("back to back in one object are one source", async () => {
    const source = captures.put("car/two.pcap", concatenated(capture(2), capture(3)));
    const outcome = await convert([source]);
    expect(outcome.manifest?.sources).toMatchObject([{ packets: 5 }]);
    expect(await rowsOf(outcome)).toEqual(numbered("car/two.pcap", 5));
  });
});

describe("duplicates", () => {
  test("named twice in one call are converted once", async () => {
    const source = captures.put("car/a", capture(2));
    const outcome = await convert([source, source, { ...source }]);
    expect(outcomes(outcome).sort()).toEqual([
      ["car/a", "converted"],
      ["car/a", "duplicate"],
      ["car/a", "duplicate"],
    ]);
    expect(outcome.manifest?.sources).toHaveLength(1);
    expect(await rowsOf(outcome)).toEqual(numbered("car/a", 2));
  });

  test("that the ledger knows as committed are left out, unread, with what it knows", async () => {
    const source = captures.put("car/a", capture(2));
    const known = { status: "committed", version: 3, damage: { offset: 7, reason: "cut" } } as const;
    ledger.entries.set(id(source), known);
    const results = [{ source, id: id(source), outcome: "duplicate", known }];
    expect(await convert([source])).toEqual({ manifest: null, results });
    expect(captures.opened).toEqual([]);
  });

  test("that the ledger knows as rejected or empty are tried again", async () => {
    const [a, b] = [captures.put("car/a", capture(1)), captures.put("car/b", capture(1))];
    ledger.entries.set(id(a), { status: "rejected", capture: a.capture, reason: "", offset: 0 });
    ledger.entries.set(id(b), { status: "empty", capture: b.capture });
    expect(outcomes(await convert([a, b])).map(([, outcome]) => outcome)).toEqual(["converted", "converted"]);
  });

  test("under another eTag are other sources", async () => {
    const a = captures.put("car/a", capture(2));
    expect((await convert([a, { ...a, eTag: "other" }])).manifest?.sources).toHaveLength(2);
  });
});

describe("the manifest passes the committer's verification", () => {
  const DAYS = [-719_162, -60_000, 0, 20_000, 100_000, 2_932_896];
  const edges = DAYS.flatMap((day) =>
    [0, 0.5, DAY - 1].map((later) => ({ seconds: day * DAY + later, bytes: filling(20, 1) })),
  ).filter(({ seconds }) => seconds >= 0 && seconds < 2 ** 32 && Number.isInteger(seconds));
  const last = { seconds: 20_001 * DAY - 1, fraction: 999_999, bytes: filling(20, 2) };
  const inputs: [string, Uint8Array][] = [
    ["of packets at the edges of days", pcap({}, [...edges, last, last])],
    ["of a wrong clock", pcap({}, [...Array(5).fill(last), { ...last, seconds: 5 }])],
  ];
  if (hasFaults) {
    for (const name of ["edge-times.pcapng", "clock-glitch-450-of-10450.pcap.gz", "zero-tail.pcap"]) {
      inputs.push([`of ${name}`, readFileSync(fault(`captures/${name}`))]);
    }
  }
  test.each(inputs)("%s", async (_, bytes) => {
    const source = captures.put("car ü/a+b", bytes);
    for (const eTag of ["0123", "0123-2"]) {
      const { manifest } = await convert([{ ...source, eTag }]);
      const buckets = new Set([source.bucket]);
      const rules = { buckets, table: { bucket: "lake", prefix: "t" }, hashContent: false, sha256 };
      expect(manifestProblem(parseManifest(JSON.stringify(manifest)), rules)).toBeNull();
    }
  });
});

describe("where the eTag does not identify the content", () => {
  const bytes = capture(3);
  const md5 = createHash("md5").update(bytes).digest("hex");
  const sha = createHash("sha256").update(bytes).digest("hex");
  /** The capture as an upload of one part, or of several. */
  const upload = (eTag: string) => ({ ...captures.put("car/a", bytes), eTag });
  const commit = (outcome: ConversionOutcome) => {
    for (const { id, capture } of outcome.manifest?.sources ?? []) {
      ledger.entries.set(id, { status: "committed", version: 1, capture });
    }
  };

  test("the id of an upload in parts is made from the content's SHA-256, which the manifest has too", async () => {
    const outcome = await convert([upload("0123-2")]);
    const source = { id: id({ ...upload("0123-2"), eTag: sha }), eTag: "0123-2", contentSha256: sha };
    expect(outcome.manifest?.sources).toMatchObject([source]);
    expect(captures.opened).toEqual(["car/a", "car/a"]);
  });

  test("the same bytes are one source, in whatever parts they are uploaded again", async () => {
    commit(await convert([upload("0123-2")]));
    expect(outcomes(await convert([upload("4567-9")]))).toEqual([["car/a", "duplicate"]]);
    const other = { ...captures.put("car/b", bytes), eTag: "0123-2" };
    expect(outcomes(await convert([other]))).toEqual([["car/b", "converted"]]);
  });

  test("an upload in parts of what was uploaded in one part before is a duplicate", async () => {
    commit(await convert([upload(md5)]));
    expect(outcomes(await convert([upload("0123-2")]))).toEqual([["car/a", "duplicate"]]);
  });

  test.each(["parts first", "parts last"])("both in one call give its rows once: %s", async (order) => {
    const both = [upload(md5), upload("0123-2")];
    const outcome = await convert(order === "parts first" ? both.toReversed() : both);
    expect(outcomes(outcome)).toEqual([
      ["car/a", "converted"],
      ["car/a", "duplicate"],
    ]);
    expect(await rowsOf(outcome)).toEqual(numbered("car/a", 3));
  });

  test("an upload in parts is converted where the one before it in the same call was replaced by it", async () => {
    const [plain, parts] = [upload(md5), upload("0123-2")];
    const open = captures.open.bind(captures);
    captures.open = async function* (source) {
      if (source === plain) throw new SupersededError("replaced");
      yield* open(source);
    };
    const outcome = await convert([plain, parts]);
    expect(outcomes(outcome)).toEqual([
      ["car/a", "superseded"],
      ["car/a", "converted"],
    ]);
  });

  test("what an older version committed under the parts' eTag is a duplicate, unread", async () => {
    const source = upload("0123-2");
    ledger.entries.set(id(source), { status: "committed", version: 1 });
    expect(outcomes(await convert([source]))).toEqual([["car/a", "duplicate"]]);
    expect(captures.opened).toEqual([]);
  });

  test("the store's own SHA-256 saves the second reading", async () => {
    captures.checksums.set("car/a", sha);
    const outcome = await convert([upload("0123-2")]);
    expect(outcome.manifest?.sources).toMatchObject([
      { id: id({ ...upload("0123-2"), eTag: sha }), contentSha256: sha },
    ]);
    expect(captures.opened).toEqual(["car/a"]);
  });

  test("an upload in one part is not read for its id, and its manifest has no SHA-256", async () => {
    const outcome = await convert([upload(md5)]);
    expect(outcome.manifest?.sources[0]).not.toHaveProperty("contentSha256");
    expect(captures.opened).toEqual(["car/a"]);
  });

  test("one that cannot be read for its id is reported, and its neighbours go on", async () => {
    const parts = upload("0123-2");
    captures.fail("car/a", new RetryableError("connection reset"), 40);
    const outcome = await convert([parts, captures.put("car/b", capture(1))]);
    expect(outcomes(outcome)).toEqual([
      ["car/a", "failed"],
      ["car/b", "converted"],
    ]);
  });
});

describe("captures that give no row", () => {
  test("what is no capture is rejected, and noted in the ledger with the reason", async () => {
    const text = captures.put("car/notes.txt", new TextEncoder().encode("gateway restarted"));
    const good = captures.put("car/z.pcap", capture(1));
    const outcome = await convert([text, good]);
    const reason = expect.stringMatching(/^not a capture: it begins with 67 61 74 65/);
    expect([...ledger.entries]).toEqual([
      [id(text), { status: "rejected", capture: text.capture, reason, offset: 0 }],
    ]);
    expect(outcome.manifest?.sources.map(({ key }) => key)).toEqual(["car/z.pcap"]);
  });

  test("one larger than the limit is rejected unread, with both sizes", async () => {
    const source = captures.put("car/a", capture(10));
    const { results } = await convert([source], { captureBytes: source.size - 1 });
    const reason = `${source.size} bytes: a capture may have ${source.size - 1} (setting captureBytes)`;
    expect(results).toMatchObject([{ outcome: "rejected", reason }]);
    expect(ledger.entries.get(id(source))).toMatchObject({ status: "rejected", reason });
    expect(captures.opened).toEqual([]);
    expect((await convert([source], { captureBytes: source.size })).manifest).not.toBeNull();
  });

  test("a decompression bomb is rejected, and its packets are in no file", async () => {
    const bomb = captures.put("car/bomb.pcap.gz", gzipSync(capture(20_000)));
    const good = captures.put("car/a", capture(2));
    const outcome = await convert([bomb, good], { decompressedBytes: 100_000 });
    const reason = expect.stringContaining("decompression bomb");
    expect(ledger.entries.get(id(bomb))).toMatchObject({ status: "rejected", reason });
    expect(await rowsOf(outcome)).toEqual(numbered("car/a", 2));
  });

  test.each([
    ["no byte", new Uint8Array(0)],
    ["a header alone", pcapHeader({})],
  ])("one of %s is empty, and noted so in the ledger", async (_, bytes) => {
    const source = captures.put("car/a", bytes);
    const results = [{ source, id: id(source), outcome: "empty" }];
    expect(await convert([source])).toEqual({ manifest: null, results });
    expect([...ledger.entries]).toEqual([[id(source), { status: "empty", capture: source.capture }]]);
    expect(table.objects.size).toBe(0);
  });

  test("one that was deleted is gone, not superseded, and noted nowhere", async () => {
    const source = captures.put("car/a", capture(1));
    captures.remove("car/a");
    const { results, manifest } = await convert([source]);
    expect(results).toMatchObject([{ outcome: "gone", reason: "s3://captures/car/a is gone" }]);
    expect([manifest, ledger.entries.size]).toEqual([null, 0]);
  });

  test("one replaced half way is superseded, and its packets are in no file", async () => {
    const source = captures.put("car/a", capture(500));
    captures.fail("car/a", new SupersededError("replaced"), 5000);
    const outcome = await convert([source, captures.put("car/b", capture(1))], { rows: 20 });
    expect(outcomes(outcome)[0]).toEqual(["car/a", "superseded"]);
    expect(await rowsOf(outcome)).toEqual(["car/b 1"]);
  });
});

describe("a damaged capture", () => {
  test("keeps every complete packet; offset and reason are in the manifest", async () => {
    const whole = capture(10);
    const outcome = await convert([captures.put("car/a", whole.subarray(0, whole.length - 5))]);
    const damage = { offset: 24 + 9 * 36, reason: expect.stringContaining("cut short") };
    expect(outcome.results).toMatchObject([{ outcome: "converted", packets: 9, damage }]);
    expect(outcome.manifest?.sources).toMatchObject([{ packets: 9, damage }]);
    expect(await rowsOf(outcome)).toEqual(numbered("car/a", 9));
    expect([...ledger.entries.values()].map(({ status }) => status)).toEqual(["unfinished"]);
  });

  test("in its compressed form keeps the packets before the damage", async () => {
    const bytes = gzipSync(capture(2000), { level: 0 });
    const outcome = await convert([captures.put("car/a.gz", bytes.subarray(0, bytes.length / 2))]);
    const [source] = outcome.manifest?.sources ?? [];
    expect(source?.packets).toBeGreaterThan(900);
    expect(source?.damage?.reason).toBeDefined();
    expect(await rowsOf(outcome)).toEqual(numbered("car/a.gz", source?.packets ?? 0));
  });
});

describe("a capture whose clock was wrong at times", () => {
  /** `packet_number date` of all rows, in the files' order. */
  async function datesOf(outcome: ConversionOutcome): Promise<string[]> {
    const rows: string[] = [];
    for (const { path, partitionValues } of outcome.manifest?.files ?? []) {
      const body = table.objects.get(path)!.body;
      const content = await parquetReadObjects({ file: body.slice().buffer as ArrayBuffer, compressors });
      for (const { packet_number, ts } of content) {
        expect(ts).toBeInstanceOf(Date);
        rows.push(`${packet_number} ${partitionValues.date}`);
      }
    }
    return rows;
  }
  const right = Array.from({ length: 30 }, (_, i) => ({ seconds: 20_000 * DAY + i, bytes: filling(20, i) }));
  const wrong = Array.from({ length: 6 }, (_, i) => ({
    seconds: (i + 1) * 1000 * DAY,
    bytes: filling(20, i),
  }));
  const orders = {
    before: [...wrong, ...right],
    behind: [...right, ...wrong],
    among: right.flatMap((record, i) => (i % 5 === 0 ? [record, wrong[i / 5]!] : [record])),
  };

  test.each(Object.entries(orders))(
    "keeps every packet; with wrong times %s the right ones only these lose their date",
    async (_, records) => {
      const clock = captures.put("car/clock", pcap({}, records));
      const good = captures.put("car/good", capture(1, 2));
      const outcome = await convert([clock, good], { datesPerCapture: 4, rows: 10 });
      const reason = expect.stringMatching(
        /^the clock was wrong at times: .* more than 4 dates\. The 6 rows/,
      ) as string;
      const damage = { offset: 0, reason };
      expect(outcome.results[0]).toMatchObject({ outcome: "converted", packets: 36, undated: 6, damage });
      expect(outcome.manifest?.sources[0]).toMatchObject({ packets: 36, damage });
      expect(outcome.results[1]).not.toHaveProperty("undated");
      const expected = records.map(
        ({ seconds }, i) => `${i + 1} ${seconds < 20_000 * DAY ? "null" : "2024-10-04"}`,
      );
      expect((await datesOf(outcome)).sort()).toEqual([...expected, "1 1970-01-03"].sort());
    },
  );

  test("and that is cut has both reasons, and the byte where it is cut", async () => {
    const whole = pcap({}, orders.among);
    const outcome = await convert([captures.put("car/a", whole.subarray(0, -5))], { datesPerCapture: 4 });
    const reason = expect.stringMatching(/^the clock was wrong at times.*; and packet cut short/) as string;
    expect(outcome.results).toMatchObject([
      { packets: 35, undated: 6, damage: { offset: whole.length - 36, reason } },
    ]);
  });

  test("which fails when it is read again leaves no row", async () => {
    const clock = captures.put("car/clock", pcap({}, orders.before));
    const open = captures.open.bind(captures);
    captures.open = (source) => {
      if (captures.opened.length > 0) captures.fail("car/clock", new RetryableError("connection reset"), 500);
      return open(source);
    };
    const outcome = await convert([clock, captures.put("car/good", capture(1))], { datesPerCapture: 4 });
    expect(outcomes(outcome)).toEqual([
      ["car/clock", "failed"],
      ["car/good", "converted"],
    ]);
    expect(await rowsOf(outcome)).toEqual(["car/good 1"]);
  });

  test("which has time on every date and no more of any than of others has no date at all", async () => {
    const records = Array.from({ length: 50 }, (_, i) => ({ seconds: i * DAY, bytes: filling(20) }));
    const outcome = await convert([captures.put("car/a", pcap({}, records))], { datesPerCapture: 4 });
    expect(outcome.results).toMatchObject([{ packets: 50, undated: 50 }]);
    expect(outcome.manifest?.files.map(({ partitionValues, rows }) => [partitionValues.date, rows])).toEqual([
      [null, 50],
    ]);
  });

  test.skipIf(!hasFaults)("450 random times among 10,450: 10,000 packets keep their date", async () => {
    const bytes = new Uint8Array(readFileSync(fault("captures/clock-glitch-450-of-10450.pcap.gz")));
    const outcome = await convert([captures.put("car/a", bytes)]);
    expect(outcome.results).toMatchObject([{ outcome: "converted", packets: 10_450, undated: 450 }]);
    const files = outcome.manifest?.files ?? [];
    expect(files.map(({ partitionValues, rows }) => [partitionValues.date, rows]).sort()).toEqual([
      [null, 450],
      ["2026-01-02", 10_000],
    ]);
  });
});

describe("failures", () => {
  test("of reading one capture take its rows back, and the neighbours go on", async () => {
    const sources = ["car/a", "car/b", "car/c"].map((key) => captures.put(key, capture(100)));
    captures.fail("car/b", new RetryableError("connection reset"), 2000);
    const outcome = await convert(sources);
    expect(outcome.results.map((result) => result.outcome)).toEqual(["converted", "failed", "converted"]);
    expect(outcome.results[1]).toMatchObject({ reason: "connection reset" });
    expect(await rowsOf(outcome)).toEqual([...numbered("car/a", 100), ...numbered("car/c", 100)]);
    expect(ledger.entries.size).toBe(0);
  });

  test("of reading a large capture take back the rows that were in files already", async () => {
    const sizes = { "car/a": 60, "car/b": 12_000, "car/c": 60 };
    const sources = Object.entries(sizes).map(([key, packets]) => captures.put(key, capture(packets)));
    captures.fail("car/b", new RetryableError("connection reset"), 400_000);
    const rows = await rowsOf(await convert(sources, { rows: 50, fileBytes: 1000 }));
    expect(rows.sort()).toEqual([...numbered("car/a", 60), ...numbered("car/c", 60)].sort());
    captures.fail("car/b", null);
    expect(await rowsOf(await convert(sources.slice(1, 2), { rows: 5000 }))).toEqual(
      numbered("car/b", 12_000),
    );
  });

  test("that nobody foresaw end the batch unchanged", async () => {
    const source = captures.put("car/a", capture(1));
    captures.fail("car/a", new TypeError("a bug"));
    await expect(convert([source])).rejects.toThrow(new TypeError("a bug"));
    expect(table.objects.size).toBe(0);
  });

  test("of the ledger end the batch before anything is read", async () => {
    const source = captures.put("car/a", capture(1));
    ledger.lookup = () => Promise.reject(new RetryableError("no answer"));
    await expect(convert([source])).rejects.toThrow("no answer");
    expect(captures.opened).toEqual([]);
  });

  test("of noting what was set aside end the batch", async () => {
    ledger.putSetAside = () => Promise.reject(new RetryableError("no answer"));
    const sources = [captures.put("car/a", capture(1)), captures.put("car/b", filling(9))];
    await expect(convert(sources)).rejects.toThrow("no answer");
  });
});
