import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { TableRefusedError } from "@deltacap/delta";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cloud } from "../../support/aws/cloud.ts";
import { TestStack } from "../../support/aws/test-stack.ts";
import { fault, hasFaults } from "../../support/captures/faults.ts";
import { deltacap } from "../../support/command-line.ts";
import { folderContent } from "../../support/folder-content.ts";
import { captureOf, DAY } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const name = (version: number) => String(version).padStart(20, "0");
const commit = (version: number) => `${name(version)}.json`;
const CHECKPOINT = `${name(5)}.checkpoint.parquet`;

/** A table of five commits, with a checkpoint at the last. Returns its folder. */
async function tableOfFive(): Promise<string> {
  const folder = temporaryFolder();
  const table = join(folder, "table");
  for (let i = 1; i <= 5; i++) {
    const captures = join(folder, `captures-${i}`);
    mkdirSync(join(captures, "car-1"), { recursive: true });
    writeFileSync(join(captures, "car-1", "a.pcap"), captureOf(3, DAY, i));
    await deltacap("ingest", captures, "--table", table);
  }
  await deltacap("checkpoint", table);
  return table;
}

/** Leaves nothing of the table's log but these files: what each is made of, by its new name. */
function leaveOnly(table: string, files: Readonly<Record<string, string>>): void {
  const log = join(table, "_delta_log");
  const bodies = Object.entries(files).map(([to, from]) => [to, readFileSync(join(log, from))] as const);
  rmSync(log, { recursive: true });
  for (const [to, body] of bodies) {
    mkdirSync(dirname(join(log, to)), { recursive: true });
    writeFileSync(join(log, to), body);
  }
}

const REMAINS: readonly [string, Readonly<Record<string, string>>][] = [
  ["_last_checkpoint", { _last_checkpoint: "_last_checkpoint" }],
  [
    "half of a multi-part checkpoint",
    {
      [`${name(5)}.checkpoint.0000000002.0000000002.parquet`]: CHECKPOINT,
      _last_checkpoint: "_last_checkpoint",
    },
  ],
  ["staged commits", { [`_staged_commits/${name(5)}.0f9d.json`]: commit(5) }],
  ["a compacted file", { [`${name(0)}.${name(5)}.compacted.json`]: commit(5) }],
  ["a checksum", { [`${name(5)}.crc`]: commit(5) }],
  ["Hadoop's checksum of a commit", { [`.${commit(0)}.crc`]: commit(0) }],
  ["a sidecar", { "_sidecars/0f9d.parquet": CHECKPOINT }],
];

describe("remains of a log are not an empty folder", () => {
  test.each(REMAINS)("only %s is left: every command refuses, and nothing is written", async (_, files) => {
    const table = await tableOfFive();
    const captures = join(table, "..", "captures-1");
    leaveOnly(table, files);
    for (const withLedger of [true, false]) {
      if (!withLedger) rmSync(join(table, "_deltacap"), { recursive: true });
      const before = folderContent(table);
      for (const words of [
        ["ingest", captures, "--table", table],
        ["optimize", table],
        ["forget", table, "--vehicle", "car-1"],
        ["checkpoint", table],
        ["vacuum", table, "--retention-hours", "0", "--allow-short-retention", "--delete"],
        ["log", table],
        ["inspect", table],
        ["sql", table, "select 1"],
      ]) {
        const { code, out, err } = await deltacap(...words);
        expect([words[0], code, out]).toEqual([words[0], 3, ""]);
        expect(err).toContain(`but it has ${Object.keys(files)[0]}: these are the remains of a table's log`);
        expect(err).toContain("remove _delta_log first");
        expect(folderContent(table), words[0]).toEqual(before);
      }
    }
  });

  test("an empty _delta_log, and one with a hidden file, are no remains: ingest creates the table", async () => {
    const folder = temporaryFolder();
    const table = join(folder, "table");
    mkdirSync(join(table, "_delta_log", ".tmp"), { recursive: true });
    writeFileSync(join(table, "_delta_log", ".DS_Store"), "x");
    writeFileSync(join(table, "_delta_log", ".tmp", `${commit(0)}.0f9d`), "x");
    mkdirSync(join(folder, "captures", "car-1"), { recursive: true });
    writeFileSync(join(folder, "captures", "car-1", "a.pcap"), captureOf(3, DAY));
    expect(await deltacap("ingest", join(folder, "captures"), "--table", table)).toMatchObject({ code: 0 });
    expect(existsSync(join(table, "_delta_log", commit(1)))).toBe(true);
  });

  describe("on S3", () => {
    let cloud: Cloud;
    beforeAll(async () => {
      cloud = await Cloud.start();
    });
    afterAll(() => cloud.close());

    test.each(["dynamodb", "conditional"] as const)("with the log store %s", async (logStore) => {
      const stack = await TestStack.open(cloud, `remains-${logStore}`, { logStore });
      const storage = cloud.s3.storage.bucket("lake");
      const file = `remains-${logStore}/_delta_log/_staged_commits/${name(0)}.0f9d.json`;
      storage.put(file, new TextEncoder().encode("{}"), {});
      const keys = () => storage.keys().filter((key) => key.startsWith(`remains-${logStore}/_delta_log/`));
      const before = keys();
      await expect(stack.ingest({ "car-1/a.pcap": captureOf(3, DAY) })).rejects.toThrow(TableRefusedError);
      expect(keys()).toEqual(before);
      expect(await stack.deltacap("optimize", "--stack", `remains-${logStore}`)).toMatchObject({
        code: 3,
        err: expect.stringContaining(`but it has _staged_commits/${name(0)}.0f9d.json`) as string,
      });
      expect(keys()).toEqual(before);
    });
  });
});

const versionsIn = (out: string) =>
  out
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { version: number }).version);

describe("a gap in the log", () => {
  const removed = async (...versions: number[]) => {
    const table = await tableOfFive();
    for (const version of versions) rmSync(join(table, "_delta_log", commit(version)));
    return table;
  };

  test("that a checkpoint covers: log lists the versions since it, and says so", async () => {
    const table = await removed(2);
    const { code, out, err } = await deltacap("log", table, "--json");
    expect([code, versionsIn(out)]).toEqual([0, [5]]);
    expect(err).toContain("the log lacks commits that a checkpoint covers");
    await deltacap("ingest", join(table, "..", "captures-1"), "--table", table);
    expect((await deltacap("sql", table, "select count(*)::int n from packets", "--json")).out).toBe(
      '{"n":15}\n',
    );
  });

  test("that no checkpoint covers is refused by log", async () => {
    const table = await removed(2);
    rmSync(join(table, "_delta_log", CHECKPOINT));
    const { code, err } = await deltacap("log", table);
    expect(code).toBe(3);
    expect(err).toContain("version 1 is followed by 3");
  });

  test("at the beginning of the log is none: all that is left is listed, without a note", async () => {
    const { code, out, err } = await deltacap("log", await removed(0, 1, 2), "--json");
    expect([code, err, versionsIn(out)]).toEqual([0, "", [3, 4, 5]]);
  });

  test.skipIf(!hasFaults)("tables/ck_gap_before_cp: the versions since the checkpoint", async () => {
    const table = join(temporaryFolder(), "table");
    cpSync(fault("tables/ck_gap_before_cp"), table, { recursive: true });
    const { code, out } = await deltacap("log", table, "--json");
    expect([code, versionsIn(out)]).toEqual([0, [10]]);
  });
});
