import type { PipelineState } from "../../src/aws/pipeline-switch.ts";
import { type OpenStack, stackOf, stackOptions, stackOptionsHelp } from "../stack/stack.ts";
import {
  type Command,
  ExitCode,
  noPositionals,
  type OptionValues,
  type Terminal,
  UsageError,
} from "../terminal/command.ts";

const parts = ["converter", "committer"] as const;

/** The command `pause`. */
export const pause = (open: OpenStack): Command => ({
  name: "pause",
  writes: true,
  summary: "a stack's pipeline stopped: uploads wait in its queues",
  help: `Usage: deltacap pause [--only converter|committer] [--stack NAME] [--region NAME] [--json]

Stops giving captures to the converter and calling the committer. What runs at this moment ends by itself. Nothing is lost:
captures and manifests wait in their queues, up to 14 days. Alarms that miss the committer will call. "cdk deploy" does not
undo it, as long as it changes neither: "deltacap resume" does.

  --only PART      only the converter, or only the committer
${stackOptionsHelp}
  --json           one JSON object
`,
  options: { ...stackOptions, only: { type: "string" } },
  run: (positionals, options, terminal) => switched(false, open, positionals, options, terminal),
});

/** The command `resume`. */
export const resume = (open: OpenStack): Command => ({
  name: "resume",
  writes: true,
  summary: "a paused pipeline goes on",
  help: `Usage: deltacap resume [--only converter|committer] [--stack NAME] [--region NAME] [--json]

Undoes "deltacap pause": the converter is given captures again, the committer is called every minute.

  --only PART      only the converter, or only the committer
${stackOptionsHelp}
  --json           one JSON object
`,
  options: { ...stackOptions, only: { type: "string" } },
  run: (positionals, options, terminal) => switched(true, open, positionals, options, terminal),
});

/** Uploads go on: stopped in the order of the flow, and started against it, so that no queue grows for nothing. */
async function switched(
  on: boolean,
  open: OpenStack,
  positionals: readonly string[],
  options: OptionValues,
  terminal: Terminal,
): Promise<number> {
  const { only } = options;
  noPositionals(positionals, "the stack is --stack NAME");
  if (only !== undefined && !parts.some((part) => part === only))
    throw new UsageError(`--only ${only}: converter or committer is expected`);
  const { name, pipeline } = await stackOf(open, options);
  const chosen = parts.filter((part) => only === undefined || only === part);
  for (const part of on ? chosen.toReversed() : chosen) {
    if (part === "converter") await pipeline.switchConverter(on);
    else await pipeline.switchCommitter(on);
  }
  const state = await pipeline.state();
  if (options.json === true) terminal.out(`${JSON.stringify({ stack: name, ...state })}\n`);
  else terminal.out(`${name}: ${stateText(state)}\n`);
  return ExitCode.ok;
}

/** `converter on, committer off`. */
export function stateText({ converter, committer }: PipelineState): string {
  return `converter ${converter}, committer ${committer}`;
}
