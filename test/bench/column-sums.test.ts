import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { beforeAll, describe, expect, test } from "vitest";
import { columnSums, differences } from "../../bench/peers/column-sums.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create()).connect();
});

/** Two rows with a column of each kind. */
function rows({
  number = "7",
  text = "'b'",
  bytes = "'\\xFF'",
  time = "1970-01-01 00:00:00.000001",
  flag = "true",
}) {
  return `(values (1::bigint, 'a', '\\x00'::blob, timestamptz '2026-11-30 00:00:00+00', false),
    (${number}, ${text}, ${bytes}::blob, timestamptz '${time}+00', ${flag})) as t(number, text, bytes, time, flag)`;
}

const difference = async (theirs: string, ours = rows({})) =>
  differences(await columnSums(connection, ours), await columnSums(connection, theirs));

describe("sums of columns", () => {
  test("of the same rows in another order and with other columns first are equal", async () => {
    expect(
      await difference(`(select time, flag, bytes, text, number from ${rows({})} order by number desc)`),
    ).toEqual([]);
  });

  test.each([
    ["number", { number: "8" }],
    ["text", { text: "'c'" }],
    ["bytes", { bytes: "'\\xFE'" }],
    ["time", { time: "1970-01-01 00:00:00.000002" }],
    ["flag", { flag: "false" }],
    ["text", { text: "null" }],
  ])("name the column that differs: %s, %j", async (name, change) => {
    const lines = await difference(rows(change));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(new RegExp(`^${name}: `));
  });

  test("tell a null from a zero, whose sum is the same", async () => {
    expect(await difference(rows({ number: "null" }), rows({ number: "0" }))).toEqual([
      "number: 2 values, sum 1 and 1 values, sum 1",
    ]);
  });

  test("tell a row that is missing", async () => {
    const lines = await difference(`(select * from ${rows({})} limit 1)`);
    expect(lines[0]).toBe("rows: 2 and 1");
  });

  test("compare only what the other one has, and name what we have not", async () => {
    expect(await difference(`(select number from ${rows({})})`)).toEqual([]);
    expect(await difference(`(select number as other from ${rows({})})`)).toEqual([
      "other: no such column and 2 values, sum 8",
    ]);
  });
});
