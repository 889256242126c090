import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
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
