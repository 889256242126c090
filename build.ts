import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";

const require = createRequire(import.meta.url);

/** Loaded at run time from node_modules: native code, which no bundle holds. */
const NATIVE = ["@duckdb/node-api"];

/** `npm run build`: the command line in dist/cli, and the Lambda functions' assets in dist/lambdas. */
async function main(): Promise<void> {
  rmSync("dist", { recursive: true, force: true });
  await bundle({ main: "cli/main.ts", "convert-worker": "cli/convert-worker.ts" }, "dist/cli", NATIVE);
  copyWasm("dist/cli");
  chmodSync("dist/cli/main.js", 0o755);
  for (const name of ["converter", "committer", "maintenance"]) {
    if (!existsSync(`lambdas/${name}/handler.ts`)) continue;
    // By its name Lambda knows a module for one, without a package.json beside it.
    await bundle({ index: `lambdas/${name}/handler.ts` }, `dist/lambdas/${name}`, [], ".mjs");
    if (name !== "committer") copyWasm(`dist/lambdas/${name}`);
  }
}

async function bundle(
  entryPoints: Record<string, string>,
  outdir: string,
  external: string[],
  extension = ".js",
): Promise<void> {
  await build({
    entryPoints,
    outdir,
    outExtension: { ".js": extension },
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    external,
    // Code of packages written for CommonJS (parquet-wasm's loader among it) asks for these.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; import { fileURLToPath as __fileURLToPath } from "node:url"; const require = __createRequire(import.meta.url); const __filename = __fileURLToPath(import.meta.url); const __dirname = __fileURLToPath(new URL(".", import.meta.url));',
    },
    logLevel: "warning",
    legalComments: "none",
  });
}

/** parquet-wasm's loader looks for its module beside itself. */
function copyWasm(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const wasm = join(require.resolve("parquet-wasm/node"), "..", "parquet_wasm_bg.wasm");
  copyFileSync(wasm, join(folder, "parquet_wasm_bg.wasm"));
}

await main();
