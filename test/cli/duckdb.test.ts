import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Metadata } from "@deltacap/delta";
import { schemaString, TableRefusedError } from "@deltacap/delta";
import { FolderObjectStore } from "@deltacap/delta/folder";
import { parquetWriteBuffer } from "hyparquet-writer";
import { expect, test } from "vitest";
import { packetsOf } from "../../cli/duckdb/duckdb.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import { inlineVector, storedVector } from "../support/tables/deletion-vectors.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const DATE = "2026-03-01";

const packets: Metadata = {
  id: "i",
  format: { provider: "parquet", options: {} },
  schemaString: schemaString(packetTable),
  partitionColumns: ["date"],
  configuration: {},
};

function writeFile(
  folder: string,
  name: string,
  columns: Readonly<Record<string, unknown[]>>,
): { path: string; size: number; partitionValues: Record<string, string> } {
  const columnData = Object.entries(columns).map(([column, data]) => ({
    name: column,
    data,
    nullable: true,
  }));
  const path = join(`date=${DATE}`, name);
  mkdirSync(join(folder, `date=${DATE}`), { recursive: true });
  const bytes = new Uint8Array(parquetWriteBuffer({ columnData }));
  writeFileSync(join(folder, path), bytes);
  return { path, size: bytes.length, partitionValues: { date: DATE } };
}

test.each<[string, Readonly<Record<string, unknown[]>>[]]>([
  ["an empty table", []],
  ["a file", [{ vehicle_id: ["car-1"] }, { vehicle_id: ["car-1"], src_port: [80] }]],
  ["no file", [{ vehicle_id: ["car-1", "car-2"] }]],
])("columns that %s does not have are null, and of their type", async (_, files) => {
  const folder = temporaryFolder();
  const written = files.map((columns, i) => writeFile(folder, `${i}.parquet`, columns));
  const connection = await packetsOf(folder, written, new FolderObjectStore(folder), packets);
  const rows = await connection.runAndReadAll(
    "select vehicle_id, date::varchar, module_device_id from packets order by all",
  );
  const expected = files.flatMap(({ vehicle_id = [] }) => vehicle_id.map((id) => [id, DATE, null]));
  expect(rows.getRows()).toEqual(expected);
  const types = await connection.runAndReadAll(
    "select column_type from (describe packets) where column_name in ('ts', 'src_port') order by 1",
  );
  expect(types.getRows()).toEqual([["INTEGER"], ["TIMESTAMP WITH TIME ZONE"]]);
  connection.closeSync();
});

test.each([
  ["looks like another column", "packet_number=7"],
  ["looks like another date", "date=2020-01-01"],
  ["looks like a pattern", "a?*"],
])("a folder above the table that %s changes no value", async (_, name) => {
  const folder = join(temporaryFolder(), name, "table");
  const files = [writeFile(folder, "0.parquet", { packet_number: [1n] })];
  writeFile(join(folder, "..", "..", "axx", "table"), "0.parquet", { packet_number: [9n] });
  const connection = await packetsOf(folder, files, new FolderObjectStore(folder), packets);
  const rows = await connection.runAndReadAll("select packet_number, date::varchar from packets");
  expect(rows.getRows()).toEqual([[1n, DATE]]);
  connection.closeSync();
});

test("a file's partition values are the log's, whatever its path and columns; without them its columns count", async () => {
  const folder = temporaryFolder();
  const file = (
    name: string,
    partitionValues: Record<string, string | null>,
    column: Record<string, unknown[]>,
  ) => ({
    ...writeFile(folder, name, column),
    partitionValues,
  });
  const deletionVector = inlineVector([0]);
  const numbers = { packet_number: [1n, 2n] };
  const files = [
    file("0.parquet", { date: "1999-12-31" }, numbers),
    file("1.parquet", { date: null }, numbers),
    file("2.parquet", { date: "" }, numbers),
    file("3.parquet", {}, { ...numbers, date: ["2001-02-03", "2001-02-04"] }),
    file("4.parquet", { date: "1999-12-31", vehicle_id: "car 'x'" }, { ...numbers, vehicle_id: ["a", "b"] }),
    { ...file("5.parquet", { date: "2004-02-29" }, numbers), deletionVector },
  ];
  const connection = await packetsOf(folder, files, new FolderObjectStore(folder), packets);
  const rows = await connection.runAndReadAll(
    "select date::varchar, vehicle_id, count(*)::int from packets group by all order by all",
  );
  expect(rows.getRows()).toEqual([
    ["1999-12-31", "car 'x'", 2],
    ["1999-12-31", null, 2],
    ["2001-02-03", null, 1],
    ["2001-02-04", null, 1],
    ["2004-02-29", null, 1],
    [null, null, 4],
  ]);
  connection.closeSync();
});

test("rows that deletion vectors delete are left out, whatever the folder's name and the query's filter", async () => {
  const folder = join(temporaryFolder(), "a b%20&='é");
  mkdirSync(folder);
  const store = new FolderObjectStore(folder);
  const numbers = (from: number, length: number) => Array.from({ length }, (_, i) => BigInt(from + i));
  const whole = writeFile(folder, "0.parquet", { packet_number: numbers(0, 10) });
  const first = writeFile(folder, "1.parquet", { packet_number: numbers(100, 70_000) });
  const second = writeFile(folder, "2=x.parquet", { packet_number: numbers(200_000, 9) });
  const third = numbers(0, 70_000)
    .map(Number)
    .filter((row) => row % 3 !== 0);
  const files = [
    whole,
    { ...first, deletionVector: await storedVector(store, third, 1) },
    { ...second, path: second.path.replace("2=x", "2%3Dx"), deletionVector: inlineVector([0, 8]) },
  ];
  const connection = await packetsOf(folder, files, store, packets);
  const rows = async (where: string) => {
    const found = await connection.runAndReadAll(
      `select count(*)::int, sum(packet_number)::int, count(distinct date)::int from packets where ${where}`,
    );
    return found.getRows()[0];
  };
  const left = Array.from({ length: 23_334 }, (_, i) => 100 + 3 * i);
  const sum = left.reduce((total, n) => total + n, 0);
  expect(await rows("true")).toEqual([10 + left.length + 7, 45 + sum + 7 * 200_004, 1]);
  expect(await rows("packet_number between 60001 and 60003")).toEqual([1, 60_001, 1]);
  expect(await rows("packet_number = 200000")).toEqual([0, null, 0]);
  connection.closeSync();
});

test("a deletion vector that cannot be read is told, and no row is given", async () => {
  const folder = temporaryFolder();
  const file = writeFile(folder, "0.parquet", { packet_number: [1n, 2n] });
  const opening = packetsOf(
    folder,
    [{ ...file, deletionVector: inlineVector([2]) }],
    new FolderObjectStore(folder),
    packets,
  );
  await expect(opening).rejects.toThrow(TableRefusedError);
  await expect(opening).rejects.toThrow("has a deletion vector that cannot be read");
});
