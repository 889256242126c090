import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface PackageFile {
  readonly type: string;
  readonly license: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const file = JSON.parse(readFileSync("package.json", "utf8")) as PackageFile;

test("versions of dependencies are exact, so that a build of today is the build of next year", () => {
  const versions = Object.entries({ ...file.dependencies, ...file.devDependencies });
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
});

test("the command line is called deltacap, and comes from cli/main.ts, which begins with node's line", () => {
  expect(file.bin).toEqual({ deltacap: "dist/cli/main.js" });
  expect(readFileSync("cli/main.ts", "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
});

test("it is an ES module with a licence", () => {
  expect(file).toMatchObject({ type: "module", license: "Apache-2.0" });
});

test("every script that runs a file has it", () => {
  const files = Object.values(file.scripts).flatMap((script) => script.match(/\S+\.(ts|json)\b/g) ?? []);
  expect(files.filter((path) => !existsSync(path))).toEqual([]);
});
