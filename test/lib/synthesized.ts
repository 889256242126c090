import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { DeltacapStack } from "../../lib/deltacap-stack.ts";
import type { DeltacapConfiguration } from "../../lib/settings/configuration.ts";
import { configurationFrom } from "../../lib/settings/given-settings.ts";

/** What a test looks at of a resource. */
export interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
  readonly DependsOn?: readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

export interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs: Readonly<Record<string, { readonly Value: unknown }>>;
}

/** A folder with the three functions, empty. */
const assets = (() => {
  const folder = mkdtempSync(join(tmpdir(), "deltacap-assets-"));
  for (const name of ["converter", "committer", "maintenance"]) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "index.mjs"), `export const handler = () => "${name}";\n`);
  }
  return folder;
})();

const { context } = JSON.parse(readFileSync("cdk.json", "utf8")) as { context: Record<string, unknown> };

/** The app of cdk.json with the stack so configured; nothing is synthesized yet. */
export function stackOf(given: Partial<DeltacapConfiguration>): { app: App; stack: DeltacapStack } {
  const app = new App({
    analyticsReporting: false,
    context,
    outdir: mkdtempSync(join(tmpdir(), "deltacap-synth-")),
  });
  const stack = new DeltacapStack(app, "Deltacap", { configuration: configurationFrom(given), assets });
  return { app, stack };
}

export function templateOf(given: Partial<DeltacapConfiguration>): Template {
  return stackOf(given).app.synth().getStackByName("Deltacap").template as Template;
}

export function resourcesOf(template: Template, type: string): [string, Resource][] {
  return Object.entries(template.Resources).filter(([, resource]) => resource.Type === type);
}

/** An output's text, as CloudFormation prints it for eu-central-1. */
export function printed(value: unknown): string {
  if (typeof value === "string") return value;
  const { "Fn::Join": join, Ref } = value as { "Fn::Join"?: [string, unknown[]]; Ref?: string };
  if (join !== undefined) return join[1].map(printed).join(join[0]);
  return Ref === "AWS::Region" ? "eu-central-1" : `<${Ref}>`;
}

/** Configurations that differ in what is made: most properties must hold for all of them. */
export const configurations: Readonly<Record<string, Partial<DeltacapConfiguration>>> = {
  defaults: {},
  "everything made, encrypted and switched on": {
    key: "create",
    capturePrefix: "upload/",
    captureSuffixes: [".pcap", ".pcapng"],
    captureDays: 60,
    ledgerDays: 120,
    deleteCaptures: true,
    optimize: true,
    vacuum: true,
    alarmEmail: "oncall@example.com",
    permissionsBoundary: "arn:aws:iam::123456789012:policy/boundary",
    glueDatabase: "lake",
  },
  "everything exists": {
    captureBucket: "the-captures",
    captureKeyArn: "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890a1",
    capturePrefix: "upload/",
    captureSuffixes: [".pcap", ".pcapng"],
    tableBucket: "the-lake",
    tableKeyArn: "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890a2",
    tablePrefix: "lake/packets",
    logTable: "delta-log",
    key: "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890a3",
    reserveCommitter: false,
    permissionsBoundary: "arn:aws:iam::123456789012:policy/boundary",
  },
  "no Spark": { logStore: "conditional", tableScheme: "s3" },
};
