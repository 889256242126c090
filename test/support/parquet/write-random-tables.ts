/**
 * Writes random tables for `cross-check.py`: `write-random-tables.ts FOLDER [TABLES]`. Each is a Parquet file and, beside it, a
 * JSON file with its columns and the values of each row group: 64-bit numbers in decimal, bytes in hexadecimal.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pagedParquetWriter } from "@deltacap/parquet";
import { nodePageCompressor } from "../../../src/node/page-compressor.ts";
import { nodeZstd } from "../../../src/node/zstd.ts";
import { Random, testSeed } from "../random.ts";
import { randomTable } from "./random-table.ts";
import { gzip, written } from "./read-back.ts";
import { rowGroup, type Value } from "./table-values.ts";

const [folder, tables = "100"] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: write-random-tables.ts FOLDER [TABLES]");
const seed = testSeed(20_260_801);
console.log(`seed ${seed}; ${nodeZstd === null ? "zstd in WebAssembly" : "zstd of node:zlib"}`);
mkdirSync(folder, { recursive: true });
const random = new Random(seed);
for (let i = 0; i < Number(tables); i++) {
  const { columns, groups, limits } = randomTable(random);
  const compressor = random.chance(0.7) ? nodePageCompressor : random.pick([null, gzip]);
  const file = await written(
    pagedParquetWriter({ compressor, ...limits }),
    columns,
    groups.map((group) => rowGroup(columns, group)),
  );
  const name = join(folder, String(i).padStart(4, "0"));
  writeFileSync(`${name}.parquet`, file);
  const values = groups.map((group) => group.map((column) => column.map(jsonValue)));
  writeFileSync(`${name}.json`, JSON.stringify({ columns, limits, groups: values }));
}

function jsonValue(value: Value): number | boolean | string | null {
  if (typeof value === "bigint") return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}
