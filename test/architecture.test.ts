import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { explained, findings, rules, type SourceText } from "./support/architecture-rules.ts";

/**
 * What may break a rule, and why. An entry that nothing needs any more is an error too, so that the list only holds what is
 * true.
 */
const exceptions: readonly { path: string; rule: string; reason: string }[] = [];

const folders = ["packages", "src", "lib", "bin", "lambdas", "cli", "bench", "demo", "test"];

describe("the repository", () => {
  const found = findings(folders.filter((folder) => existsSync(folder)).flatMap(sourcesIn));
  const isExcepted = (path: string, rule: string) =>
    exceptions.some((exception) => exception.path === path && exception.rule === rule);

  test("keeps the rules of its architecture", () => {
    const broken = found.filter(({ path, rule }) => !isExcepted(path, rule.name));
    expect(broken.map(explained).join("\n\n")).toBe("");
  });

  test("needs every exception that is listed", () => {
    const unneeded = exceptions.filter(
      ({ path, rule }) => !found.some((finding) => finding.path === path && finding.rule.name === rule),
    );
    expect(unneeded).toEqual([]);
  });
});

/** For each rule: sources that break it in one place, and that line. */
const breaking: Readonly<Record<string, readonly [path: string, text: string, line: number][]>> = {
  "a room imports itself and the rooms below it": [
    ["packages/capture/src/read/pcap.ts", 'import type { A } from "../decode/packet-decoder.ts";', 1],
    ["packages/parquet/src/columns/a.ts", '\nexport { b } from "../encode/b.ts";', 2],
    ["packages/delta/src/checkpoint/a.ts", 'const b = await import("../log/b.ts");', 1],
    ["src/manifest/a.ts", 'let b: import("../commit/commit-manifests.ts").B;', 1],
    ["cli/terminal/a.ts", 'import { b } from "../commands/b.ts";', 1],
    ["src/delta/a.ts", "", 1],
  ],
  "a package is imported by its name": [
    ["src/packets/a.ts", 'import { a } from "../../packages/parquet/src/parquet.ts";', 1],
    ["packages/delta/src/log/a.ts", 'import { a } from "../../../parquet/src/read/a.ts";', 1],
    ["packages/delta/src/log/a.ts", 'import { a } from "../../../../src/errors.ts";', 1],
  ],
  "a package imports what it declares": [
    ["packages/capture/src/decode/packet-decoder.ts", 'import { a } from "node:zlib";', 1],
    ["packages/parquet/src/read/a.ts", 'import { a } from "@deltacap/delta";', 1],
    ["packages/delta/src/log/a.ts", 'import { a } from "@aws-sdk/client-s3";', 1],
    ["packages/delta/src/log/a.ts", 'import { a } from "@deltacap/capture";', 1],
  ],
  "the application's inner rooms run anywhere": [
    ["src/commit/a.ts", 'import { a } from "node:crypto";', 1],
    ["src/ingest/convert-captures.ts", 'import { a } from "@aws-sdk/client-s3";', 1],
    ["src/upkeep/a.ts", 'import { a } from "@deltacap/delta/aws";', 1],
    ["src/packets/a.ts", 'import { a } from "apache-arrow";', 1],
  ],
  "no clock, randomness or process in what runs anywhere": [
    ["packages/delta/src/log/a.ts", "const now = Date.now();", 1],
    ["packages/delta/src/log/a.ts", "\n\nconst now = new Date();", 3],
    ["packages/parquet/src/read/a.ts", "const id = Math.random();", 1],
    ["packages/parquet/src/read/a.ts", "const id = crypto.randomUUID();", 1],
    ["src/ingest/convert-captures.ts", "setTimeout(() => {}, 1);", 1],
    ["packages/capture/src/read/a.ts", "const t = performance.now();", 1],
    ["packages/capture/src/read/a.ts", "const t = process.pid;", 1],
    ["packages/capture/src/read/a.ts", "const t = Buffer.from([]);", 1],
  ],
  "src/errors.ts and src/settings.ts import nothing": [
    ["src/errors.ts", 'import { a } from "./packets/a.ts";', 1],
    ["src/settings.ts", 'import { a } from "node:path";', 1],
  ],
  "files are touched in src/local and the folder store only": [
    ["packages/delta/src/log/a.ts", 'import { readFile } from "node:fs/promises";', 1],
    ["src/node/a.ts", 'import { readFile } from "node:fs/promises";', 1],
    ["lambdas/converter/handler.ts", 'import { readFileSync } from "fs";', 1],
  ],
  "SDKs are imported in the aws rooms only": [
    ["lambdas/a.ts", 'import { S3Client } from "@aws-sdk/client-s3";', 1],
    ["src/local/a.ts", 'import { S3Client } from "@aws-sdk/client-s3";', 1],
    ["lib/a.ts", 'import { Logger } from "@aws-lambda-powertools/logger";', 1],
  ],
  "Parquet is read by packages/parquet/src/read only": [
    ["packages/delta/src/files/a.ts", 'import { parquetRead } from "hyparquet";', 1],
    ["cli/a.ts", 'import { compressors } from "hyparquet-compressors";', 1],
    ["packages/parquet/src/encode/a.ts", 'import { compressors } from "hyparquet-compressors";', 1],
  ],
  "CDK in lib and bin only": [["lambdas/a.ts", 'import { Stack } from "aws-cdk-lib";', 1]],
  "lib and bin read src/settings.ts and nothing else of src": [
    ["lib/a.ts", 'import { packetTable } from "../src/packets/packet-table.ts";', 1],
    ["bin/app.ts", 'import { a } from "../src/errors.ts";', 1],
  ],
  "nothing imports the command line, tests or the functions": [
    ["src/local/a.ts", 'import { a } from "../../cli/command.ts";', 1],
    ["src/aws/a.ts", 'import { a } from "../../lambdas/converter/handler.ts";', 1],
    ["lambdas/a.ts", 'import { a } from "../test/support/random.ts";', 1],
  ],
  "process.env in src/settings.ts only": [
    ["src/aws/a.ts", 'const a = process.env["A"];', 1],
    ["lambdas/a.ts", "const { A } = process.env;", 1],
  ],
  "no default exports": [
    ["lib/a.ts", "export default class A {}", 1],
    ["cli/a.ts", "const a = 1;\nexport default a;", 2],
    ["cli/a.ts", "const a = 1;\nexport { a as default };", 2],
  ],
  "no any": [
    ["cli/a.ts", "export function a(b: any): void {}", 1],
    ["test/a.test.ts", "const a = 1 as\n  any;", 2],
  ],
  "every export has a docstring": [
    ["packages/delta/src/log/a.ts", "export const a = 1;", 1],
    ["cli/terminal/a.ts", "/** A. */\nexport type A = 1;\nexport interface B {}", 3],
    ["lib/a.ts", "// no docstring\nexport function a(): void {}", 2],
  ],
  "file names are words of the specifications": [
    ["packages/capture/src/read/utils.ts", "", 1],
    ["packages/delta/src/index.ts", "", 1],
    ["src/common.ts", "", 1],
  ],
  "files have at most 400 lines": [["cli/a.ts", "// a\n".repeat(401), 401]],
  "functions have at most 80 lines": [
    ["src/commit/a.ts", `// a\nfunction a() {${"\n".repeat(80)}}`, 2],
    ["src/commit/a.ts", `class A {\n  b() {${"\n".repeat(80)}}\n}`, 2],
    ["lib/a.ts", `const a = () => {${"\n".repeat(80)}};`, 1],
  ],
};

