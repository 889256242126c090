import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConditionalLogStore } from "@deltacap/delta";
import { FolderObjectStore } from "@deltacap/delta/folder";
import { describe, expect, test } from "vitest";
import { localTable } from "../../cli/tables/local-table.ts";
import { batchIdOf, endedRuns, IngestRun } from "../../src/local/ingest-run.ts";
import { findLeftovers, removeLeftovers } from "../../src/local/leftovers.ts";
import { hasEnded, type ProcessIdentity, processIdentity } from "../../src/local/process-identity.ts";
import { filling, pcap } from "../support/captures/capture-builder.ts";
import { deltacap } from "../support/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A process that has ended: its id is free, and was used in this boot, on this machine. */
async function endedProcess(): Promise<ProcessIdentity> {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  return { ...(await processIdentity()), pid, started: "1" };
}

describe("a process", () => {
  test("that runs has not ended, and one whose id is free has", async () => {
    expect(await hasEnded(await processIdentity())).toBe(false);
    expect(await hasEnded(await endedProcess())).toBe(true);
  });

  test("of the same id that began at another time has ended", async () => {
    const here = await processIdentity();
    expect(await hasEnded({ ...here, started: `${here.started}0` })).toBe(here.started !== null);
  });

  test.each([
    ["another host", { host: "another" }],
    ["another machine", { machine: "another" }],
    ["another container", { pidNamespace: "pid:[1]" }],
  ])("of %s cannot be judged, whatever its id", async (_, elsewhere) => {
    expect(await hasEnded({ ...(await endedProcess()), ...elsewhere })).toBe(false);
  });

  test("of an earlier start of the machine has ended, where the machine is known", async () => {
    const here = await processIdentity();
    const isKnown = here.machine !== null && here.boot !== null;
    expect(await hasEnded({ ...here, boot: "earlier" })).toBe(isKnown);
    expect(await hasEnded({ ...here, boot: null })).toBe(false);
  });
});

describe("files of runs of ingest", () => {
  const date = "date=2026-03-01";

  /** A table with a committed capture, and a run of the process `of` with a file that nobody committed. */
  async function tableWith(of: ProcessIdentity | string) {
    const folder = temporaryFolder();
    const captures = join(folder, "a.pcap");
    writeFileSync(captures, pcap({}, [{ seconds: 1_772_352_000, bytes: filling(60) }]));
    const table = join(folder, "table");
    expect((await deltacap("ingest", captures, "--table", table)).code).toBe(0);
    const id = "0123456789abcdef";
    mkdirSync(join(table, "_deltacap/runs"), { recursive: true });
    const marker =
      typeof of === "string" ? of : JSON.stringify({ began: "2026-03-01T00:00:00.000Z", process: of });
    writeFileSync(join(table, `_deltacap/runs/${id}.json`), marker);
    const [committed = ""] = readdirSync(join(table, date));
    const lost = join(table, date, `${batchIdOf(id)}-00000.parquet`);
    const foreign = join(table, date, "part-00000-0123456789abcdef.snappy.parquet");
    mkdirSync(join(table, "_deltacap/tmp"), { recursive: true });
    const unfinished = join(table, "_deltacap/tmp", batchIdOf(id));
    const others = join(table, "_deltacap/tmp", "0f3c9c46-3f3c-4b53-8d53-0123456789ab");
    for (const path of [lost, foreign, unfinished, others]) writeFileSync(path, "x");
    return { captures, table, committed: join(table, date, committed), lost, foreign, unfinished, others };
  }

  test("that was killed are removed by the next ingest, which says so, and no others", async () => {
    const left = await tableWith(await endedProcess());
    const { captures, table, committed, lost, foreign, unfinished, others } = left;
    const { code, err } = await deltacap("ingest", captures, "--table", table);
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/^removed 2 files .* killed: it began at 2026-03-01T00:00:00.000Z/m),
    ]);
    expect([lost, unfinished].map((path) => existsSync(path))).toEqual([false, false]);
    expect([foreign, committed, others].map((path) => existsSync(path))).toEqual([true, true, true]);
    expect(readdirSync(join(table, "_deltacap/runs"))).toEqual([]);
  });

  test("that was killed are told by vacuum, and removed by --delete without any other option", async () => {
    const { table, lost, foreign } = await tableWith(await endedProcess());
    const told = await deltacap("vacuum", table);
    expect(told.out).toMatch(
      /^2 files .* that killed ingests left would be deleted by --delete, which is safe$/m,
    );
    expect(existsSync(lost)).toBe(true);
    const { out } = await deltacap("vacuum", table, "--delete", "--json");
    expect(JSON.parse(out)).toMatchObject({ files: 0, leftovers: { files: 2, bytes: 2 } });
    expect([existsSync(lost), existsSync(foreign)]).toEqual([false, true]);
  });

  test("that goes on are left alone, as are those of runs elsewhere, and of markers that make no sense", async () => {
    const here = await processIdentity();
    const markers = [
      here,
      { ...here, host: "another" },
      "",
      "{}",
      '{"began":"x","process":{"host":"a","pid":-1}}',
    ];
    for (const marker of markers) {
      const { captures, table, lost, unfinished } = await tableWith(marker);
      await deltacap("ingest", captures, "--table", table);
      await deltacap("vacuum", table, "--delete");
      expect([existsSync(lost), existsSync(unfinished)], JSON.stringify(marker)).toEqual([true, true]);
    }
  });

  test("that was killed after its commit stay: the log refers to them, as live or as removed", async () => {
    const folder = temporaryFolder();
    const capture = (i: number) => {
      const path = join(folder, `${i}.pcap`);
      writeFileSync(path, pcap({}, [{ seconds: 1_772_352_000 + i, bytes: filling(60, i) }]));
      return path;
    };
    const table = join(folder, "table");
    for (const i of [1, 2]) await deltacap("ingest", capture(i), "--table", table);
    const files = readdirSync(join(table, date));
    await deltacap("optimize", table);
    const store = new FolderObjectStore(table);
    mkdirSync(join(table, "_deltacap/runs"), { recursive: true });
    for (const name of files) {
      const marker = { began: "2026-03-01T00:00:00.000Z", process: await endedProcess() };
      writeFileSync(join(table, `_deltacap/runs/${name.slice(0, 16)}.json`), JSON.stringify(marker));
    }
    const leftovers = await findLeftovers(store, new ConditionalLogStore(store));
    expect([leftovers.runs.length, leftovers.files]).toEqual([2, []]);
    await removeLeftovers(store, leftovers);
    expect(readdirSync(join(table, date))).toEqual(expect.arrayContaining(files));
    expect(await endedRuns(store)).toEqual([]);
  });

  test("end without a marker where all was committed, and keep it where it was not", async () => {
    const store = new FolderObjectStore(join(temporaryFolder(), "table"));
    const [run, other] = [new IngestRun(), new IngestRun()];
    for (const each of [run, other]) await each.begin(store, 0);
    await run.end(store);
    const left: string[] = [];
    for await (const { path } of store.list("_deltacap/")) left.push(path);
    expect(left).toEqual([`_deltacap/runs/${other.id}.json`]);
    expect(await localTable("nowhere").leftovers()).toEqual({ files: [], runs: [] });
  });
});
