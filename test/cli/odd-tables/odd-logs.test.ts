import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { deltacap } from "../../support/command-line.ts";
import { folderContent } from "../../support/folder-content.ts";
import { captureOf, DAY } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

let folder: string;
let table: string;

/** A table of two commits, with 7 rows in two files. */
beforeEach(async () => {
  folder = temporaryFolder();
  table = join(folder, "table");
  for (const packets of [3, 4]) {
    const captures = join(folder, `captures-${packets}`);
    mkdirSync(join(captures, "car-1"), { recursive: true });
    writeFileSync(join(captures, "car-1", "a.pcap"), captureOf(packets, DAY, packets));
    await deltacap("ingest", captures, "--table", table);
  }
});

const commit = (version: number) => join(table, "_delta_log", `${String(version).padStart(20, "0")}.json`);

/** Changes the text of a version's commit. */
function change(version: number, pattern: RegExp | string, replacement: string): void {
  const before = readFileSync(commit(version), "utf8");
  const after = before.replace(pattern, () => replacement);
  expect(after).not.toBe(before);
  writeFileSync(commit(version), after);
}

const prepend = (version: number, line: string) => change(version, /^/, `${line}\n`);

const rows = async () => (await deltacap("sql", table, "select count(*)::int n from packets", "--json")).out;
const logRows = async () =>
  (await deltacap("log", table, "--json")).out
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { rows: number | null }).rows);
const inspected = async () =>
  (JSON.parse((await deltacap("inspect", table, "--json")).out) as { rows: unknown }).rows;

/** Commands that change the table, in an order in which each has something to do. */
const writers = () => [
  ["ingest", join(folder, "captures-3"), "--table", table],
  ["optimize", table],
  ["forget", table, "--vehicle", "car-2"],
  ["checkpoint", table],
  ["vacuum", table, "--retention-hours", "0", "--allow-short-retention", "--delete"],
];

describe("files whose statistics do not say how many rows they have", () => {
  const NUMBERS = ["-1", "1e30", "1.5", '\\"5\\"', "null", "9007199254740993"];
  test.each<readonly [string, RegExp, string]>([
    ["without statistics", /,"stats":"(?:[^"\\]|\\.)*"/, ""],
    ...NUMBERS.map((n) => [`with ${n} rows`, /\\"numRecords\\":\d+/, `\\"numRecords\\":${n}`] as const),
  ])(
    "%s: inspect counts them from footers, log says that they are unknown",
    async (_, pattern, replacement) => {
      change(2, pattern, replacement);
      expect(await inspected()).toBe(7);
      expect(await logRows()).toEqual([0, 3, null]);
      expect((await deltacap("log", table)).out).toMatch(/ unknown /);
      expect(await rows()).toBe('{"n":7}\n');
    },
  );

  test("inspect says that the rows are unknown where a footer cannot be read", async () => {
    change(2, /,"stats":"(?:[^"\\]|\\.)*"/, "");
    const { add } = JSON.parse(/\{"add".*/.exec(readFileSync(commit(2), "utf8"))?.[0] ?? "") as {
      add: { path: string };
    };
    writeFileSync(join(table, add.path), "no Parquet file");
    expect(await inspected()).toBe("unknown");
    expect(await deltacap("inspect", table)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/rows +unknown/) as string,
    });
  });
});

describe("a protocol that no table may have is refused by every command, and the table stays as it is", () => {
  test.each([
    ['"minReaderVersion":0,"minWriterVersion":0', "reader version 0 and writer version 0"],
    ['"minReaderVersion":1,"minWriterVersion":-7', "reader version 1 and writer version -7"],
    ['"minReaderVersion":3,"minWriterVersion":7', "reader version 3 and no readerFeatures"],
    [
      '"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[]',
      "writer version 7 and no writerFeatures",
    ],
    ['"minReaderVersion":1,"minWriterVersion":7', "writer version 7 and no writerFeatures"],
  ])("%s", async (protocol, message) => {
    change(0, '"minReaderVersion":1,"minWriterVersion":2', protocol);
    const before = folderContent(table);
    const readers = [
      ["log", table],
      ["inspect", table],
      ["sql", table, "select 1"],
    ];
    for (const words of [...readers, ...writers()]) {
      const { code, out, err } = await deltacap(...words);
      expect([words[0], code, out]).toEqual([words[0], 3, ""]);
      expect(err).toContain(`the table's protocol has ${message}`);
      expect(folderContent(table), words[0]).toEqual(before);
    }
  });

  test("but for one that a later commit replaced", async () => {
    change(0, '"minReaderVersion":1,"minWriterVersion":2', '"minReaderVersion":0,"minWriterVersion":0');
    prepend(1, '{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}');
    for (const words of writers()) expect(await deltacap(...words)).toMatchObject({ code: 0, err: "" });
  });
});

