import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pcap } from "../support/captures/capture-builder.ts";
import { data, ethernet } from "../support/captures/frame-builder.ts";
import { hostileCaptures } from "./hostile-captures.ts";

const COMMAND_LINE = "dist/cli/main.js";
const PYTHON = process.env.PYTHON ?? "python3";
/** What a capture may cost beyond what the command costs for a capture of one packet. */
const CPU_SECONDS = 1;
/** Of the whole process. */
const PEAK_MB = 256;

interface Usage {
  readonly exit: number;
  readonly cpuSeconds: number;
  readonly peakMB: number;
  readonly output: string;
}

/** CPU seconds of all threads, and peak memory, from the kernel's own account. */
function usageOf(...args: string[]): Usage {
  const run = spawnSync(PYTHON, [join(import.meta.dirname, "rusage.py"), "node", COMMAND_LINE, ...args], {
    encoding: "utf8",
    timeout: 120_000,
  });
  const [exit = -1, cpuSeconds = 0, peakMB = 0] = (run.stdout.trimEnd().split("\n").at(-1) ?? "")
    .split(" ")
    .map(Number);
  return { exit, cpuSeconds, peakMB, output: run.stderr };
}

/** `tsx measure-hostile.ts FOLDER`: converts and ingests each hostile capture with the built command line. */
function main(folder: string): number {
  mkdirSync(folder, { recursive: true });
  const runs: Readonly<Record<string, (file: string) => Usage>> = {
    convert: (file) => usageOf("convert", file, "-o", join(folder, "out.parquet")),
    ingest: (file) => {
      rmSync(join(folder, "table"), { recursive: true, force: true });
      return usageOf("ingest", file, "--table", join(folder, "table"));
    },
  };
  const small = join(folder, "one-packet.pcap");
  writeFileSync(small, pcap({}, [{ bytes: ethernet(0x0800, data(46)) }]));
  const bases = Object.entries(runs).map(([command, run]) => {
    const base = run(small);
    if (base.exit !== 0) throw new Error(`${command} of one packet ended with ${base.exit}: ${base.output}`);
    console.log(`${command}: ${base.cpuSeconds.toFixed(2)} s and ${base.peakMB} MB for one packet`);
    return { command, run, base };
  });
  let problems = 0;
  let most = { name: "", cpuSeconds: 0, peakMB: 0 };
  for (const { name, bytes } of hostileCaptures) {
    const file = join(folder, name);
    writeFileSync(file, bytes());
    for (const { command, run, base } of bases) {
      const usage = run(file);
      const cpuSeconds = usage.cpuSeconds - base.cpuSeconds;
      const ended = usage.exit === 0 || usage.exit === 1;
      const isFine = ended && cpuSeconds < CPU_SECONDS && usage.peakMB < PEAK_MB;
      if (!isFine) problems++;
      console.log(
        `${isFine ? "ok    " : "FAILED"} ${command} ${name} (${statSync(file).size} bytes): exit ${usage.exit}, ${cpuSeconds.toFixed(2)} s more, ${usage.peakMB} MB${isFine ? "" : `\n${usage.output}`}`,
      );
      if (cpuSeconds > most.cpuSeconds) most = { ...most, name, cpuSeconds };
      most = { ...most, peakMB: Math.max(most.peakMB, usage.peakMB) };
    }
    rmSync(file);
  }
  console.log(
    `note: ${hostileCaptures.length} hostile captures, converted and ingested: at most ${most.cpuSeconds.toFixed(2)} s of CPU (${most.name}) beyond a capture of one packet, ${most.peakMB} MB; ${problems} problems`,
  );
  return problems === 0 ? 0 : 1;
}

process.exitCode = main(process.argv[2] ?? "");
