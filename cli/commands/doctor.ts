import { AccountResources } from "../../src/aws/account-resources.ts";
import { diagnose, type Finding } from "../stack/diagnosis.ts";
import { type OpenStack, stackOf, stackOptions, stackOptionsHelp } from "../stack/stack.ts";
import { type Command, ExitCode, noPositionals } from "../terminal/command.ts";

/** The command `doctor`. */
export const doctor = (open: OpenStack): Command => ({
  name: "doctor",
  summary: "whether a stack, its table and its settings fit together",
  help: `Usage: deltacap doctor [--stack NAME] [--region NAME] [--json]

Looks at the stack's buckets, notifications, queues, tables, ledger, log and schedule, and says of each whether it is as it must
be, and what to do where it is not. Changes nothing.

${stackOptionsHelp}
  --json           one JSON object a check; the last one sums up

Exits 0 when all is well, 3 when there is a problem, or a check that could not be carried out.
`,
  options: stackOptions,
  run: async (positionals, options, terminal) => {
    noPositionals(positionals, "the stack is --stack NAME");
    const stack = await stackOf(open, options);
    const findings = await diagnose(stack, new AccountResources(stack.clients));
    const inState = (state: Finding["state"]) => findings.filter((finding) => finding.state === state).length;
    const counts = { ok: inState("ok"), problems: inState("problem"), unknown: inState("unknown") };
    for (const finding of findings)
      terminal.out(options.json === true ? `${JSON.stringify(finding)}\n` : described(finding));
    terminal.out(
      options.json === true
        ? `${JSON.stringify(counts)}\n`
        : `${counts.ok} OK, ${counts.problems} problems, ${counts.unknown} not checked\n`,
    );
    return counts.problems + counts.unknown === 0 ? ExitCode.ok : ExitCode.environment;
  },
});

const stateNames = { ok: "OK", problem: "PROBLEM", unknown: "NOT CHECKED" } as const;

function described({ check, state, found, advice }: Finding): string {
  const todo = advice === undefined ? "" : `${" ".repeat(13)}-> ${advice}\n`;
  return `${stateNames[state].padEnd(13)}${check}: ${found}\n${todo}`;
}
