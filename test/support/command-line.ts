import { main } from "../../cli/deltacap.ts";
import type { Terminal } from "../../cli/terminal/command.ts";
import { Interruption } from "../../cli/terminal/interruption.ts";

/** A terminal that is a pipe, and keeps what it was told. */
export class RecordingTerminal implements Terminal {
  written = "";
  watched = "";
  readonly interactive = false;
  readonly interruption = new Interruption();
  readonly columns: number | null = null;

  // Bound: commands hand them on as plain functions.
  readonly out = (text: string): void => {
    this.written += text;
  };

  readonly err = (text: string): void => {
    this.watched += text;
  };

  readonly draw = this.err;

  readonly drained = async (): Promise<void> => {};
}

/** Runs the command line in this process. */
export async function deltacap(
  ...argv: readonly string[]
): Promise<{ code: number; out: string; err: string }> {
  const terminal = new RecordingTerminal();
  const code = await main(argv, terminal);
  return { code, out: terminal.written, err: terminal.watched };
}
