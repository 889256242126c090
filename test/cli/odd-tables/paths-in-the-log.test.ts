import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { deltacap } from "../../support/command-line.ts";
import { captureOf, DATE, DAY } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

let table: string;
/** The table's only data file, and its action in the log. */
let file: string;
let add: Record<string, unknown>;

beforeEach(async () => {
  const folder = temporaryFolder();
  table = join(folder, "table");
  mkdirSync(join(folder, "captures", "car-1"), { recursive: true });
  writeFileSync(join(folder, "captures", "car-1", "a.pcap"), captureOf(4, DAY, 1));
  await deltacap("ingest", join(folder, "captures"), "--table", table);
  const lines = readFileSync(join(table, "_delta_log", "00000000000000000001.json"), "utf8").split("\n");
  add = (JSON.parse(lines.find((line) => line.includes('"add"')) ?? "") as { add: typeof add }).add;
  file = readdirSync(join(table, `date=${DATE}`))[0] ?? "";
});

function commit(...actions: readonly object[]): void {
  const text = actions.map((action) => JSON.stringify(action)).join("\n");
  writeFileSync(join(table, "_delta_log", "00000000000000000002.json"), text);
}

const vacuum = () => ["vacuum", table, "--retention-hours", "0", "--allow-short-retention", "--delete"];
const readersAndRewriters = () => [
  ["sql", table, "select count(*) from packets"],
  ["inspect", table],
  ["export", table, "--capture", "file:///a", "-o", join(table, "..", "out.pcap")],
  ["optimize", table],
  ["forget", table, "--vehicle", "car-1"],
];

test("a file by another name than its plain one: no command reads, rewrites or vacuums it", async () => {
  for (const path of [
    `./date=${DATE}/${file}`,
    `x/../date=${DATE}/${file}`,
    `date=${DATE}//${file}`,
    `../table/date=${DATE}/${file}`,
    `%2e/date=${DATE}/${file}`,
  ]) {
    commit({ remove: { path: add.path, deletionTimestamp: 1, dataChange: true } }, { add: { ...add, path } });
    for (const words of [...readersAndRewriters(), vacuum()]) {
      const { code, err } = await deltacap(...words);
      expect(`${words[0]} ${code} ${err}`).toContain(`${words[0]} 3 `);
      expect(err).toContain(`the log names the file ${path}, which is not the plain path`);
    }
    expect(readdirSync(join(table, `date=${DATE}`))).toEqual([file]);
  }
});

test("a file by its absolute path: refused as such by all who read or rewrite, and spared by vacuum", async () => {
  const path = `file://${table}/date=${DATE}/${file}`;
  commit({ remove: { path: add.path, deletionTimestamp: 1, dataChange: true } }, { add: { ...add, path } });
  for (const words of readersAndRewriters()) {
    const { code, err } = await deltacap(...words);
    expect(`${words[0]} ${code} ${err}`).toContain(`${words[0]} 3 `);
    expect(err).toContain(`the log names the file ${path}, by its absolute path`);
  }
  expect(await deltacap(...vacuum())).toMatchObject({ code: 0 });
  expect(readdirSync(join(table, `date=${DATE}`))).toEqual([file]);
});
