#!/usr/bin/env node
import { ExitCode, type Terminal } from "./command.ts";
import { main } from "./deltacap.ts";

const terminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  interactive: process.stderr.isTTY === true,
};

// A reader that has seen enough (`deltacap log T | head`) closes the pipe: that is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(ExitCode.ok);
  throw error;
});
process.exitCode = await main(process.argv.slice(2), terminal);
