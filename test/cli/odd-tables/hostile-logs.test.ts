import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { deltacap } from "../../support/command-line.ts";
import { Random, testSeed } from "../../support/random.ts";
import { captureOf, DAY } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Values of every type, some as JSON only: numbers beyond 64 bits, and texts that mean something elsewhere. */
const NASTY = [
  ...["null", "0", "-1", "1.5", "true", '""', '"x"', "[]", "{}", "[null]", '{"a":null}', "9007199254740993"],
  ...[
    "9223372036854775808",
    "1e400",
    "9".repeat(40),
    '"\\ud800"',
    '"\\u0000"',
    '"__proto__"',
    '"null"',
    '"[null]"',
  ],
  ...[
    '"../outside"',
    '"/etc/passwd"',
    '"s3://b/k"',
    '"%"',
    '"interval 999999999 years"',
    '[{"source":0}]',
    '"u"',
  ],
];

/** Lines that stand for what another writer, or nobody, would write. */
const LINES = [
  ...[
    "{",
    "null",
    "5",
    '"x"',
    "[]",
    "{}",
    '{"add":null}',
    '{"add":5}',
    '{"future":{"a":1}}',
    "[".repeat(50_000),
  ],
  '{"commitInfo":{"timestamp":9e18,"operation":{},"engineInfo":[],"txnId":7}}',
  '{"commitInfo":{"tags":{"deltacap.sources":"AAAAAAAAAAAAAAAAAAAAAA==","deltacap.damage":"[null]"}}}',
  '{"commitInfo":{"tags":{"deltacap.sources":5}}}',
  '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":5,"writerFeatures":{"a":1}}}',
  '{"txn":{"appId":"__proto__","version":9223372036854775807}}',
  '{"sidecar":{"path":"../../outside","sizeInBytes":5}}',
  '{"remove":{"path":"x","dataChange":true,"deletionTimestamp":"x"}}',
];

const LEDGER_LINES = ['{"id":"x","entry":null}', '{"id":"x","entry":{}}', '{"watermark":"1"}', "\u0000", "{"];

const MONTH = 30 * 24 * 3_600_000;
const HISTORIES = 15;

let folder: string;
let captures: string;
let template: string;

/** A table with appends and a rewrite, all of it old enough for vacuum. */
beforeEach(async () => {
  folder = temporaryFolder();
  template = join(folder, "template");
  for (const [i, name] of ["one", "two", "three", "new"].entries()) {
    mkdirSync(join(folder, name, `car-${i}`), { recursive: true });
    writeFileSync(join(folder, name, `car-${i}`, "a.pcap"), captureOf(3 + i, DAY, i));
  }
  captures = join(folder, "new");
  for (const name of ["one", "two"]) await deltacap("ingest", join(folder, name), "--table", template);
  await deltacap("optimize", template);
  await deltacap("ingest", join(folder, "three"), "--table", template);
  const old = new Date(Date.now() - MONTH);
  for (const file of filesOf(template)) utimesSync(join(template, file), old, old);
});

function filesOf(root: string, below = ""): string[] {
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    return entry.isDirectory() ? filesOf(root, path) : [path];
  });
}

type Json = Record<string, unknown>;

/** Puts one nasty value anywhere into one line of the log, or one nasty line; tells where. */
function spoil(table: string, random: Random): string {
  const log = join(table, "_delta_log");
  const names = readdirSync(log).filter((name) => name.endsWith(".json"));
  const name = random.pick(names);
  const lines = readFileSync(join(log, name), "utf8").trimEnd().split("\n");
  const at = random.below(lines.length);
  const value = random.pick(NASTY);
  let how: string;
  const kind = random.below(8);
  if (kind === 0) {
    how = random.pick(LEDGER_LINES);
    appendFileSync(join(table, "_deltacap", "ledger.log"), `\n${how}\n`);
    return `ledger: ${how}`;
  }
  if (kind < 3) {
    how = random.pick(LINES);
    lines.splice(at, 0, how);
  } else {
    const action = JSON.parse(lines[at] ?? "{}") as Json;
    const [owner, key] = random.pick(members(action));
    how = `${key} = ${value}`;
    owner[key] = "@nasty@";
    lines[at] = JSON.stringify(action).replace('"@nasty@"', () => value);
  }
  writeFileSync(join(log, name), `${lines.join("\n")}\n`);
  return `${name}, line ${at + 1}: ${how.slice(0, 200)}`;
}

function members(value: unknown): [Json, string][] {
  if (typeof value !== "object" || value === null) return [];
  const owner = value as Json;
  return Object.keys(owner).flatMap((key) => [[owner, key] as [Json, string], ...members(owner[key])]);
}

/** Data files that the log as it stands adds and does not remove, and that are there. */
function liveFiles(table: string): string[] {
  const live = new Set<string>();
  const log = join(table, "_delta_log");
  for (const name of readdirSync(log)
    .filter((file) => /^\d{20}\.json$/.test(file))
    .sort()) {
    for (const line of readFileSync(join(log, name), "utf8").split("\n")) {
      const { add, remove } = parsed(line);
      if (typeof remove?.path === "string") live.delete(remove.path);
      if (typeof add?.path === "string") live.add(add.path);
    }
  }
  return [...live].filter((path) => !path.includes("\0") && existsSync(join(table, path)));
}

function parsed(line: string): { add?: Json; remove?: Json } {
  try {
    return (JSON.parse(line) ?? {}) as { add?: Json; remove?: Json };
  } catch {
    return {};
  }
}

const seed = testSeed(20_261_130);

test(`a log of nonsense is told by name, and no live file is deleted (${HISTORIES} logs from seed ${seed})`, async () => {
  const random = new Random(seed);
  for (let i = 0; i < HISTORIES; i++) {
    const table = join(folder, `table-${i}`);
    cpSync(template, table, { recursive: true, preserveTimestamps: true });
    // What is before a checkpoint no longer says which files are live.
    const hasCheckpoint = i % 4 === 0;
    if (hasCheckpoint) await deltacap("checkpoint", table);
    const how = `seed ${seed}, log ${i}: ${spoil(table, random)}`;
    const vacuum = ["vacuum", table, "--retention-hours", "0", "--allow-short-retention", "--delete"];
    for (const words of [
      ["log", table],
      ["inspect", table],
      ["vacuum", table, "--delete"],
      ["optimize", table],
      ["checkpoint", table],
      ["forget", table, "--vehicle", "car-1"],
      ["ingest", captures, "--table", table],
      vacuum,
    ]) {
      const live = liveFiles(table);
      const { code, out, err } = await deltacap(...words);
      expect([0, 1, 3], `${how}: ${words[0]} exits ${code}: ${err}`).toContain(code);
      expect(`${out}${err}`, `${how}: ${words[0]}`).not.toMatch(/\n\s+at |this is a bug/);
      if (code === 3) expect(err, `${how}: ${words[0]}`).toMatch(/log|ledger|table|file/);
      if (words[0] === "vacuum" && !hasCheckpoint)
        expect(liveFiles(table), `${how}: ${words[0]}`).toEqual(live);
    }
  }
}, 120_000);
