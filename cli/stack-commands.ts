import { backfill } from "./commands/backfill.ts";
import { doctor } from "./commands/doctor.ts";
import { pause, resume } from "./commands/pause.ts";
import { retry } from "./commands/retry.ts";
import { status } from "./commands/status.ts";
import { trace } from "./commands/trace.ts";
import { deployedStack, type OpenStack } from "./stack/stack.ts";
import type { Command } from "./terminal/command.ts";

/**
 * The commands that look after a deployed stack, in a module of their own: loading AWS's clients takes some 0.1 s of processor time,
 * which no command on local files shall wait for.
 */
export function stackCommands(open: OpenStack = deployedStack): Command[] {
  return [status, trace, backfill, retry, doctor, pause, resume].map((command) => command(open));
}
