import { once } from "node:events";
import { ExitCode, type Terminal } from "./command.ts";
import { type EndSignal, Interruption } from "./interruption.ts";

/** What a terminal needs of standard output and error. */
type Output = Pick<NodeJS.WriteStream, "write" | "writableNeedDrain" | "isTTY" | "columns" | "on" | "once">;

/**
 * Returns the terminal that writes to these streams. Where the reader of `out` goes away, as in `deltacap log T | head`, a command
 * that only reads ends by `exit`, and that is no error.
 */
export function terminalOn(out: Output, err: Output, exit: (code: number) => void): Terminal {
  const interruption = new Interruption();
  let writes = false;
  let closed = false;
  out.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    closed = true;
    if (!writes) void interruption.end(ExitCode.ok).then(() => exit(ExitCode.ok));
  });
  return {
    interruption,
    begin: (commandWrites) => {
      writes = commandWrites;
    },
    out: (text) => {
      if (!closed) out.write(text);
    },
    drained: async () => {
      if (out.writableNeedDrain && !closed) await once(out as NodeJS.WriteStream, "drain");
    },
    get columns() {
      return out.isTTY === true ? out.columns : null;
    },
    err: (text) => void err.write(text),
    draw: (text) => void err.write(text),
    interactive: err.isTTY === true,
  };
}

/** This process's standard output and error. */
export const processTerminal: Terminal = terminalOn(process.stdout, process.stderr, (code) =>
  process.exit(code),
);

/** Lets Ctrl-C and SIGTERM reach the command that runs. */
export function listenForSignals({ interruption }: Terminal): void {
  const signals: readonly EndSignal[] = ["SIGINT", "SIGTERM"];
  for (const signal of signals) {
    process.on(signal, () => {
      void interruption.arrived(signal).then((code) => {
        if (code !== null) process.exit(code);
      });
    });
  }
}
