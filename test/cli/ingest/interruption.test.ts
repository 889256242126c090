import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { RetryableError } from "@deltacap/delta";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { main } from "../../../cli/deltacap.ts";
import { type EndSignal, Interruption } from "../../../cli/terminal/interruption.ts";
import { writeOutput } from "../../../cli/terminal/output-file.ts";
import { type BundledCommandLine, bundledCommandLine } from "../../support/bundled-command-line.ts";
import { deltacap, RecordingTerminal } from "../../support/command-line.ts";
import { captureOf } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** More than one of ingest's batches. */
const CAPTURES = 1_010;

let commandLine: BundledCommandLine;
beforeAll(async () => {
  commandLine = await bundledCommandLine();
});
afterAll(() => commandLine.remove());

function captures(count: number): {
  readonly captures: string;
  readonly table: string;
  readonly folder: string;
} {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "captures", "car-1"), { recursive: true });
  for (let i = 0; i < count; i++) {
    writeFileSync(join(folder, "captures", "car-1", `${i}.pcap`), captureOf(1 + (i % 3), undefined, i));
  }
  return { folder, captures: join(folder, "captures"), table: join(folder, "packets") };
}

/** The command line as a process of its own. */
function start(...argv: string[]): ChildProcessByStdio<null, Readable, null> {
  return spawn(process.execPath, [commandLine.main, ...argv], { stdio: ["ignore", "pipe", "ignore"] });
}

async function rowsIn(table: string): Promise<number> {
  const { out } = await deltacap("sql", table, "select count(*)::int as n from packets", "--json");
  return (JSON.parse(out) as { n: number }).n;
}

test.each(["1", "2"])(
  "a disk that refuses a file is one line of what to do, without a stack: --jobs %s",
  async (jobs) => {
    const { captures: path, table, folder } = captures(3);
    await deltacap("ingest", path, "--table", join(folder, "other"));
    const date = readdirSync(join(folder, "other")).find((name) => name.startsWith("date="))!;
    mkdirSync(table);
    // Where the date's folder should be.
    writeFileSync(join(table, date), "");
    const argv = [commandLine.main, "ingest", path, "--table", table, "--jobs", jobs];
    const { status, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
    expect([status, stderr]).toEqual([3, expect.stringMatching(/^deltacap ingest: .*EEXIST; .*\n$/)]);
  },
);

describe("a reader that goes away after the first line", () => {
  test("does not keep ingest from ingesting everything", async () => {
    const { captures: path, table } = captures(40);
    const child = start("ingest", path, "--table", table, "--json");
    await once(child.stdout, "data");
    child.stdout.destroy();
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
    expect(await rowsIn(table)).toBe(
      Array.from({ length: 40 }, (_, i) => 1 + (i % 3)).reduce((a, b) => a + b),
    );
  });

  test("ends a command that only reads, without an error", async () => {
    const { captures: path, table } = captures(1);
    await deltacap("ingest", path, "--table", table);
    const child = start("sql", table, "select i from range(100000000) t(i)", "--json");
    await once(child.stdout, "data");
    child.stdout.destroy();
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
  });
});

describe("a signal", () => {
  test.each<[EndSignal, number]>([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ])("%s ends a query with exit code %i", async (signal, expected) => {
    const { captures: path, table } = captures(1);
    await deltacap("ingest", path, "--table", table);
    // The second statement runs for hours.
    const child = start(
      "sql",
      table,
      "select 1; select count(*) from range(1000000) a, range(1000000) b",
      "--json",
    );
    await once(child.stdout, "data");
    child.kill(signal);
    const [code] = await once(child, "exit");
    expect(code).toBe(expected);
  });

  test("during ingest: what is begun is committed, the rest is not begun, and the next run takes it", async () => {
    const { captures: path, table } = captures(CAPTURES);
    const terminal = new RecordingTerminal();
    let first = true;
    const interrupting = Object.assign(new RecordingTerminal(), {
      interruption: terminal.interruption,
      err: terminal.err,
      out: (text: string) => {
        terminal.out(text);
        if (first) void terminal.interruption.arrived("SIGINT");
        first = false;
      },
    });
    expect(await main(["ingest", path, "--table", table, "--json"], interrupting)).toBe(130);
    expect(terminal.watched).toContain(
      "interrupted: the captures that are being converted are committed first",
    );
    const summary = JSON.parse(terminal.written.trim().split("\n").at(-1) ?? "") as { ingested: number };
    expect(summary.ingested).toBe(1_000);
    const files = readdirSync(table, { recursive: true, encoding: "utf8" });
    expect(files.filter((name) => name.includes("unfinished"))).toEqual([]);
    const next = await deltacap("ingest", path, "--table", table, "--json");
    expect(JSON.parse(next.out.trim().split("\n").at(-1) ?? "")).toMatchObject({
      ingested: CAPTURES - 1_000,
      duplicates: 1_000,
    });
  });

  test("while a file is written removes what was begun, and leaves what was there", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "out.pcap");
    writeFileSync(output, "old");
    const interruption = new Interruption();
    const writing = writeOutput(output, null, interruption, async (append) => {
      await append(Buffer.from("new"));
      expect(readdirSync(folder)).toHaveLength(2);
      expect(await interruption.arrived("SIGTERM")).toBe(143);
      expect(readdirSync(folder)).toEqual(["out.pcap"]);
      throw new RetryableError("the process ended");
    });
    await expect(writing).rejects.toThrow("the process ended");
    expect(readFileSync(output, "utf8")).toBe("old");
  });
});

describe("an interruption", () => {
  test("runs what was registered and not released, also where one of them fails", async () => {
    const interruption = new Interruption();
    const ran: string[] = [];
    interruption.guard(async () => {
      ran.push("failing");
      throw new Error("it is in use");
    });
    interruption.guard(async () => void ran.push("second"));
    interruption.guard(async () => void ran.push("released"))();
    expect(interruption.exitCode).toBeNull();
    expect(await interruption.arrived("SIGINT")).toBe(130);
    expect(ran).toEqual(["failing", "second"]);
    expect(interruption.exitCode).toBe(130);
  });

  test("lets a command finish its unit after the first signal, and ends it at the second", async () => {
    const interruption = new Interruption();
    let requests = 0;
    await interruption.finishing(
      () => requests++,
      async () => {
        expect(await interruption.arrived("SIGTERM")).toBeNull();
        expect(interruption.exitCode).toBe(143);
        expect(await interruption.arrived("SIGINT")).toBe(130);
      },
    );
    expect(requests).toBe(1);
  });
});
