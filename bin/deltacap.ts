import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { DeltacapStack } from "../lib/deltacap-stack.ts";
import { configurationFrom, givenIn } from "../lib/settings/given-settings.ts";

/**
 * `cdk deploy`: one stack, configured by the context `deltacap` in cdk.json, or by `--context deltacap:NAME=VALUE`. Another one
 * beside it is named by `--context stack=NAME`. The functions are those of `npm run build`, or of `--context assets=FOLDER`.
 */
export const app = new App();

Validations.of(app).addPlugins(new AwsSolutionsChecks(app, { verbose: true }));
new DeltacapStack(app, context("stack") ?? "Deltacap", {
  description: "Packet captures in, rows of a Delta Lake table out",
  configuration: configurationFrom(givenIn(app.node)),
  assets: context("assets") ?? join(import.meta.dirname, "../dist/lambdas"),
});

function context(key: string): string | undefined {
  const value: unknown = app.node.tryGetContext(key);
  return typeof value === "string" ? value : undefined;
}
