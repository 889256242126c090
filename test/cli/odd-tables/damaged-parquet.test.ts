import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openParquet } from "@deltacap/parquet";
import { describe, expect, test } from "vitest";
import { fault, hasFaults } from "../../support/captures/faults.ts";
import { deltacap } from "../../support/command-line.ts";
import { captureOf } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A table of two versions, and its checkpoint's file. */
async function checkpointedTable() {
  const folder = temporaryFolder();
  const captures = join(folder, "captures");
  const table = join(folder, "table");
  mkdirSync(join(captures, "car-1"), { recursive: true });
  for (const [i, name] of ["a.pcap", "b.pcap"].entries()) {
    writeFileSync(join(captures, "car-1", name), captureOf(5, undefined, i));
    expect((await deltacap("ingest", captures, "--table", table)).code).toBe(0);
  }
  expect((await deltacap("checkpoint", table)).code).toBe(0);
  const log = join(table, "_delta_log");
  const name = readdirSync(log).find((each) => each.endsWith(".checkpoint.parquet"));
  return { captures, table, checkpoint: join(log, name ?? "") };
}

const commands = (captures: string, table: string) => [
  ["log", table],
  ["inspect", table],
  ["sql", table, "select count(*) from packets"],
  ["checkpoint", table],
  ["optimize", table],
  ["vacuum", table],
  ["forget", table, "--vehicle", "car-1"],
  ["ingest", captures, "--table", table],
];

async function expectRefused(captures: string, table: string, message: RegExp): Promise<void> {
  for (const command of commands(captures, table)) {
    const { code, err } = await deltacap(...command);
    expect([command[0], code]).toEqual([command[0], 3]);
    expect(err).toMatch(message);
    expect(err).not.toMatch(/\n\s+at /);
  }
}

describe("a checkpoint that is damaged", () => {
  test("in two columns is refused by every command, with its byte, and nothing crashes after that", async () => {
    const { captures, table, checkpoint } = await checkpointedTable();
    const bytes = new Uint8Array(readFileSync(checkpoint));
    const read = async (start: number, length: number) => bytes.subarray(start, start + length);
    const { footer } = await openParquet({ name: checkpoint, size: bytes.length, read });
    const damaged = bytes.slice();
    let columns = 0;
    for (const { field, dataPageOffset } of footer.rowGroups[0]?.columns ?? []) {
      const path = field.path.join(".");
      if (!["protocol.minReaderVersion", "metaData.id", "add.path"].includes(path)) continue;
      damaged.fill(0xff, dataPageOffset, dataPageOffset + 4);
      columns++;
    }
    expect(columns).toBe(3);
    writeFileSync(checkpoint, damaged);
    await expectRefused(
      captures,
      table,
      /checkpoint\.parquet is damaged, at byte \d+ \(column \S+ of row group 0\): /,
    );
  });

  test.skipIf(!hasFaults)("by a negative number of children is refused by every command", async () => {
    const { captures, table, checkpoint } = await checkpointedTable();
    writeFileSync(checkpoint, readFileSync(fault("parquet/checkpoint-hang.parquet")));
    await expectRefused(captures, table, /checkpoint\.parquet is damaged, at byte 6457 \(footer\): /);
  });
});
