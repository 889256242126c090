import { parseArgs } from "node:util";
import { RejectedCaptureError } from "@deltacap/capture";
import { CommitInDoubtError, RetryableError, TableRefusedError, UnreadableFileError } from "@deltacap/delta";
import { DamagedParquetError } from "@deltacap/parquet";
import { GoneError, RejectedError, SupersededError } from "../src/errors.ts";
import { engineInfo, SettingError } from "../src/settings.ts";
import { checkpoint } from "./commands/checkpoint.ts";
import { convert } from "./commands/convert.ts";
import { cost } from "./commands/cost.ts";
import { exportCapture } from "./commands/export.ts";
import { forget } from "./commands/forget.ts";
import { ingest } from "./commands/ingest.ts";
import { inspect } from "./commands/inspect.ts";
import { log } from "./commands/log.ts";
import { optimize } from "./commands/optimize.ts";
import { sql } from "./commands/sql.ts";
import { vacuum } from "./commands/vacuum.ts";
import type { OpenStack } from "./stack/stack.ts";
import { type Command, ExitCode, type Terminal, UsageError } from "./terminal/command.ts";
import { printable } from "./terminal/printable.ts";

/** Those that work on files and tables: none loads AWS's clients before it needs them. */
const tableCommands = (open?: OpenStack): readonly Command[] => [
  ingest,
  convert,
  inspect,
  log,
  sql,
  exportCapture,
  ...[checkpoint, optimize, vacuum, forget].map((command) => command(open)),
  cost,
];

/** Runs the command line and returns the exit code. `open` finds the stack that a command names: by default in AWS. */
export async function main(argv: readonly string[], raw: Terminal, open?: OpenStack): Promise<number> {
  const terminal = printing(raw);
  const [name, ...args] = argv;
  if (name === "--version" || name === "-V") {
    terminal.out(`${engineInfo}\n`);
    return ExitCode.ok;
  }
  const commands = [...tableCommands(open)];
  if (!commands.some((command) => command.name === name)) {
    const { stackCommands } = await import("./stack-commands.ts");
    commands.push(...stackCommands(open));
  }
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    terminal.out(overview(commands));
    return name === undefined ? ExitCode.usage : ExitCode.ok;
  }
  const command = commands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    terminal.err(`deltacap: there is no command "${name}"\ndeltacap --help lists the commands\n`);
    return ExitCode.usage;
  }
  try {
    const { values, positionals } = parse(command, args);
    if (values.help === true) {
      terminal.out(command.help);
      return ExitCode.ok;
    }
    raw.begin?.(command.writes === true);
    return await command.run(positionals, values, terminal);
  } catch (error) {
    // What a command says that was ended on the way is of no use.
    return terminal.interruption.exitCode ?? explain(command, error, terminal);
  }
}

function parse(command: Command, args: readonly string[]) {
  try {
    return parseArgs({
      args: joinedNumbers(args),
      allowPositionals: true,
      options: { ...command.options, help: { type: "boolean", short: "h" } },
    }) as { values: Record<string, string | boolean | string[] | undefined>; positionals: string[] };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** The terminal, but for control characters: names and comments of captures may hold any. */
function printing(terminal: Terminal): Terminal {
  return {
    out: (text) => terminal.out(printable(text)),
    drained: () => terminal.drained(),
    columns: terminal.columns,
    err: (text) => terminal.err(printable(text)),
    draw: (text) => terminal.draw(text),
    interactive: terminal.interactive,
    interruption: terminal.interruption,
  };
}

/** `--jobs -1` as `--jobs=-1`: no option has such a name, and the command then says what it expects. */
function joinedNumbers(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const option = joined.at(-1);
    if (/^-\d/.test(arg) && option !== undefined && /^--?[a-z][a-z-]*$/.test(option)) {
      joined[joined.length - 1] = option.startsWith("--") ? `${option}=${arg}` : `${option}${arg}`;
    } else joined.push(arg);
  }
  return joined;
}

function explain(command: Command, error: unknown, terminal: Terminal): number {
  if (error instanceof UsageError) {
    terminal.err(
      `deltacap ${command.name}: ${error.message}\ndeltacap ${command.name} --help explains the command\n`,
    );
    return ExitCode.usage;
  }
  if (error instanceof SettingError) {
    // No help: it is not the arguments that are wrong.
    terminal.err(`deltacap ${command.name}: ${error.message}\n`);
    return ExitCode.usage;
  }
  if (
    error instanceof RejectedError ||
    error instanceof RejectedCaptureError ||
    error instanceof UnreadableFileError ||
    error instanceof DamagedParquetError
  ) {
    terminal.err(`deltacap ${command.name}: ${error.message}\n`);
    return ExitCode.captures;
  }
  if (
    error instanceof TableRefusedError ||
    error instanceof RetryableError ||
    error instanceof SupersededError ||
    error instanceof GoneError ||
    error instanceof CommitInDoubtError
  ) {
    terminal.err(`deltacap ${command.name}: ${error.message}\n`);
    return ExitCode.environment;
  }
  // A bug: the stack trace helps to fix it.
  terminal.err(
    `deltacap ${command.name}: ${error instanceof Error ? (error.stack ?? error.message) : error}\n`,
  );
  return ExitCode.environment;
}

function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => command.name.length));
  const lines = commands.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}`);
  return `deltacap: packet captures into a Delta Lake table, exactly once

Usage: deltacap COMMAND [ARGUMENTS]

${lines.join("\n")}

deltacap COMMAND --help explains a command; deltacap --version tells the version.
`;
}
