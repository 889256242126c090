import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { deltacap } from "../../support/command-line.ts";
import { captureOf, DAY } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

interface Metadata {
  configuration: Record<string, string>;
}

/** A table of ours to whose log another writer has added what `change` makes of its metadata. */
async function changedTable(change: (metaData: Metadata) => object[]): Promise<string> {
  const folder = temporaryFolder();
  const table = join(folder, "table");
  mkdirSync(join(folder, "captures", "car-1"), { recursive: true });
  writeFileSync(join(folder, "captures", "car-1", "a.pcap"), captureOf(4, DAY, 1));
  await deltacap("ingest", join(folder, "captures"), "--table", table);
  const commit = (version: number) => join(table, "_delta_log", `${String(version).padStart(20, "0")}.json`);
  const line = readFileSync(commit(0), "utf8")
    .split("\n")
    .find((text) => text.includes('"metaData"'));
  const { metaData } = JSON.parse(line ?? "") as { metaData: Metadata };
  const actions = change(metaData).map((action) => JSON.stringify(action));
  writeFileSync(commit(2), actions.join("\n"));
  return table;
}

const configured = (metaData: Metadata, configuration: Record<string, string>) => ({
  metaData: { ...metaData, configuration: { ...metaData.configuration, ...configuration } },
});
const protocol = (readerFeatures: string[], writerFeatures = readerFeatures) => ({
  protocol: { minReaderVersion: 3, minWriterVersion: 7, readerFeatures, writerFeatures },
});
const readers = (table: string) => [
  ["sql", table, "select count(*) from packets"],
  ["export", table, "--capture", "file:///a", "-o", join(table, "..", "out.pcap")],
];

test.each<[string, (metaData: Metadata) => object[]]>([
  [
    "delta.columnMapping.mode = name",
    (metaData) => [
      { protocol: { minReaderVersion: 2, minWriterVersion: 5 } },
      configured(metaData, { "delta.columnMapping.mode": "name" }),
    ],
  ],
  ["table feature catalogManaged", () => [protocol(["catalogManaged"])]],
  [
    "minReaderVersion 4",
    () => [{ protocol: { minReaderVersion: 4, minWriterVersion: 7, writerFeatures: [] } }],
  ],
])("a table with %s: sql and export refuse it by name", async (obstacle, change) => {
  const table = await changedTable(change);
  for (const words of readers(table)) {
    const { code, out, err } = await deltacap(...words);
    expect([words[0], code, out]).toEqual([words[0], 3, ""]);
    expect(err).toContain(`asks of its readers what deltacap does not do: ${obstacle}.`);
  }
});

test("what binds writers only, and column mapping that is off, keep nobody from reading", async () => {
  const table = await changedTable((metaData) => [
    protocol(
      ["columnMapping", "deletionVectors"],
      ["columnMapping", "deletionVectors", "rowTracking", "new"],
    ),
    configured(metaData, { "delta.columnMapping.mode": "none" }),
  ]);
  expect(await deltacap("sql", table, "select count(*) as n from packets", "--json")).toMatchObject({
    code: 0,
    out: '{"n":"4"}\n',
  });
});
