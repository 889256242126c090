import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { expect, test } from "vitest";
import { packetsOf } from "../../cli/duckdb.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const DATE = "2026-03-01";

function writeFile(
  folder: string,
  name: string,
  columns: Readonly<Record<string, unknown[]>>,
): { path: string } {
  const columnData = Object.entries(columns).map(([column, data]) => ({
    name: column,
    data,
    nullable: true,
  }));
  const path = join(`date=${DATE}`, name);
  mkdirSync(join(folder, `date=${DATE}`), { recursive: true });
  writeFileSync(join(folder, path), new Uint8Array(parquetWriteBuffer({ columnData })));
  return { path };
}

test.each<[string, Readonly<Record<string, unknown[]>>[]]>([
  ["an empty table", []],
  ["a file", [{ vehicle_id: ["car-1"] }, { vehicle_id: ["car-1"], src_port: [80] }]],
  ["no file", [{ vehicle_id: ["car-1", "car-2"] }]],
])("columns that %s does not have are null, and of their type", async (_, files) => {
  const folder = temporaryFolder();
  const written = files.map((columns, i) => writeFile(folder, `${i}.parquet`, columns));
  const connection = await packetsOf(folder, written);
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
