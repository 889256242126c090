import type { ParseArgsConfig } from "node:util";
import type { Interruption } from "./interruption.ts";

/** The exit codes of the contract: what scripts branch on. */
export const ExitCode = {
  /** All was done. */
  ok: 0,
  /** Captures were rejected or damaged; the others were ingested. */
  captures: 1,
  /** Wrong use of the command line. */
  usage: 2,
  /** Not the captures' fault: the table was refused, the disk is full, the network is down. */
  environment: 3,
} as const;

/** Where a command writes: results to `out`, what a person watches to `err`. */
export interface Terminal {
  out(text: string): void;
  /**
   * Resolves once the reader of `out` has taken what was written, or nearly all of it. A command that writes without end
   * waits for it, because text that is not taken yet lies in memory.
   */
  drained(): Promise<void>;
  /** Characters in a line of `out`; null where `out` is a pipe or a file, which take lines of any length. */
  readonly columns: number | null;
  err(text: string): void;
  /** To `err`, with control characters as they are: for progress. */
  draw(text: string): void;
  /** True when `err` is a terminal: progress is drawn only then. */
  readonly interactive: boolean;
  /** What Ctrl-C and SIGTERM do. */
  readonly interruption: Interruption;
  /**
   * Called before a command runs. `writes`: the command changes something, so it goes on when the reader of `out` goes away, and
   * its output is dropped. Any other command ends then.
   */
  begin?(writes: boolean): void;
}

/** A command's options by name, as they were given. */
export type OptionValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** One subcommand. */
export interface Command {
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** The whole text of `deltacap NAME --help`. */
  readonly help: string;
  readonly options: NonNullable<ParseArgsConfig["options"]>;
  /** True for a command that changes a table, a file or a stack. */
  readonly writes?: true;
  /** Returns the exit code. Throws `UsageError` for arguments that make no sense. */
  run(positionals: readonly string[], options: OptionValues, terminal: Terminal): Promise<number>;
}

/** The command line was wrong: the message says what; how to get help follows. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The option's value, or a `UsageError` that names it. */
export function required(options: OptionValues, name: string, meaning: string): string {
  const value = options[name];
  if (typeof value !== "string" || value === "") throw new UsageError(`--${name} ${meaning} is missing`);
  return value;
}

/** Throws `UsageError` for any positional argument of a command that has none. `instead` says how to name what it works on. */
export function noPositionals(positionals: readonly string[], instead: string): void {
  if (positionals.length > 0)
    throw new UsageError(`no argument is expected, and there is ${positionals[0]}: ${instead}`);
}

/** The only positional argument, or a `UsageError` that says what it should be. */
export function onlyPositional(positionals: readonly string[], meaning: string): string {
  const [value, ...more] = positionals;
  if (value === undefined) throw new UsageError(`${meaning} is missing`);
  if (more.length > 0) throw new UsageError(`one ${meaning} is expected, and there is also ${more[0]}`);
  return value;
}
