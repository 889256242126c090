import { readFileSync, writeFileSync } from "node:fs";
import { packetTable } from "../src/packets/packet-table.ts";

const file = new URL("table.md", import.meta.url);
const BEGIN = "<!-- columns: written by `npx tsx docs/write-table.ts` from the schema -->";
const END = "<!-- end of columns -->";

/** The table of columns for `docs/table.md`, from the one place where they are stated. */
export function columnsMarkdown(): string {
  const rows = packetTable.columns.map(
    ({ name, type, statistics, meaning }) =>
      `| \`${name}\` | ${type} | ${statistics ? "yes" : ""} | ${meaning.replaceAll("|", "\\|")} |`,
  );
  return ["| column | type | bounds | meaning |", "|---|---|---|---|", ...rows].join("\n");
}

/** `docs/table.md` with the columns that the schema has now. */
export function withColumns(text: string): string {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin)
    throw new Error("docs/table.md has lost the marks between which the columns stand");
  return `${text.slice(0, begin + BEGIN.length)}\n\n${columnsMarkdown()}\n\n${text.slice(end)}`;
}

if (process.argv[1]?.endsWith("write-table.ts")) writeFileSync(file, withColumns(readFileSync(file, "utf8")));
