import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fault, hasFaults } from "../../support/captures/faults.ts";
import { deltacap } from "../../support/command-line.ts";
import { folderContent } from "../../support/folder-content.ts";
import { type ForeignTable, foreignTable } from "../../support/tables/foreign-table.ts";
import { captureOf, DAY } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function query(table: string, sql: string): Promise<unknown[]> {
  const { code, out, err } = await deltacap("sql", table, sql, "--json");
  expect([code, err]).toEqual([0, ""]);
  return out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}

const typesOf = async (table: string) =>
  Object.fromEntries(
    (await query(table, "select column_name, column_type from (describe packets)")).map((row) =>
      Object.values(row as object),
    ),
  ) as unknown;

/** One file without columns but `n`. */
const small = (changes: Partial<ForeignTable>): ForeignTable => ({
  fields: [["n", "long"]],
  partitionColumns: [],
  files: [{ path: "a.parquet", partitionValues: {}, columns: [{ name: "n", data: [1n] }] }],
  ...changes,
});

describe("sql reads a table by its own schema", () => {
  test("columns of every type, those that no file has among them, have the table's names and types", async () => {
    const struct = { type: "struct", fields: [{ name: 'a "b"', type: "long" }] };
    const table = foreignTable(
      small({
        fields: [
          ...["string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary", "date"],
          ...["timestamp", "timestamp_ntz", "decimal(10,2)"],
        ]
          .map((type) => [`a ${type}`, type] as const)
          .concat([
            ["a list", { type: "array", elementType: "string", containsNull: true } as never],
            ["a map", { type: "map", keyType: "string", valueType: struct } as never],
            ["a struct", struct as never],
          ]),
        files: [
          {
            path: "a.parquet",
            partitionValues: {},
            columns: [
              { name: "a long", data: [7] },
              { name: "a string", data: ["x"] },
              { name: "a list", data: [["y"]] },
            ],
          },
        ],
      }),
    );
    expect(await typesOf(table)).toEqual({
      "a string": "VARCHAR",
      "a long": "BIGINT",
      "a integer": "INTEGER",
      "a short": "SMALLINT",
      "a byte": "TINYINT",
      "a float": "FLOAT",
      "a double": "DOUBLE",
      "a boolean": "BOOLEAN",
      "a binary": "BLOB",
      "a date": "DATE",
      "a timestamp": "TIMESTAMP WITH TIME ZONE",
      "a timestamp_ntz": "TIMESTAMP",
      "a decimal(10,2)": "DECIMAL(10,2)",
      "a list": "VARCHAR[]",
      "a map": 'MAP(VARCHAR, STRUCT("a ""b""" BIGINT))',
      "a struct": 'STRUCT("a ""b""" BIGINT)',
    });
    expect(
      await query(table, 'select "a long", "a string", "a list"::varchar l, "a map" from packets'),
    ).toEqual([{ "a long": "7", "a string": "x", l: "[y]", "a map": null }]);
  });

  test("partition values are the log's, in columns of their types, from plain and from escaped folders", async () => {
    const file = (path: string, day: string | null, shop: string | null, n: number) => ({
      path,
      partitionValues: { day, shop },
      columns: [{ name: "n", data: [BigInt(n)] }],
    });
    const table = foreignTable({
      fields: [
        ["day", "integer"],
        ["n", "long"],
        ["shop", "string"],
      ],
      partitionColumns: ["day", "shop"],
      files: [
        file("day=1/shop=a/0.parquet", "1", "a", 1),
        file("day=2/shop=b/1.parquet", "2", "b", 2),
        file("day=2/shop=x%252Fy%20z/2.parquet", "2", "x/y z", 3),
        file("shop=b/day=2/3.parquet", "2", "b", 4),
        file("day=__HIVE_DEFAULT_PARTITION__/shop=__HIVE_DEFAULT_PARTITION__/4.parquet", null, "", 5),
        file("5.parquet", "3", "'); drop view packets; --", 6),
      ],
    });
    expect(await query(table, "select day, n::int n, shop from packets order by n")).toEqual([
      { day: 1, n: 1, shop: "a" },
      { day: 2, n: 2, shop: "b" },
      { day: 2, n: 3, shop: "x/y z" },
      { day: 2, n: 4, shop: "b" },
      { day: null, n: 5, shop: null },
      { day: 3, n: 6, shop: "'); drop view packets; --" },
    ]);
    expect(
      await query(table, "select n::int n from packets where day = 2 and shop = 'b' order by n"),
    ).toEqual([{ n: 2 }, { n: 4 }]);
  });

  test("a file in a narrower type than the table's gives the table's type", async () => {
    const table = foreignTable(
      small({
        files: [1, 2].map((n) => ({
          path: `${n}.parquet`,
          partitionValues: {},
          columns: [{ name: "n", data: [n === 1 ? 1 : 2n ** 40n], type: n === 1 ? "INT32" : "INT64" }],
        })),
      }),
    );
    expect(await query(table, "select n, typeof(n) t from packets order by n")).toEqual([
      { n: "1", t: "BIGINT" },
      { n: String(2 ** 40), t: "BIGINT" },
    ]);
  });

  test("a date that is text is text", async () => {
    const table = foreignTable(
      small({
        fields: [
          ["date", "string"],
          ["n", "long"],
        ],
        partitionColumns: ["date"],
        files: ["20180512", "a b"].map((date) => ({
          path: `${encodeURIComponent(date)}.parquet`,
          partitionValues: { date },
          columns: [{ name: "n", data: [1n] }],
        })),
      }),
    );
    expect(await query(table, "select date from packets order by 1")).toEqual([
      { date: "20180512" },
      { date: "a b" },
    ]);
  });

  test("columns that others added to a packets table are there, and those that it has yet to get are null", async () => {
    const folder = temporaryFolder();
    const table = join(folder, "table");
    mkdirSync(join(folder, "captures", "car-1"), { recursive: true });
    writeFileSync(join(folder, "captures", "car-1", "a.pcap"), captureOf(4, DAY, 1));
    await deltacap("ingest", join(folder, "captures"), "--table", table);
    const name = join(table, "_delta_log", `${"0".repeat(20)}.json`);
    const added =
      '{\\"name\\":\\"reviewed by\\",\\"type\\":\\"string\\",\\"nullable\\":true,\\"metadata\\":{}}';
    const last = /,\{\\"name\\":\\"module_interface_id\\".*?\}\}\]/;
    const lines = readFileSync(name, "utf8");
    expect(lines).toMatch(last);
    writeFileSync(
      name,
      lines.replace(last, () => `,${added}]`),
    );
    expect(
      await query(
        table,
        'select count(*)::int n, min("reviewed by") r, min(module_interface_id) m from packets',
      ),
    ).toEqual([{ n: 4, r: null, m: null }]);
  });

  test.skipIf(!hasFaults)("tables/sales_date and tables/sales_str", async () => {
    for (const [name, expected] of [
      ["sales_date", ["2024-01-01", "2024-01-02"]],
      ["sales_str", ["20180512", "a b", "x/y", "ü%41", null]],
    ] as const) {
      const table = join(temporaryFolder(), name);
      cpSync(fault(`tables/${name}`), table, { recursive: true });
      const dates = await query(table, "select distinct date::varchar d from packets order by 1");
      expect(dates).toEqual(expected.map((d) => ({ d })));
      const [counts] = await query(
        table,
        "select count(*) > 0 as some, count(*) = count(shop) as whole from packets",
      );
      expect(counts).toEqual({ some: true, whole: true });
    }
  });
});

