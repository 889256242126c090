#!/usr/bin/env node
import { main } from "./deltacap.ts";
import { listenForSignals, processTerminal } from "./terminal/process-terminal.ts";

listenForSignals(processTerminal);
process.exitCode = await main(process.argv.slice(2), processTerminal);
