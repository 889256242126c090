/**
 * Takes each rule of exactly once out of the source in turn, in a copy, and sees that its test fails:
 * `npx tsx test/rules/take-out.ts`. Exit 1 when a rule is guarded by nothing.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Rule, rules } from "./rules.ts";

const repository = resolve(import.meta.dirname, "../..");
const copy = mkdtempSync(join(tmpdir(), "deltacap-rules-"));

function passes({ test, named }: Rule): boolean {
  // The name is a regular expression to vitest.
  const pattern = named.replaceAll(/[^\w ]/g, ".");
  const run = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", test, "-t", pattern], {
    cwd: copy,
    encoding: "utf8",
  });
  if (!/Tests .*[1-9]\d* (passed|failed)/.test(run.stdout)) {
    throw new Error(`no test "${named}" in ${test}:\n${run.stdout}${run.stderr}`);
  }
  return run.status === 0;
}

let unguarded = 0;
try {
  for (const part of ["src", "test", "package.json", "tsconfig.json", "vitest.config.ts"]) {
    cpSync(join(repository, part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(repository, "node_modules"), join(copy, "node_modules"));
  for (const rule of rules) {
    const path = join(copy, rule.file);
    const source = readFileSync(path, "utf8");
    if (!source.includes(rule.line)) throw new Error(`${rule.file} has no line "${rule.line}"`);
    if (!passes(rule)) throw new Error(`"${rule.named}" fails while the rule is in force`);
    writeFileSync(
      path,
      source.replace(rule.line, () => rule.without),
    );
    const noticed = !passes(rule);
    writeFileSync(path, source);
    if (!noticed) unguarded++;
    process.stdout.write(`${noticed ? "guarded  " : "UNGUARDED"}  ${rule.rule}\n`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
process.exitCode = unguarded === 0 ? 0 : 1;
