import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { main } from "../../cli/deltacap.ts";
import { RecordingTerminal } from "../support/command-line.ts";

const document = readFileSync("docs/command-line.md", "utf8");

async function printed(...argv: string[]): Promise<string> {
  const terminal = new RecordingTerminal();
  await main(argv, terminal);
  return terminal.written;
}

test("docs/command-line.md has every command, and every option that a command's usage names", async () => {
  const names = [...(await printed("--help")).matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name ?? "");
  expect(names.length).toBeGreaterThan(15);
  for (const name of names) {
    expect(document).toMatch(new RegExp(`^### .*deltacap ${name}\\b`, "m"));
    const [usage = ""] = (await printed(name, "--help")).split("\n\n");
    for (const [option] of usage.matchAll(/--[a-z-]+/g))
      expect(document, `${name} ${option}`).toContain(option);
  }
});

test("the links within docs/command-line.md lead somewhere", () => {
  const headings = [...document.matchAll(/^#+ (.*)$/gm)].map(([, text = ""]) =>
    text
      .toLowerCase()
      .replace(/[^a-z0-9 -]/g, "")
      .replaceAll(" ", "-"),
  );
  for (const [, target] of document.matchAll(/\]\(#([^)]*)\)/g)) expect(headings).toContain(target);
});
