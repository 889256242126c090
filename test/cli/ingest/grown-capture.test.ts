import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cloud } from "../../support/aws/cloud.ts";
import { jsonLines, TestStack } from "../../support/aws/test-stack.ts";
import { filling, pcap } from "../../support/captures/capture-builder.ts";
import { deltacap } from "../../support/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const query = /The newest source of each capture[^`]*```sql\n([^`]+)\n```/.exec(
  readFileSync("docs/table.md", "utf8"),
)?.[1];

test("of a capture that was ingested twice while it grew, the documented query keeps the newest content", async () => {
  const folder = temporaryFolder();
  const captures = join(folder, "captures", "car-1");
  const table = join(folder, "table");
  mkdirSync(captures, { recursive: true });
  const whole = pcap(
    {},
    Array.from({ length: 5 }, (_, i) => ({ seconds: i + 1, bytes: filling(60, i) })),
  );
  writeFileSync(join(captures, "other.pcap"), pcap({}, [{ seconds: 9, bytes: filling(60) }]));
  const recordLength = 16 + 60;
  for (const packets of [2.5, 3, 5]) {
    writeFileSync(join(captures, "a.pcap"), whole.subarray(0, 24 + packets * recordLength));
    await deltacap("ingest", join(folder, "captures"), "--table", table, "--jobs", "1");
  }
  const count = async (sql: string) => {
    const { out } = await deltacap("sql", table, `SELECT count(*)::INT AS n FROM (${sql})`, "--json");
    return (JSON.parse(out) as { n: number }).n;
  };
  expect(await count("FROM packets")).toBe(2 + 3 + 5 + 1);
  expect(await count(query ?? "")).toBe(5 + 1);
});

const RECORD = 16 + 60;
const HEADER = 24;
const records = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i) => ({ seconds: i + 1, bytes: filling(60, i + first) }));
const grown = pcap({}, records(5));
/** What was there when the third packet was being written. */
const begun = grown.subarray(0, HEADER + 2.5 * RECORD);
const other = pcap({}, records(5, 9));

describe("a capture that was ingested before it was complete", () => {
  /** Ingests one file's contents one after the other; the last run's summary, and the ledger's entries. */
  async function ingestedOneByOne(...contents: readonly Uint8Array[]) {
    const folder = temporaryFolder();
    const capture = join(folder, "a.pcap");
    const table = join(folder, "table");
    let summary: Record<string, unknown> = {};
    for (const content of contents) {
      writeFileSync(capture, content);
      const { out } = await deltacap("ingest", capture, "--table", table, "--jobs", "1", "--json");
      summary = jsonLines(out).at(-1) ?? {};
    }
    const lines = readFileSync(join(table, "_deltacap/ledger.log"), "utf8").split("\n");
    const entries = lines
      .filter((line) => line.includes('"committed"'))
      .map((line) => JSON.parse(line) as { id: string; entry: { packets: number; continues?: string } });
    return { summary, entries };
  }

  test("is recorded as the beginning of the whole one, which the report names", async () => {
    const { summary, entries } = await ingestedOneByOne(begun, grown);
    expect(summary).toMatchObject({ ingested: 1, continued: [expect.stringMatching(/a\.pcap$/)] });
    const [first, whole] = entries;
    expect([first?.entry.packets, whole?.entry.packets]).toEqual([2, 5]);
    expect(whole?.entry.continues).toBe(first?.id);
    expect(first?.entry.continues).toBeUndefined();
  });

  test("is recorded at each step of its growth", async () => {
    const later = grown.subarray(0, HEADER + 3.5 * RECORD);
    const { entries } = await ingestedOneByOne(begun, later, grown);
    expect(entries.map(({ entry }) => entry.continues)).toEqual([undefined, entries[0]?.id, entries[1]?.id]);
  });

  test.each([
    ["another content of the same name", [begun, other]],
    ["a shorter one", [grown.subarray(0, HEADER + 4.5 * RECORD), begun]],
    ["the same once more", [begun, begun]],
    ["one that was complete before", [pcap({}, records(2)), other]],
  ])("is not recorded for %s", async (_, contents) => {
    const { summary, entries } = await ingestedOneByOne(...contents);
    expect(summary.continued).toBeUndefined();
    expect(entries.filter(({ entry }) => entry.continues !== undefined)).toEqual([]);
  });

  describe("on a stack", () => {
    let cloud: Cloud;
    beforeAll(async () => {
      cloud = await Cloud.start();
    });
    afterAll(() => cloud.close());

    test("is named by trace of the whole one, and only by that", async () => {
      const stack = await TestStack.open(cloud, "grown");
      await stack.ingest({ "car-1/a.pcap": begun, "car-1/b.pcap": begun });
      const uri = `s3://${stack.bucket}/car-1/a.pcap`;
      const [first] = jsonLines((await stack.deltacap("trace", uri, "--json")).out);
      expect(first).toMatchObject({ status: "committed", packets: 2 });
      expect(first).not.toHaveProperty("continues");
      await stack.ingest({ "car-1/a.pcap": grown, "car-1/b.pcap": other });
      const [whole] = jsonLines((await stack.deltacap("trace", uri, "--json")).out);
      expect(whole).toMatchObject({ packets: 5, continues: first?.source_id });
      const text = (await stack.deltacap("trace", uri)).out;
      expect(text).toContain(`continues source ${String(first?.source_id)}`);
      const [unlike] = jsonLines(
        (await stack.deltacap("trace", `s3://${stack.bucket}/car-1/b.pcap`, "--json")).out,
      );
      expect(unlike).toMatchObject({ packets: 5 });
      expect(unlike).not.toHaveProperty("continues");
    });
  });
});
