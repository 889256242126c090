import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { bundleCommandLine, bundleFunction, functionNames } from "./bundle.ts";

/** Each needs what the ones before it have built. */
const packages = ["capture", "parquet", "delta"] as const;

/**
 * `npm run build`: the packages with their declarations in packages/NAME/dist, the command line in dist/cli, and the functions' assets
 * in dist/lambdas.
 */
const tsc = createRequire(import.meta.url).resolve("typescript/lib/tsc.js");
for (const name of packages) {
  rmSync(`packages/${name}/dist`, { recursive: true, force: true });
  execFileSync(process.execPath, [tsc, "-p", `packages/${name}/tsconfig.build.json`], { stdio: "inherit" });
}
rmSync("dist", { recursive: true, force: true });
await bundleCommandLine("dist/cli");
chmodSync("dist/cli/main.js", 0o755);
for (const name of functionNames) {
  if (existsSync(`lambdas/${name}/handler.ts`)) await bundleFunction(name, `dist/lambdas/${name}`);
}
