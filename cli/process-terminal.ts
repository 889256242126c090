import { once } from "node:events";
import type { Terminal } from "./command.ts";

/** What a terminal needs of standard output and error. */
type Output = Pick<NodeJS.WriteStream, "write" | "writableNeedDrain" | "isTTY" | "columns" | "once">;

/** Returns the terminal that writes to these streams. */
export function terminalOn(out: Output, err: Output): Terminal {
  return {
    out: (text) => void out.write(text),
    drained: async () => {
      if (out.writableNeedDrain) await once(out as NodeJS.WriteStream, "drain");
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
export const processTerminal: Terminal = terminalOn(process.stdout, process.stderr);
