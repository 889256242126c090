import { spawn } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { localTable } from "../../../cli/tables/local-table.ts";
import { EarlierCaptures } from "../../../src/local/earlier-captures.ts";
import { fileSource } from "../../../src/local/file-capture-store.ts";
import { FolderLedger } from "../../../src/local/folder-ledger.ts";
import { localSourceId, sourceId } from "../../../src/manifest/source-id.ts";
import { sha256 } from "../../../src/node/hash.ts";
import { type BundledCommandLine, bundledCommandLine } from "../../support/bundled-command-line.ts";
import { deltacap } from "../../support/command-line.ts";
import { captureOf } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

type Line = Record<string, unknown>;

let commandLine: BundledCommandLine;
beforeAll(async () => {
  commandLine = await bundledCommandLine();
});
afterAll(() => commandLine.remove());

let folder: string;
let table: string;
beforeEach(() => {
  folder = temporaryFolder();
  table = join(folder, "table");
});

function write(path: string, bytes: Uint8Array): void {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), bytes);
}

/** Several jobs need the command line as a process of its own: its children are files of JavaScript. */
async function ingest(path: string, ...options: readonly string[]): Promise<{ events: Line[]; last: Line }> {
  const argv = ["ingest", join(folder, path), "--table", table, "--json", ...options];
  const { out, err } = options.includes("--jobs") ? await asProcess(argv) : await deltacap(...argv);
  expect(err).toBe("");
  const events = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  return { events, last: events.at(-1) ?? {} };
}

