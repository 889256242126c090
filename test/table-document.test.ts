import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { withColumns } from "../docs/write-table.ts";

test("docs/table.md has the columns that the schema has: otherwise run npx tsx docs/write-table.ts", () => {
  const text = readFileSync(new URL("../docs/table.md", import.meta.url), "utf8");
  expect(withColumns(text)).toBe(text);
});
