import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packetTable } from "../../../src/packets/packet-table.ts";
import { fault, hasFaults } from "../../support/captures/faults.ts";
import { deltacap } from "../../support/command-line.ts";
import { folderContent } from "../../support/folder-content.ts";
import { foreignTable } from "../../support/tables/foreign-table.ts";
import { captureOf, DAY } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function captureFolder(): string {
  const folder = join(temporaryFolder(), "captures");
  mkdirSync(join(folder, "car-1"), { recursive: true });
  writeFileSync(join(folder, "car-1", "a.pcap"), captureOf(4, DAY, 1));
  return folder;
}

/** Every command that changes a table, and vacuum's dry run. */
const writers = (table: string): string[][] => [
  ["ingest", captureFolder(), "--table", table],
  ["optimize", table],
  ["forget", table, "--vehicle", "car-1"],
  ["checkpoint", table],
  ["vacuum", table],
  ["vacuum", table, "--retention-hours", "0", "--allow-short-retention", "--delete"],
];

async function expectRefusals(table: string, reason: string): Promise<void> {
  const before = folderContent(table);
  for (const words of writers(table)) {
    const { code, out, err } = await deltacap(...words);
    expect([words[0], code, out]).toEqual([words[0], 3, ""]);
    expect(err).toContain("is not a packets table: ");
    expect(err).toContain(reason);
    expect(folderContent(table), words[0]).toEqual(before);
  }
}

const sales = (configuration: Record<string, string> = {}) =>
  foreignTable({
    name: "sales",
    fields: [
      ["date", "date"],
      ["shop", "string"],
      ["amount", "long"],
    ],
    partitionColumns: ["date"],
    configuration,
    files: ["2024-01-01", "2024-01-02", "2024-01-01"].map((date, i) => ({
      path: `date=${date}/${i}.parquet`,
      partitionValues: { date },
      columns: [
        { name: "shop", data: ["a", "b"] },
        { name: "amount", data: [1n, BigInt(i)] },
      ],
    })),
  });

const packetFields = packetTable.columns.map(({ name, type }) => [name, type] as const);

describe("a table that deltacap did not create is refused by every command that writes, and stays as it is", () => {
  test("a table with a date partition and other columns: what it lacks is named", async () => {
    await expectRefusals(
      sales(),
      'the table "sales" is not a packets table: it lacks columns vehicle_id, capture, source_id,',
    );
  });

  test("the property alone does not make it a packets table", async () => {
    await expectRefusals(sales({ "deltacap.table": "packets" }), "it lacks columns vehicle_id");
  });

  test("a table with all columns and another name in the property", async () => {
    const table = foreignTable({
      fields: packetFields,
      partitionColumns: ["date"],
      configuration: { "deltacap.table": "signals" },
      files: [],
    });
    await expectRefusals(
      table,
      'the table "0949b18b-0120-4ce3-9dab-2c4ce0f8ba92" is not a packets table: its property deltacap.table is "signals"',
    );
  });

  test.each([
    ["date", "string", 'date is "string" instead of "date"'],
    ["ts", { type: "struct", fields: [] }, 'ts is struct, array or map instead of "timestamp"'],
  ])("a table whose column %s has another type", async (column, type, reason) => {
    const table = foreignTable({
      fields: packetFields.map(([name, ours]) => [name, name === column ? type : ours]),
      partitionColumns: ["date"],
      files: [],
    });
    await expectRefusals(table, reason);
  });

  test.skipIf(!hasFaults).each(["sales_date", "sales_str"])("tables/%s", async (name) => {
    const table = join(temporaryFolder(), name);
    cpSync(fault(`tables/${name}`), table, { recursive: true });
    await expectRefusals(table, "it lacks columns vehicle_id, capture, source_id,");
  });
});

interface Metadata {
  readonly id: string;
  readonly schemaString: string;
  readonly configuration: Record<string, string>;
}

describe("the table's property", () => {
  const commit = (table: string, version: number) =>
    join(table, "_delta_log", `${String(version).padStart(20, "0")}.json`);
  const metadataOf = (table: string, version: number): Metadata[] =>
    readFileSync(commit(table, version), "utf8")
      .trim()
      .split("\n")
      .flatMap((line) => (JSON.parse(line) as { metaData?: Metadata }).metaData ?? []);

  /** A table that was created before the property existed. */
  async function olderTable(): Promise<{ table: string; ingest: () => Promise<number> }> {
    const table = join(temporaryFolder(), "table");
    let captures = 0;
    const ingest = async () => {
      const folder = join(temporaryFolder(), `captures-${++captures}`);
      mkdirSync(join(folder, "car-1"), { recursive: true });
      writeFileSync(join(folder, "car-1", "a.pcap"), captureOf(4, DAY, captures));
      return (await deltacap("ingest", folder, "--table", table)).code;
    };
    await ingest();
    const created = readFileSync(commit(table, 0), "utf8");
    const older = created.replace(/,\\"deltacap\.table\\":\\"packets\\"|,"deltacap\.table":"packets"/g, "");
    expect(older).not.toContain("deltacap.table");
    writeFileSync(commit(table, 0), older);
    return { table, ingest };
  }

  test("is written when the table is created, and no later commit repeats it", async () => {
    const table = join(temporaryFolder(), "table");
    expect((await deltacap("ingest", captureFolder(), "--table", table)).code).toBe(0);
    expect(metadataOf(table, 0)[0]?.configuration["deltacap.table"]).toBe("packets");
    expect(metadataOf(table, 1)).toEqual([]);
  });

  test("is added to an older table with its next commit, and with that only", async () => {
    const { table, ingest } = await olderTable();
    expect(await ingest()).toBe(0);
    const [before] = metadataOf(table, 0);
    expect(metadataOf(table, 2)).toEqual([
      { ...before, configuration: { ...before?.configuration, "deltacap.table": "packets" } },
    ]);
    expect(await ingest()).toBe(0);
    expect(metadataOf(table, 3)).toEqual([]);
  });

  test("is not needed to change an older table: its columns identify it", async () => {
    const { table, ingest } = await olderTable();
    for (const words of writers(table).slice(1)) {
      const { code, err } = await deltacap(...words);
      expect([words[0], code, err]).toEqual([words[0], 0, ""]);
    }
    expect(await ingest()).toBe(0);
  });
});
