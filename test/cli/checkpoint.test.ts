import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RetryableError } from "@deltacap/delta";
import { FolderObjectStore } from "@deltacap/delta/folder";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { deltacap } from "../support/command-line.ts";
import { captureOf } from "../support/tables/packets-world.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const version = (n: number) => String(n).padStart(20, "0");

/** A table at version 2, whose newest metadata has these properties; `ingest` adds a capture as one more version. */
async function smallTable(configuration: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder();
  const table = join(folder, "table");
  let captures = 0;
  const ingest = async () => {
    const path = join(folder, `captures-${++captures}`, "car-1");
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "a.pcap"), captureOf(4, undefined, captures));
    return await deltacap("ingest", join(path, ".."), "--table", table, "--json");
  };
  await ingest();
  const log = join(table, "_delta_log");
  const metadata = JSON.parse(
    readFileSync(join(log, `${version(0)}.json`), "utf8")
      .split("\n")
      .find((line) => line.includes("metaData")) ?? "{}",
  ) as { metaData: { configuration: object } };
  const changed = {
    metaData: {
      ...metadata.metaData,
      configuration: { ...metadata.metaData.configuration, ...configuration },
    },
  };
  writeFileSync(join(log, `${version(2)}.json`), JSON.stringify(changed));
  return { table, log, ingest };
}

const checkpointsIn = (log: string) => readdirSync(log).filter((name) => name.includes("checkpoint.parquet"));

describe("deltacap checkpoint", () => {
  test("writes one of the newest version, from which every command reads when the early log is gone", async () => {
    const { table, log, ingest } = await smallTable();
    await ingest();
    const before = await Promise.all([
      deltacap("sql", table, "select count(*) from packets"),
      deltacap("inspect", table),
    ]);
    const { code, out } = await deltacap("checkpoint", table);
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(
        /^checkpoint of version 3: \d+ files, .* read back and compared\n$/,
      ) as string,
    });
    expect(JSON.parse(readFileSync(join(log, "_last_checkpoint"), "utf8"))).toMatchObject({ version: 3 });
    for (let n = 0; n <= 2; n++) rmSync(join(log, `${version(n)}.json`));
    expect(
      await Promise.all([deltacap("sql", table, "select count(*) from packets"), deltacap("inspect", table)]),
    ).toEqual(before);
    expect(JSON.parse((await deltacap("log", table, "--json")).out)).toMatchObject({
      version: 3,
      sources: 1,
    });
    expect(await ingest()).toMatchObject({ code: 0, err: "" });
  });

  test("leaves a version that has one alone", async () => {
    const { table, log } = await smallTable();
    await deltacap("checkpoint", table);
    const [name] = checkpointsIn(log);
    const bytes = readFileSync(join(log, name!));
    expect(await deltacap("checkpoint", table)).toMatchObject({
      code: 0,
      out: "version 2 has a checkpoint already\n",
    });
    expect(readFileSync(join(log, name!))).toEqual(bytes);
    expect(JSON.parse((await deltacap("checkpoint", table, "--json")).out)).toEqual({
      outcome: "not due",
      version: 2,
      checkpoint: 2,
    });
  });

  test("says which property of the table keeps it from writing", async () => {
    const { table, log } = await smallTable({ "delta.checkpoint.writeStatsAsStruct": "true" });
    expect(await deltacap("checkpoint", table)).toMatchObject({
      code: 3,
      out: "",
      err: expect.stringContaining("delta.checkpoint.writeStatsAsStruct = true") as string,
    });
    expect(checkpointsIn(log)).toEqual([]);
  });

  test("a folder that is no table is wrong use", async () => {
    expect(await deltacap("checkpoint", temporaryFolder())).toMatchObject({ code: 2 });
  });
});

describe("deltacap ingest", () => {
  test("writes the checkpoint that is due after its commits, and says so", async () => {
    const { log, ingest } = await smallTable({ "delta.checkpointInterval": "3" });
    expect(checkpointsIn(log)).toEqual([]);
    const { code, out } = await ingest();
    expect(code).toBe(0);
    expect(out).toContain('{"event":"checkpoint","version":3,"files":');
    expect(checkpointsIn(log)).toEqual([`${version(3)}.checkpoint.parquet`]);
    expect((await ingest()).out).not.toContain("checkpoint");
  });

  test("succeeds where the checkpoint fails, and names the reason", async () => {
    const { log, ingest } = await smallTable({ "delta.checkpointInterval": "1" });
    const { create } = FolderObjectStore.prototype;
    const failing = vi.spyOn(FolderObjectStore.prototype, "create").mockImplementation(function (
      this: FolderObjectStore,
      path,
    ) {
      if (path.includes("checkpoint")) throw new RetryableError("no space left on the disk");
      return create.call(this, path);
    });
    onTestFinished(() => failing.mockRestore());
    const { code, out, err } = await ingest();
    expect(code).toBe(0);
    expect(err).toMatch(/^the checkpoint failed, and the next run tries again: no space left on the disk/);
    expect(out).toContain('"event":"checkpoint failed"');
    expect(out.trim().split("\n").at(-1)).toContain('"ingested":1');
    expect(checkpointsIn(log)).toEqual([]);
    expect(existsSync(join(log, "_last_checkpoint"))).toBe(false);
  });
});
