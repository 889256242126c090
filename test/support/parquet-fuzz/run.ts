import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FuzzFigures, FuzzMessage } from "./child.ts";

export interface FuzzResult {
  readonly figures: FuzzFigures | null;
  /** What went wrong, each with the number of its input. */
  readonly faults: readonly string[];
}

/** Without any word from the child for so long, it hangs: a reader never takes that long, on however busy a machine. */
const SILENCE_MS = 60_000;
const MAX_FAULTS = 10;

/** Reads `count` mutated checkpoints and data files from input `first` on, in a child process that is killed where it hangs. */
export async function fuzzParquet(seed: number, count: number, first = 0): Promise<FuzzResult> {
  const folder = mkdtempSync(join(tmpdir(), "deltacap-fuzz-"));
  const args = [seed, first, count].map(String);
  const child = fork(join(import.meta.dirname, "child.ts"), [...args, folder], {
    execArgv: ["--import", "tsx", "--no-warnings"],
  });
  const faults: string[] = [];
  let figures: FuzzFigures | null = null;
  let input = -1;
  let watchdog: NodeJS.Timeout | undefined;
  const hangs = () => {
    faults.push(`input ${input}: no end after ${SILENCE_MS / 1000} s`);
    child.kill("SIGKILL");
  };
  const watch = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(hangs, SILENCE_MS);
  };
  watch();
  child.on("message", (message: FuzzMessage) => {
    watch();
    if ("fault" in message) faults.push(`input ${message.input}: ${message.fault}`);
    else if ("input" in message) input = message.input;
    else figures = message;
    if (faults.length >= MAX_FAULTS) child.kill("SIGKILL");
  });
  const code = await new Promise<number | null>((resolve) => child.once("exit", resolve));
  clearTimeout(watchdog);
  rmSync(folder, { recursive: true, force: true });
  if (code !== 0 && faults.length === 0) faults.push(`input ${input}: the process ended with ${code}`);
  return { figures, faults };
}
