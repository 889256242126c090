import type { Terminal } from "./command.ts";

/** This process's standard output and error. */
export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  draw: (text) => void process.stderr.write(text),
  interactive: process.stderr.isTTY === true,
};
