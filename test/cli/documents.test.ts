import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { RetryableError } from "@deltacap/delta";
import { expect, test } from "vitest";
import { main } from "../../cli/deltacap.ts";
import { RecordingTerminal } from "../support/command-line.ts";

const documents = [".", "docs", "docs/decisions"].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name)),
);

/** Command lines in code spans and in lines of code, without `deltacap`. */
function commandLines(path: string): string[] {
  const text = readFileSync(path, "utf8");
  const spans = [...text.matchAll(/`(?:npx )?deltacap ([a-z][^`]+)`/g)];
  const lines = [...text.matchAll(/^ {4,}(?:\$ )?(?:npx )?deltacap ([a-z].*?)(?: +#.*)?$/gm)];
  return [...spans, ...lines].map(([, line = ""]) => line.replaceAll("\\|", "|").replace(/\s+/g, " ").trim());
}

/** Its words, once for each command that it names; what is optional counts as given. */
function argumentLists(line: string): string[][] {
  const words = [...line.matchAll(/"([^"]*)"|[^\s"]+/g)].map(([word, quoted]) => quoted ?? word);
  const [names = "", ...rest] = words;
  const given = rest.map((word) => word.replace(/^\[/, "").replace(/\]$/, ""));
  return names.split("|").map((name) => [name, ...given]);
}

async function run(argv: readonly string[]) {
  const terminal = new RecordingTerminal();
  const open = () => Promise.reject(new RetryableError("the stack would be opened"));
  return { code: await main(argv, terminal, open), err: terminal.watched };
}

test.each(
  documents.map((path) => [path, commandLines(path)] as const).filter(([, lines]) => lines.length > 0),
)("every deltacap command line in %s names a command, and options that it has", async (_, lines) => {
  for (const line of lines) {
    // Help is printed only once the options are understood.
    for (const argv of argumentLists(line))
      expect(await run([...argv, "--help"]), line).toEqual({ code: 0, err: "" });
  }
});

test("the search finds the lines that the documents are known to have", () => {
  expect(documents.length).toBeGreaterThan(12);
  expect(commandLines("docs/runbook.md").length).toBeGreaterThan(25);
  expect(commandLines("README.md").length).toBeGreaterThan(8);
  expect(argumentLists('sql T "select 1" [--json]')).toEqual([["sql", "T", "select 1", "--json"]]);
});

test("the command lines of the runbook are complete: each gets as far as opening the stack", async () => {
  const placeholders = { BUCKET: "captures", TABLEURI: "s3://lake/packets", "YYYY-MM-DD": "2026-01-31" };
  for (const line of commandLines("docs/runbook.md")) {
    // A command's name alone may be a mention.
    if (/^(inspect|log) |^[a-z]+$/.test(line)) continue;
    let shown = line;
    for (const [name, value] of Object.entries(placeholders)) shown = shown.replace(name, value);
    for (const argv of argumentLists(shown)) {
      const { code, err } = await run(argv);
      expect([code, err], line).toEqual([3, expect.stringContaining("the stack would be opened")]);
    }
  }
});
