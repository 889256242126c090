import { chmodSync, existsSync, rmSync } from "node:fs";
import { bundleCommandLine, bundleFunction, functionNames } from "./bundle.ts";

/** `npm run build`: the command line in dist/cli, and the functions' assets in dist/lambdas. */
rmSync("dist", { recursive: true, force: true });
await bundleCommandLine("dist/cli");
chmodSync("dist/cli/main.js", 0o755);
for (const name of functionNames) {
  if (existsSync(`lambdas/${name}/handler.ts`)) await bundleFunction(name, `dist/lambdas/${name}`);
}
