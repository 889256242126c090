import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "./support/temporary-folder.ts";

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

test("npm pack takes the program and its documents, and nothing that lies beside them", () => {
  const folder = temporaryFolder();
  const packed = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "dist/cli/main.js",
    "docs/decisions/0001-libraries.md",
    "docs/table.md",
    "package.json",
  ];
  const beside = [
    "captures/car-0001/drive.pcap",
    "packets/_delta_log/00000000000000000000.json",
    "cdk.out/manifest.json",
    "notes.txt",
    "src/settings.ts",
    "docs/write-table.ts",
    ".env",
  ];
  for (const path of [...packed, ...beside]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    if (path === "package.json") copyFileSync(path, join(folder, path));
    else writeFileSync(join(folder, path), "x");
  }
  const list = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts", "--offline"], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  expect(packedPaths(JSON.parse(list)).sort()).toEqual(packed);
});

/** npm 11 prints a list of packages, npm 12 an object by their names. */
function packedPaths(printed: unknown): string[] {
  const [first] = Object.values(printed as Record<string, { files: { path: string }[] }>);
  return first?.files.map(({ path }) => path) ?? [];
}