describe("sql refuses by name, with exit code 3,", () => {
  test.each([
    ["an unknown type", "interval", "column n has the type interval"],
    ["a struct without fields", { type: "struct", fields: [] }, "column n has a type that is not understood"],
    ["a null type", null, "column n has a type that is not understood"],
  ])("%s", async (_, type, message) => {
    const { code, out, err } = await deltacap(
      "sql",
      foreignTable(small({ fields: [["n", type]] })),
      "select 1",
    );
    expect([code, out]).toEqual([3, ""]);
    expect(err).toContain(message);
  });

  test("a partition value that is not of its column's type", async () => {
    const table = foreignTable(
      small({
        fields: [
          ["date", "date"],
          ["n", "long"],
        ],
        partitionColumns: ["date"],
        files: ["2026-01-01", "x/../../../outside/evil"].map((date, i) => ({
          path: `${i}.parquet`,
          partitionValues: { date },
          columns: [{ name: "n", data: [1n] }],
        })),
      }),
    );
    const { code, out, err } = await deltacap("sql", table, "select n from packets");
    expect([code, out]).toEqual([3, ""]);
    expect(err).toContain('date = "x/../../../outside/evil" for the file 1.parquet');
  });

  test("export refuses a table that is not a packets table", async () => {
    const output = join(temporaryFolder(), "out.pcap");
    const { code, err } = await deltacap(
      "export",
      foreignTable(small({})),
      "--capture",
      "file:///a",
      "-o",
      output,
    );
    expect(code).toBe(3);
    expect(err).toContain("is not a packets table: it lacks columns date, vehicle_id");
  });
});

test.skipIf(!hasFaults)(
  "a checkpoint whose sidecar is shorter than stated is refused by every command",
  async () => {
    const table = join(temporaryFolder(), "table");
    cpSync(fault("tables/v2-checkpoints-parquet-with-sidecars_swapped"), table, { recursive: true });
    const before = folderContent(table);
    for (const words of [
      ["inspect", table],
      ["sql", table, "select count(*) from packets"],
      ["vacuum", table, "--retention-hours", "0", "--allow-short-retention", "--delete"],
      ["optimize", table],
      ["checkpoint", table],
    ]) {
      const { code, out, err } = await deltacap(...words);
      expect([words[0], code, out]).toEqual([words[0], 3, ""]);
      if (["inspect", "sql"].includes(words[0] ?? ""))
        expect(err).toMatch(/_sidecars\/.*shorter than the log says/);
      expect(folderContent(table)).toEqual(before);
    }
  },
);