async function asProcess(argv: readonly string[]): Promise<{ out: string; err: string }> {
  const child = spawn(process.execPath, [commandLine.main, ...argv], { stdio: ["ignore", "pipe", "pipe"] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { out, err };
}

async function rows(): Promise<number> {
  const { out } = await deltacap("sql", table, "select count(*)::int as n from packets", "--json");
  return (JSON.parse(out) as { n: number }).n;
}

describe("a capture in a folder is known by its content", () => {
  test("a folder that was moved and is ingested again adds nothing, and the message says what it equals", async () => {
    write("captures/car-1/a.pcap", captureOf(3));
    write("captures/car-2/b.pcap", captureOf(2, undefined, 7));
    await ingest("captures");
    expect(await new FolderLedger(table).earlierSources()).toBe(0);
    renameSync(join(folder, "captures"), join(folder, "moved"));
    for (const path of ["moved", "moved/car-1"]) {
      const { last } = await ingest(path, "--vehicle", "car-1");
      expect(last).toMatchObject({ ingested: 0, packets: 0, version: 1 });
    }
    expect(await rows()).toBe(5);
    const { out } = await deltacap("ingest", join(folder, "moved"), "--table", table);
    expect(out).toContain(
      `duplicate ${join(folder, "moved/car-1/a.pcap")}: its content is that of ${join(folder, "captures/car-1/a.pcap")}, which is in the table`,
    );
    expect(out).toContain("0 captures ingested with 0 packets, 2 were in the table already");
  });

  test.each([["1"], ["3"]])(
    "of two files with the same content, of two vehicles, one is ingested and the other is named as its duplicate: --jobs %s",
    async (jobs) => {
      write("captures/car-1/a.pcap", captureOf(3));
      write("captures/car-2/copy.pcap", captureOf(3));
      const { events, last } = await ingest("captures", "--jobs", jobs);
      expect(last).toMatchObject({ ingested: 1, duplicates: 1, same_content: 1, packets: 3 });
      const url = (name: string) => pathToFileURL(join(folder, "captures", name)).href;
      expect(events.find(({ event }) => event === "duplicate")).toMatchObject({
        capture: url("car-2/copy.pcap"),
        same_as: url("car-1/a.pcap"),
      });
      expect(await rows()).toBe(3);
      const again = await ingest("captures");
      expect(again.last).toMatchObject({ ingested: 0, duplicates: 2, same_content: 1 });
    },
  );

  test("the same content in batches that are converted at once is committed once, and nothing is counted twice", async () => {
    // More captures than a batch takes; each content twice, in two batches.
    for (let i = 0; i < 1_200; i++)
      write(`captures/car-1/${1_000 + i}.pcap`, captureOf(1, 20_000 + (i % 600)));
    const { last } = await ingest("captures", "--jobs", "2");
    expect(last).toMatchObject({ ingested: 600, duplicates: 600, same_content: 600, packets: 600 });
    expect(await rows()).toBe(600);
  }, 60_000);

  test("a file that was changed in place is another capture; its former content under another name is not", async () => {
    write("captures/car-1/a.pcap", captureOf(3));
    await ingest("captures");
    renameSync(join(folder, "captures/car-1/a.pcap"), join(folder, "captures/car-1/old.pcap"));
    write("captures/car-1/a.pcap", captureOf(4, undefined, 9));
    expect((await ingest("captures")).last).toMatchObject({ ingested: 1, duplicates: 1, packets: 4 });
    expect(await rows()).toBe(7);
  });

  test("a ledger that is made anew from the log agrees", async () => {
    write("captures/car-1/a.pcap", captureOf(3));
    await ingest("captures");
    rmSync(join(table, "_deltacap"), { recursive: true });
    renameSync(join(folder, "captures"), join(folder, "moved"));
    expect((await ingest("moved")).last).toMatchObject({ ingested: 0, duplicates: 1 });
    expect(await new FolderLedger(table).earlierSources()).toBe(0);
  });

  test("many copies are counted, and not each is named", async () => {
    for (let i = 0; i < 25; i++) write(`captures/car-1/${i}.pcap`, captureOf(3));
    const { out } = await deltacap("ingest", join(folder, "captures"), "--table", table);
    expect(out.match(/^duplicate .* its content is that of /gm)).toHaveLength(20);
    expect(out).toContain("duplicate 4 more, whose contents are in the table under other paths");
  });
});

/** Captures of a table of an older version, which knew them by their paths: /tmp/fleet/captures. They lie elsewhere now. */
describe("a table of an older version", () => {
  const fixture = join(import.meta.dirname, "../..", "fixtures", "older-local-table");
  const ROWS = 8;
  beforeEach(() => cpSync(fixture, folder, { recursive: true }));

  const knownAgain = async (path: string, ...options: readonly string[]) => {
    const { last } = await ingest(path, ...options);
    expect(last).toMatchObject({
      ingested: 0,
      duplicates: 3,
      same_content: 3,
      version: 2,
      damaged: [{ offset: 141 }],
    });
    expect(await rows()).toBe(ROWS);
  };

  test.each([["1"], ["2"]])("its captures are known where they were moved to: --jobs %s", async (jobs) => {
    await knownAgain("captures", "--jobs", jobs);
    expect(await new FolderLedger(table).earlierSources()).toBe(0);
  });

  test("those that were renamed are known too", async () => {
    const renamed = readdirSync(join(folder, "captures", "car-1"));
    for (const [i, name] of renamed.entries())
      renameSync(join(folder, "captures/car-1", name), join(folder, `captures/car-2/${i}-new.pcap`));
    await knownAgain("captures");
    // Known by its content now: no path is needed any more.
    renameSync(join(folder, "captures"), join(folder, "again"));
    await knownAgain("again");
  });

  test("its captures are known after the ledger was deleted, by the paths that the table's rows have", async () => {
    rmSync(join(table, "_deltacap"), { recursive: true });
    await knownAgain("captures");
    expect(await new FolderLedger(table).hasUnnamed()).toBe(false);
  });

  test("the files are read for paths once: what has no rows any more is not looked for again", async () => {
    rmSync(join(table, "_deltacap"), { recursive: true });
    await deltacap("forget", table, "--vehicle", "car-2");
    rmSync(join(folder, "captures", "car-2"), { recursive: true });
    expect((await ingest("captures")).last).toMatchObject({ ingested: 0, duplicates: 2 });
    const ledger = new FolderLedger(table);
    expect(await ledger.earlierSources()).toBe(1);
    expect(await ledger.hasUnnamed()).toBe(false);
    write("captures/car-1/new.pcap", captureOf(1, undefined, 50));
    for (const name of dataFiles()) truncateSync(name, 10);
    expect((await ingest("captures")).last).toMatchObject({ ingested: 1, duplicates: 2 });
  });

  test("a file that is damaged, when the paths are needed of it: nothing is written, and the message says what to do", async () => {
    rmSync(join(table, "_deltacap"), { recursive: true });
    for (const name of dataFiles()) truncateSync(name, 10);
    const { code, err } = await deltacap("ingest", join(folder, "captures"), "--table", table);
    expect(code).toBe(3);
    expect(err).toContain("made anew from the log of an older version");
    expect(err).toContain("Put the file back");
    expect((await deltacap("log", table, "--json")).out.trim().split("\n")).toHaveLength(3);
  });

  test("new captures come in beside, and are known by their content alone", async () => {
    write("captures/car-3/a.pcap", captureOf(5, undefined, 60));
    expect((await ingest("captures")).last).toMatchObject({ ingested: 1, duplicates: 3 });
    expect((await ingest("captures")).last).toMatchObject({ ingested: 0, duplicates: 4, same_content: 3 });
    expect(await rows()).toBe(ROWS + 5);
  });

  const dataFiles = () =>
    readdirSync(join(table, "date=2026-03-01")).map((name) => join(table, "date=2026-03-01", name));

  test("a capture that still lies where it was ingested from is known there, and its copies elsewhere", async () => {
    rmSync(table, { recursive: true });
    write("captures/car-1/a.pcap", captureOf(3));
    const path = join(folder, "captures/car-1/a.pcap");
    const source = await fileSource({ path, key: "", size: 0 }, { vehicleId: () => null });
    const entry = { status: "committed", version: 0, capture: source.capture } as const;
    await new FolderLedger(table).putCommitted(new Map([[sourceId(source, sha256), entry]]));
    rmSync(join(folder, "captures", "car-2"), { recursive: true });
    rmSync(join(folder, "captures", "car-1", "b.pcap"));
    write("captures/car-0/copy.pcap", captureOf(3));
    expect((await ingest("captures")).last).toMatchObject({ ingested: 0, duplicates: 2, same_content: 1 });
    const known = await new FolderLedger(table).lookup([localSourceId(source, sha256)]);
    expect([...known.values()]).toEqual([{ ...entry, byContent: true, rowsId: sourceId(source, sha256) }]);
  });

  test("too many to compare each with each: those of the same file name are found", async () => {
    const { ports } = localTable(table);
    const earlier = new EarlierCaptures({ ...ports, ledger: new FolderLedger(table), sha256 }, 0);
    const found = async (path: string) => {
      const file = { path: join(folder, path), key: "", size: 0 };
      const source = await fileSource(file, { vehicleId: () => null });
      const item = { source, id: localSourceId(source, sha256), otherIds: [sourceId(source, sha256)] };
      return (await earlier.find([item])).get(item.id)?.capture;
    };
    writeFileSync(join(folder, "renamed.pcap"), readFileSync(join(folder, "captures/car-1/a.pcap")));
    expect(await found("renamed.pcap")).toBeUndefined();
    expect(await found("captures/car-1/a.pcap")).toBe("file:///tmp/fleet/captures/car-1/a.pcap");
    expect(await found("captures/car-2/a.pcap")).toBe("file:///tmp/fleet/captures/car-2/a.pcap");
  });
});
