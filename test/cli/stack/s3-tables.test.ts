import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { main } from "../../../cli/deltacap.ts";
import { Cloud, type Visitor } from "../../support/aws/cloud.ts";
import { enterByShell } from "../../support/aws/shell-environment.ts";
import { jsonLines, TestStack } from "../../support/aws/test-stack.ts";
import { filling, pcap } from "../../support/captures/capture-builder.ts";
import { readPackets } from "../../support/captures/read-packets.ts";
import { RecordingTerminal } from "../../support/command-line.ts";
import { captureOf } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

let cloud: Cloud;
let stack: TestStack;
let visitor: Visitor;

const capture = (byte: number) =>
  pcap({}, [{ seconds: 1_772_352_000 + byte, fraction: 0, bytes: filling(60, byte) }]);
const table = "s3://lake/s3-tables";

beforeAll(async () => {
  cloud = await Cloud.start();
  stack = await TestStack.open(cloud, "s3-tables");
  await stack.ingest({ "car-1/a.pcap": capture(1) });
  await stack.ingest({ "car-2/b.pcap": capture(2) });
  visitor = await cloud.enter();
});
afterAll(() => cloud.close());

beforeEach(() => enterByShell(visitor));
afterEach(() => vi.unstubAllEnvs());

describe("a table on S3 is read without writing anything, and without DynamoDB", () => {
  test("by log and inspect", async () => {
    const versions = jsonLines((await stack.deltacap("log", table, "--json")).out);
    expect(versions.map(({ version, rows }) => [version, rows])).toEqual([
      [0, 0],
      [1, 1],
      [2, 1],
    ]);
    const facts = jsonLines((await stack.deltacap("inspect", table, "--json")).out)[0];
    expect(facts).toMatchObject({ version: 2, files: 2, rows: 2 });
    const operations = new Set(visitor.faults.requests.map(({ operation }) => operation));
    expect([...operations].sort()).toEqual(["s3:GetObject", "s3:HeadObject", "s3:ListObjectsV2"]);
  });

  test("by sql that a signal ends: the query is interrupted, and the copies are removed", async () => {
    const folder = temporaryFolder();
    vi.stubEnv("TMPDIR", folder);
    const recording = new RecordingTerminal();
    let copies: string[] | null = null;
    const terminal = Object.assign(new RecordingTerminal(), {
      interruption: recording.interruption,
      err: recording.err,
      out: () => {
        if (copies !== null) return;
        copies = readdirSync(folder);
        void recording.interruption.arrived("SIGTERM");
      },
    });
    const query = "select vehicle_id from packets; select count(*) from range(1000000) a, range(1000000) b";
    expect(await main(["sql", table, query], terminal)).toBe(143);
    expect(copies).toHaveLength(1);
    expect(readdirSync(folder)).toEqual([]);
    expect(recording.watched).not.toContain("failed");
  });

  test("by sql, over copies that are removed", async () => {
    const folder = temporaryFolder();
    vi.stubEnv("TMPDIR", folder);
    const { code, out } = await stack.deltacap(
      "sql",
      table,
      "select vehicle_id, date::varchar as date, count(*)::int as n from packets group by all order by 1",
      "--json",
    );
    expect(code).toBe(0);
    expect(jsonLines(out)).toEqual([
      { vehicle_id: "car-1", date: "2026-03-01", n: 1 },
      { vehicle_id: "car-2", date: "2026-03-01", n: 1 },
    ]);
    expect(await stack.deltacap("sql", table, "select nonsense")).toMatchObject({ code: 2 });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("by export, which copies only files that may have the capture", async () => {
    const output = join(temporaryFolder(), "a.pcap");
    const uri = `s3://${stack.bucket}/car-1/a.pcap`;
    expect(await stack.deltacap("export", table, "--capture", uri, "-o", output)).toMatchObject({ code: 0 });
    expect(readPackets(readFileSync(output)).packets).toEqual(readPackets(capture(1)).packets);
    expect(visitor.faults.count("s3:GetObject", ".parquet")).toBe(1);
  });
});

test("a capture on S3 is inspected like a file, by one HEAD and one GET", async () => {
  const uri = `s3://${stack.bucket}/car-1/a.pcap`;
  const { code, out } = await stack.deltacap("inspect", uri, "--json");
  expect(code).toBe(0);
  expect(jsonLines(out)[0]).toMatchObject({ capture: uri, end: "complete", packets: 1 });
  expect(visitor.faults.counts()).toEqual({ "s3:HeadObject": 1, "s3:GetObject": 1 });
  const cut = captureOf(2).subarray(0, -1);
  cloud.s3.storage.bucket(stack.bucket).put("odd//a+ b%.pcap", cut, {});
  const damaged = await stack.deltacap("inspect", `s3://${stack.bucket}/odd//a+ b%.pcap`, "--json");
  expect(damaged.code).toBe(1);
  expect(jsonLines(damaged.out)[0]).toMatchObject({ end: "damaged", packets: 1 });
});

test("sql that would copy more than is allowed copies nothing, and says what else reads the table", async () => {
  const { code, err } = await stack.deltacap("sql", table, "select 1", "--max-download", "0");
  expect(code).toBe(2);
  expect(err).toContain("2 files with");
  expect(err).toContain("--max-download");
  expect(visitor.faults.count("s3:GetObject", ".parquet")).toBe(0);
});

test.each([
  [["log", "s3://lake/nothing"], 2, "is no Delta table"],
  [["log", "s3://lake"], 2, "bucket's root"],
  [["inspect", "s3://lake/no-such.pcap"], 2, "is no Delta table"],
  [["inspect", "s3://no-such-bucket/a.pcap"], 3, "the bucket in the settings does not exist"],
  [["log", "s3://no-such-bucket/t"], 3, "the bucket in the settings does not exist"],
  [["ingest", "docs/decisions", "--table", "s3://lake/s3-tables"], 2, "a table in a local folder"],
])("%j exits %d and says why", async (argv, exit, message) => {
  const { code, err } = await stack.deltacap(...argv);
  expect([code, err]).toEqual([exit, expect.stringContaining(message)]);
});

test("a log that names files outside of the table is refused", async () => {
  const bucket = cloud.s3.storage.bucket("lake");
  for (const version of [0, 1]) {
    const name = `_delta_log/${String(version).padStart(20, "0")}.json`;
    const body = bucket.current(`s3-tables/${name}`)?.body.toString() ?? "";
    const evil = body.replace(/"path":"[^"]*"/, '"path":"date=2026-03-01/../../../x.parquet"');
    bucket.put(`evil/${name}`, new TextEncoder().encode(evil), {});
  }
  const { code, err } = await stack.deltacap("sql", "s3://lake/evil", "select 1");
  expect([code, err]).toEqual([3, expect.stringContaining("in the table's folder")]);
});