describe.each(rules.map((rule) => rule.name))("the rule: %s", (name) => {
  test("is tried on sources that break it", () => expect(breaking[name]?.length).toBeGreaterThan(0));

  test.each(breaking[name] ?? [])("goes red on %s with %j", (path, text, line) => {
    const found = findings([{ path, text }]).filter((finding) => finding.rule.name === name);
    expect(found.map((finding) => finding.line)).toEqual([line]);
    const message = explained(found[0]!);
    for (const part of [`${path}:${line}`, name, "why:", "do:"]) expect(message).toContain(part);
  });
});

test("a cycle of imports is found once, with its way", () => {
  const found = findings([
    { path: "packages/capture/src/read/a.ts", text: 'import { b } from "./b.ts";' },
    { path: "packages/capture/src/read/b.ts", text: '\nimport type { c } from "./c.ts";' },
    { path: "packages/capture/src/read/c.ts", text: 'export { a } from "./a.ts";' },
    { path: "packages/capture/src/read/d.ts", text: 'import { a } from "./a.ts";' },
  ]);
  expect(found.map(({ path, line, what }) => ({ path, line, what }))).toEqual([
    {
      path: "packages/capture/src/read/c.ts",
      line: 1,
      what: "the cycle packages/capture/src/read/a.ts -> packages/capture/src/read/b.ts -> packages/capture/src/read/c.ts -> packages/capture/src/read/a.ts",
    },
  ]);
});

test("sources as they should be break no rule", () => {
  const text = `import { RejectedError } from "../errors.ts";
import { a } from "@deltacap/capture";
/** any, Date.now() and process.env in a comment, and "new Date()" in a text. */
export function b(day: number): string {
  if (day < 0) throw new RejectedError("any");
  return new Date(day).toISOString() + a + "Math.random()";
}
`;
  expect(findings([{ path: "src/packets/b.ts", text }]).map(explained)).toEqual([]);
});

function sourcesIn(folder: string): SourceText[] {
  return (
    readdirSync(folder, { recursive: true, withFileTypes: true })
      // Ambient declarations say what other people's packages export.
      .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".d.ts"))
      .map((entry) => `${entry.parentPath}/${entry.name}`)
      .sort()
      .map((path) => ({ path, text: readFileSync(path, "utf8") }))
  );
}