describe("metaData without its schema", () => {
  /** Takes `schemaString` out of version 0's. */
  function lose(): string {
    const line = /\{"metaData".*/.exec(readFileSync(commit(0), "utf8"))?.[0] ?? "";
    change(0, /"schemaString":"(?:[^"\\]|\\.)*",/, "");
    return line;
  }

  test("is nobody's concern where a later commit replaced it", async () => {
    prepend(1, lose());
    expect(await rows()).toBe('{"n":7}\n');
    for (const words of writers()) expect(await deltacap(...words)).toMatchObject({ code: 0, err: "" });
  });

  test("is refused where it is the newest, and the table stays as it is", async () => {
    lose();
    const before = folderContent(table);
    for (const words of [["sql", table, "select 1"], ["inspect", table], ...writers()]) {
      const { code, err } = await deltacap(...words);
      expect([words[0], code]).toEqual([words[0], 3]);
      expect(err).toContain("the table's newest metaData lacks schemaString");
      expect(folderContent(table), words[0]).toEqual(before);
    }
  });
});

test.each(["__proto__", "constructor", "toString"])(
  "the partition key %s in the log is checkpointed, and read from the checkpoint",
  async (key) => {
    change(2, '"partitionValues":{', `"partitionValues":{${JSON.stringify(key)}:"x",`);
    change(2, '"dataChange":true', `"dataChange":true,"tags":{${JSON.stringify(key)}:"y"}`);
    expect(await deltacap("checkpoint", table)).toMatchObject({ code: 0, err: "" });
    for (const version of [0, 1, 2]) rmSync(commit(version));
    expect(await inspected()).toBe(7);
    expect(await rows()).toBe('{"n":7}\n');
  },
);

describe("JSON that is nested 10,000 levels deep, with a number of 16 digits,", () => {
  const deep = `${'{"a":[1234567890123456,'.repeat(10_000)}null${"]}".repeat(10_000)}`;
  test.each([
    ["in a commitInfo", `{"commitInfo":{"operation":"WRITE","operationParameters":${deep},"tags":${deep}}}`],
    ["in an unknown action", `{"novelty":${deep}}`],
    [
      "in a known action's unknown field",
      `{"txn":{"appId":"a","version":1234567890123456,"novelty":${deep}}}`,
    ],
  ])("%s is read by every command", async (_, line) => {
    writeFileSync(commit(3), line);
    expect(await rows()).toBe('{"n":7}\n');
    expect(await inspected()).toBe(7);
    expect(await deltacap("log", table)).toMatchObject({ code: 0, err: "" });
    for (const words of writers()) expect(await deltacap(...words)).toMatchObject({ code: 0, err: "" });
    expect(await rows()).toBe('{"n":7}\n');
  });

  test("in a schema or in statistics ends in a message, not in a stack", async () => {
    change(2, /"stats":"(?:[^"\\]|\\.)*"/, `"stats":${JSON.stringify(deep)}`);
    expect(await inspected()).toBe(7);
    change(0, /"schemaString":"(?:[^"\\]|\\.)*"/, `"schemaString":${JSON.stringify(deep)}`);
    for (const words of [["sql", table, "select 1"], ...writers()]) {
      const { code, err } = await deltacap(...words);
      expect([words[0], code]).toEqual([words[0], 3]);
      expect(err).toContain("schemaString cannot be read");
    }
  });
});
