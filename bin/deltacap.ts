import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { configurationFrom, givenIn } from "../lib/configuration.ts";
import { DeltacapStack } from "../lib/deltacap-stack.ts";

/**
 * `cdk deploy`: one stack, configured by the context `deltacap` in cdk.json, or by `--context deltacap:NAME=VALUE`. The functions
 * are those of `npm run build`, or lie in another folder by `--context assets=FOLDER`.
 */
export const app = new App();
const assets: unknown = app.node.tryGetContext("assets");
Validations.of(app).addPlugins(new AwsSolutionsChecks(app, { verbose: true }));
new DeltacapStack(app, "Deltacap", {
  description: "Packet captures in, rows of a Delta Lake table out",
  configuration: configurationFrom(givenIn(app.node)),
  assets: typeof assets === "string" ? assets : join(import.meta.dirname, "../dist/lambdas"),
});
