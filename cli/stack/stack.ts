import { RetryableError } from "@deltacap/delta";
import { type AwsClients, createClients } from "../../src/aws/clients.ts";
import { PipelineSwitch } from "../../src/aws/pipeline-switch.ts";
import { createStackClients } from "../../src/aws/stack-clients.ts";
import { stackOutputs } from "../../src/aws/stack-outputs.ts";
import { type FunctionSettings, settingsFrom } from "../../src/settings.ts";
import { type OptionValues, UsageError } from "../terminal/command.ts";
import { regionExplained } from "./region.ts";

/** What commands need to know of a stack: what its functions know. */
export type StackSettings = Pick<FunctionSettings, (typeof settingNames)[number]>;

const settingNames = [
  "tableUri",
  "tableScheme",
  "logStore",
  "logTable",
  "ledgerTable",
  "ledgerDays",
  "captureBuckets",
  "keyPattern",
  "hashContent",
  "captureQueueUrl",
  "captureDeadLetterUrl",
  "manifestQueueUrl",
  "manifestDeadLetterUrl",
  "messageBytes",
] as const satisfies readonly (keyof FunctionSettings)[];

/** A deployed pipeline, as commands look at it. */
export interface DeployedStack {
  readonly name: string;
  readonly settings: StackSettings;
  readonly clients: AwsClients;
  readonly pipeline: Pick<PipelineSwitch, "state" | "switchConverter" | "switchCommitter">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Finds a stack by its name; the region is the environment's where none is given. */
export type OpenStack = (name: string, region: string | null) => Promise<DeployedStack>;

/** Name of the stack that `cdk deploy` makes. */
const defaultStack = "Deltacap";

/** Options by which a command finds a stack. */
export const stackOptions = {
  stack: { type: "string" },
  region: { type: "string" },
  json: { type: "boolean" },
} as const;

/** The lines of a command's help that explain {@link stackOptions}. */
export const stackOptionsHelp = `  --stack NAME     the CloudFormation stack; default ${defaultStack}
  --region NAME    its region; default: as AWS's own tools find it (AWS_REGION, the profile)`;

/** The stack that the options name. Throws `UsageError` when there is none. */
export async function stackOf(open: OpenStack, options: OptionValues): Promise<DeployedStack> {
  const { stack, region } = options;
  return await open(
    typeof stack === "string" ? stack : defaultStack,
    typeof region === "string" ? region : null,
  );
}

/** Opens a stack in the account that the environment's credentials belong to: one request. */
export const deployedStack: OpenStack = async (name, region) => {
  const where = region === null ? {} : { region };
  const stackClients = createStackClients(where);
  const outputs = await stackOutputs(stackClients.cloudformation, name).catch((error: unknown) => {
    throw regionExplained(error, { option: true });
  });
  if (outputs === null) {
    throw new UsageError(
      `there is no stack ${name} in this account and region: give --stack and --region, or deploy it first`,
    );
  }
  return {
    name,
    settings: settingsOf(name, outputs),
    clients: createClients(where),
    pipeline: new PipelineSwitch({
      ...stackClients,
      eventSource: outputOf(name, outputs, "ConverterEventSource"),
      schedule: outputOf(name, outputs, "CommitterSchedule"),
    }),
    now: Date.now,
  };
};

/** Out of the environment of the stack's functions, which is its output `Settings`. Throws `RetryableError` for what is none. */
export function settingsOf(stack: string, outputs: ReadonlyMap<string, string>): StackSettings {
  const text = outputOf(stack, outputs, "Settings");
  try {
    return settingsFrom(settingNames, JSON.parse(text) as Record<string, string>);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RetryableError(
      `the output Settings of the stack ${stack} cannot be read: ${reason}. Deploy the version of this command line`,
    );
  }
}

function outputOf(stack: string, outputs: ReadonlyMap<string, string>, name: string): string {
  const value = outputs.get(name);
  if (value === undefined) {
    throw new RetryableError(
      `the stack ${stack} has no output ${name}: it is no stack of deltacap, or an older one. Deploy the version of this command line`,
    );
  }
  return value;
}
