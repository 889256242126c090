// Reads the files that encodings.py left in a folder, and compares their rows with those that it wrote.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ParquetField, ValueConverter } from "@deltacap/parquet";
import { openParquet } from "@deltacap/parquet";

const [folder = ""] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(join(folder, "rows.json"), "utf8")) as unknown[];
const files = readdirSync(folder).filter((name) => name.endsWith(".parquet"));
let wrong = 0;
for (const name of files) {
  const problem = await problemOf(name).catch((error: unknown) => String(error));
  if (problem === null) continue;
  wrong++;
  console.error(`${name}: ${problem}`);
}
console.log(`note: ${files.length - wrong} of ${files.length} files are read as they were written`);
process.exitCode = wrong > 0 || files.length === 0 ? 1 : 0;

async function problemOf(name: string): Promise<string | null> {
  const bytes = new Uint8Array(readFileSync(join(folder, name)));
  const read = async (start: number, length: number) => bytes.subarray(start, start + length);
  const reader = await openParquet({ name, size: bytes.length, read });
  const rows: unknown[] = [];
  for (const group of reader.footer.rowGroups.keys()) {
    rows.push(...(await reader.readRecords(group, () => true, converter)));
  }
  if (rows.length !== expected.length) return `${rows.length} rows of ${expected.length}`;
  const differs = rows.findIndex((row, i) => sorted(inJson(row)) !== sorted(expected[i]));
  if (differs < 0) return null;
  return `row ${differs} is ${sorted(inJson(rows[differs]))}, and was ${sorted(expected[differs])}`;
}

function converter({ physical, converted, logical }: ParquetField): ValueConverter | null {
  if (physical === "INT32") return String;
  const isText = converted === "UTF8" || logical?.type === "STRING";
  return isText ? (raw) => new TextDecoder().decode(raw as Uint8Array) : null;
}

function inJson(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.map(inJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inJson(member)]));
}

/** JSON with its keys in order. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort())
      : member,
  );
}
