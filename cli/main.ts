#!/usr/bin/env node
import { ExitCode } from "./command.ts";
import { main } from "./deltacap.ts";
import { processTerminal } from "./process-terminal.ts";

// A reader that has seen enough (`deltacap log T | head`) closes the pipe: that is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(ExitCode.ok);
  throw error;
});
process.exitCode = await main(process.argv.slice(2), processTerminal);
