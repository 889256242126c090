import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { filling, pcap } from "../support/captures/capture-builder.ts";
import { deltacap } from "../support/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const python = process.env.DELTACAP_PYTHON ?? ".ci/.venv/bin/python";

/** The program of the runbook's section, with the given folders. */
function program(table: string, files: readonly string[]): string {
  const text = readFileSync("docs/runbook.md", "utf8");
  const section = text.slice(text.indexOf("## Rows of a dead-lettered manifest"));
  const block = /```python\n(.*?)```/s.exec(section)?.[1] ?? "";
  const changed = block
    .replace(/^table = .*$/m, `table = ${JSON.stringify(table)}`)
    .replace(/^files = .*$/m, `files = ${JSON.stringify(files)}`);
  expect(changed).toContain(JSON.stringify(files));
  return changed;
}

function capture(seconds: number, packets: number): Uint8Array {
  const records = Array.from({ length: packets }, (_, i) => ({
    seconds: seconds + i,
    bytes: filling(60, seconds + i),
  }));
  return pcap({}, records);
}

async function rows(table: string): Promise<string[]> {
  const query = "select capture, packet_number, date, ts, md5(frame) as frame from packets order by all";
  const { code, out, err } = await deltacap("sql", table, query, "--json");
  expect(code, err).toBe(0);
  return out.trim().split("\n");
}

/** Data files below the table's folder. */
function dataFiles(table: string): string[] {
  return readdirSync(table, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".parquet"),
  );
}

describe.skipIf(!existsSync(python))("the runbook's way to append rows of a dead-lettered manifest", () => {
  test("gives each row once where one of its sources is in the table already, also when it is followed twice", async () => {
    const folder = temporaryFolder();
    const captures = join(folder, "captures");
    mkdirSync(captures);
    writeFileSync(join(captures, "known.pcap"), capture(1_772_352_000, 3));
    const table = join(folder, "packets");
    expect((await deltacap("ingest", captures, "--table", table)).code).toBe(0);
    // The other one is converted together with the known one, as a mixed manifest has it, and is then gone.
    // Its last packet has a time of its own, and therefore no date.
    const records = [0, 1, 2, 3, 40_000_000].map((later) => ({
      seconds: 1_772_352_000 + later,
      bytes: filling(60, later),
    }));
    writeFileSync(join(captures, "lost.pcap"), pcap({}, records));
    const both = join(folder, "both");
    expect((await deltacap("ingest", captures, "--table", both)).code).toBe(0);
    const files = dataFiles(both).map((path) => {
      const copy = join(folder, "copies", path);
      mkdirSync(dirname(copy), { recursive: true });
      copyFileSync(join(both, path), copy);
      return copy;
    });
    expect(files).toHaveLength(2);
    expect(await rows(table)).toHaveLength(3);

    for (let times = 0; times < 2; times++) {
      const { status, stdout, stderr } = spawnSync(python, ["-c", program(table, files)], {
        encoding: "utf8",
      });
      expect(status, stdout + stderr).toBe(0);
      expect(await rows(table)).toEqual(await rows(both));
    }
    // The table still takes what comes.
    writeFileSync(join(captures, "next.pcap"), capture(1_772_438_400, 2));
    const { code, err } = await deltacap("ingest", join(captures, "next.pcap"), "--table", table);
    expect(code, err).toBe(0);
    expect(await rows(table)).toHaveLength(10);
  }, 120_000);
});
