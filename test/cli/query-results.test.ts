import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { DuckDBConnection } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { printResults } from "../../cli/duckdb/query-results.ts";
import { terminalOn } from "../../cli/terminal/process-terminal.ts";
import { deltacap, RecordingTerminal } from "../support/command-line.ts";
import { captureOf } from "../support/tables/packets-world.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await DuckDBConnection.create();
});
afterAll(() => connection.closeSync());

async function printed(query: string, json = false, columns: number | null = null): Promise<string> {
  const terminal = Object.assign(new RecordingTerminal(), { columns });
  await printResults(connection, query, json, terminal);
  return terminal.written;
}

describe("values", () => {
  const long = "s3://bucket/".padEnd(200, "x");

  test("are whole in a pipe, however long", async () => {
    expect(await printed(`select '${long}' as capture, 1 as n`)).toContain(`${long}  1\n`);
  });

  test("are whole on a terminal that has room for them", async () => {
    expect(await printed(`select '${long}' as capture`, false, 200)).toContain(`${long}\n`);
  });

  test("are cut on a terminal that is too narrow", async () => {
    const lines = (await printed(`select '${long}' as capture, 1 as n`, false, 80)).split("\n");
    expect(lines[2]).toBe(`${long.slice(0, 59)}…  1`);
  });

  test("that are longer than those before them stay whole and push their line to the right", async () => {
    const query = `select case when i = 5000 then '${long}' else 'ab' end as text, i from range(5001) t(i)`;
    const lines = (await printed(query)).split("\n");
    expect(lines.slice(0, 3)).toEqual(["text     i", "----  ----", "ab       0"]);
    expect(lines.at(-2)).toBe(`${long}  5000`);
    expect(lines).toHaveLength(5001 + 3);
  });
});

describe("statements", () => {
  test("each have their rows printed, in order", async () => {
    expect(await printed("select 1 as a; select 2 as b")).toBe("a\n-\n1\n\nb\n-\n2\n");
    expect(await printed("select 1 as a; select 2 as b", true)).toBe('{"a":1}\n{"b":2}\n');
  });

  test("without rows print nothing, and those behind them see what they made", async () => {
    expect(await printed("create temp view v as select 7 as a; select * from v", true)).toBe('{"a":7}\n');
    expect(await printed("pivot (select 1 as a, 2 as b) on a using sum(b)", true)).toBe('{"1":"2"}\n');
  });

  test("that are wrong name the place, and none of the others runs", async () => {
    const terminal = new RecordingTerminal();
    const failing = printResults(connection, "select 1; selec 2", true, terminal);
    await expect(failing).rejects.toThrow(/^Parser Error: .*selec/);
    expect(terminal.written).toBe("");
  });

  test.each(["", ";", "-- nothing"])("none, as in %j, is wrong use", async (query) => {
    await expect(printed(query)).rejects.toThrow("the query is empty");
  });
});

describe.each([true, false])("a result of a million rows, json %s", (json) => {
  test("is written in parts, and no part is made before the reader has taken the one before", async () => {
    let longest = 0;
    let rows = 0;
    let waiting = 0;
    let mostWaiting = 0;
    const terminal = Object.assign(new RecordingTerminal(), {
      out: (text: string) => {
        longest = Math.max(longest, text.length);
        rows += text.split("\n").length - 1;
        waiting++;
        mostWaiting = Math.max(mostWaiting, waiting);
      },
      drained: async () => {
        waiting = 0;
      },
    });
    await printResults(connection, "select i, i * 2 as twice from range(1000000) t(i)", json, terminal);
    expect(rows).toBe(json ? 1_000_000 : 1_000_002);
    // DuckDB gives 2,048 rows at a time.
    expect(longest).toBeLessThan(200_000);
    expect(mostWaiting).toBeLessThanOrEqual(2);
  });
});

test("a terminal has drained only when the reader of standard output has taken the text", async () => {
  const out = new PassThrough({ highWaterMark: 10 });
  const terminal = terminalOn(out as unknown as NodeJS.WriteStream, process.stderr, () => {});
  terminal.out("more than ten characters");
  let drained = false;
  const waiting = terminal.drained().then(() => {
    drained = true;
  });
  await new Promise(setImmediate);
  expect(drained).toBe(false);
  out.read();
  await waiting;
  expect(drained).toBe(true);
  await terminal.drained();
});

test("the query that export advises lists captures as export takes them, whatever the length of their names", async () => {
  const folder = temporaryFolder();
  const vehicle = join(folder, "captures", "car-with-a-long-name".repeat(5));
  const table = join(folder, "packets");
  mkdirSync(vehicle, { recursive: true });
  writeFileSync(join(vehicle, "drive.pcap"), captureOf(2));
  await deltacap("ingest", join(folder, "captures"), "--table", table);
  const refused = await deltacap(
    "export",
    table,
    "--capture",
    "file:///x.pcap",
    "-o",
    join(folder, "x.pcap"),
  );
  const [, query] = /"(select [^"]+)"/.exec(refused.err) ?? [];
  const { out } = await deltacap("sql", table, query ?? "");
  const listed = out.split("\n")[2] ?? "";
  const exported = await deltacap("export", table, "--capture", listed, "-o", join(folder, "again.pcap"));
  expect(exported).toMatchObject({ code: 0, out: expect.stringContaining("2 packets") });
});
