import { copyFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { build } from "esbuild";

const require = createRequire(import.meta.url);

/** Loaded at run time from node_modules: native code, which no bundle holds. */
const NATIVE = ["@duckdb/node-api"];

/** Names of the functions' folders in `lambdas/`, and of their assets. */
export const functionNames = ["converter", "committer", "maintenance"] as const;

/** One function's assets: `index.mjs`, which exports `handler`, and what it loads at run time. */
export async function bundleFunction(name: (typeof functionNames)[number], folder: string): Promise<void> {
  // By its name Lambda knows a module for one, without a package.json beside it.
  await bundle({ index: `lambdas/${name}/handler.ts` }, folder, ".mjs");
  if (name !== "committer") copyWasm(folder);
}

/** The command line: `main.js`, and the worker that converts for `--jobs`. */
export async function bundleCommandLine(folder: string): Promise<void> {
  await bundle({ main: "cli/main.ts", "convert-worker": "cli/ingest/convert-worker.ts" }, folder, ".js");
  copyWasm(folder);
}

async function bundle(entryPoints: Record<string, string>, outdir: string, extension: string): Promise<void> {
  await build({
    entryPoints,
    outdir,
    outExtension: { ".js": extension },
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    external: NATIVE,
    // ES modules of packages lose what nobody uses, and what is imported on demand (ways to find credentials) is
    // not read before: importing the converter takes 119 ms of CPU instead of 194 (Node 24, x86-64). Minified it takes 116, which
    // is not worth unreadable stack traces.
    mainFields: ["module", "main"],
    // Packages of this repository are bundled from their sources: what nobody uses of them is left out.
    conditions: ["deltacap-source", "module"],
    splitting: true,
    // Code of packages written for CommonJS (that of zstd in WebAssembly among it) asks for these.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; import { fileURLToPath as __fileURLToPath } from "node:url"; const require = __createRequire(import.meta.url); const __filename = __fileURLToPath(import.meta.url); const __dirname = __fileURLToPath(new URL(".", import.meta.url));',
    },
    logLevel: "warning",
    legalComments: "none",
  });
}

/** Zstd in WebAssembly, which Node without zstd loads, looks for its module beside itself. */
function copyWasm(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const wasm = join(dirname(require.resolve("@bokuweb/zstd-wasm")), "zstd.wasm");
  copyFileSync(wasm, join(folder, "zstd.wasm"));
}
