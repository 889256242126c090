import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { PcapngWriter } from "@deltacap/capture";
import { localTable } from "../cli/tables/local-table.ts";
import { convertCaptures } from "../src/ingest/convert-captures.ts";
import { KeyPattern } from "../src/ingest/key-pattern.ts";
import { fileSource } from "../src/local/file-capture-store.ts";
import { converterDefaults, defaultKeyPattern, optimizeDefaults } from "../src/settings.ts";
import { optimizeTable } from "../src/upkeep/optimize-table.ts";
import { LINKTYPE_ETHERNET, Traffic, vehicleMix } from "../test/support/captures/traffic.ts";

/**
 * `npm run bench:optimize`: small files of one date made into large ones, in a local folder: rows and bytes a second of CPU time,
 * and peak memory. With `--delta-rs PYTHON`, an environment with deltalake, the same table is optimized by it beside: `compact`
 * puts files one after another as they are, `z_order` sorts rows, as we do. Each run has a process and a copy of the table of
 * its own. Numbers of one run compare with each other only.
 */
const SEED = 20_261_130;
const VEHICLES = 25;
/** All of one date. */
const MORNING = Date.UTC(2026, 2, 1, 8) / 1000;

interface Measurement {
  readonly files: number;
  readonly rows: number;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly peakMB: number;
}

function capture(seed: number, packets: number): Uint8Array {
  const traffic = new Traffic(seed, vehicleMix);
  const writer = new PcapngWriter();
  const parts: Uint8Array[] = [];
  let time = { seconds: MORNING + seed, nanoseconds: 0 };
  for (let i = 0; i < packets; i++) {
    const { linkType, bytes, gapNanoseconds } = traffic.next();
    const nanoseconds = time.nanoseconds + gapNanoseconds;
    time = { seconds: time.seconds + Math.floor(nanoseconds / 1e9), nanoseconds: nanoseconds % 1e9 };
    const interfaceId = linkType === LINKTYPE_ETHERNET ? 0 : 1;
    const interfaceName = interfaceId === 0 ? "eth0" : "can0";
    parts.push(
      writer.packet({
        linkType,
        interfaceId,
        interfaceName,
        packetComment: null,
        time,
        originalLength: bytes.length,
        bytes,
      }),
    );
  }
  return new Uint8Array(Buffer.concat(parts));
}

/** A version a file, as a converter makes them: some captures of several vehicles each. */
async function makeTable(folder: string, files: number, packets: number): Promise<void> {
  const table = localTable(join(folder, "table"));
  const committer = await table.committer([]);
  const pattern = new KeyPattern(defaultKeyPattern);
  for (let file = 0; file < files; file++) {
    const sources = [];
    for (let i = 0; i < 4; i++) {
      const seed = file * 4 + i;
      const vehicle = `car-${String((seed * 7) % VEHICLES).padStart(4, "0")}`;
      mkdirSync(join(folder, "captures", vehicle), { recursive: true });
      const key = `${vehicle}/${seed}.pcapng`;
      const path = join(folder, "captures", key);
      const bytes = capture(SEED + seed, packets);
      writeFileSync(path, bytes);
      sources.push(await fileSource({ path, key, size: bytes.length }, pattern));
    }
    const { manifest } = await convertCaptures(sources, table.converter, converterDefaults);
    if (manifest !== null) await committer.commit([manifest]);
  }
}

/** In a process of its own: its peak memory is that of this alone. */
async function optimizeHere(table: string): Promise<Measurement> {
  const startWall = performance.now();
  const startCpu = process.cpuUsage();
  const { removedFiles, rows } = await optimizeTable(localTable(table).ports, optimizeDefaults);
  const { user, system } = process.cpuUsage(startCpu);
  return {
    files: removedFiles,
    rows,
    cpuSeconds: (user + system) / 1e6,
    wallSeconds: (performance.now() - startWall) / 1000,
    peakMB: process.resourceUsage().maxRSS / 1024,
  };
}

const deltalakeScript = `
import json, resource, sys, time, deltalake
table = deltalake.DeltaTable(sys.argv[1])
cpu, wall = time.process_time(), time.time()
options = dict(target_size=${optimizeDefaults.fileBytes}, max_concurrent_tasks=1)
if sys.argv[2] == "compact": done = table.optimize.compact(**options)
else: done = table.optimize.z_order(["vehicle_id", "capture", "packet_number"], **options)
print(json.dumps({
  "files": done["numFilesRemoved"], "rows": int(sys.argv[3]), "cpuSeconds": time.process_time() - cpu,
  "wallSeconds": time.time() - wall, "peakMB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))`;

function bytesBelow(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".parquet"))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      "delta-rs": { type: "string" },
      files: { type: "string", default: "40" },
      packets: { type: "string", default: "5000" },
      here: { type: "string" },
    },
  });
  if (values.here !== undefined) {
    console.log(JSON.stringify(await optimizeHere(values.here)));
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "deltacap-bench-optimize-"));
  try {
    const files = Number(values.files);
    await makeTable(folder, files, Number(values.packets));
    const table = join(folder, "table");
    const rows = files * 4 * Number(values.packets);
    const bytes = bytesBelow(table);
    console.log(`${files} files, ${rows} rows, ${(bytes / 1e6).toFixed(1)} MB, Node ${process.version}`);
    const run = (name: string, command: string, args: (copy: string) => readonly string[]) => {
      const copy = join(folder, "copy");
      cpSync(table, copy, { recursive: true });
      const out = execFileSync(command, args(copy), { encoding: "utf8" });
      rmSync(copy, { recursive: true });
      const measured = JSON.parse(out.trim().split("\n").at(-1) ?? "") as Measurement;
      if (measured.files !== files) throw new Error(`${name} rewrote ${measured.files} of ${files} files`);
      const { cpuSeconds, wallSeconds, peakMB } = measured;
      const rates = `${(rows / cpuSeconds / 1000).toFixed(0).padStart(6)}k rows, ${(bytes / 1e6 / cpuSeconds).toFixed(1).padStart(6)} MB a second of CPU`;
      console.log(
        `  ${name.padEnd(20)} ${rates}   ${wallSeconds.toFixed(1).padStart(6)} s   peak ${peakMB.toFixed(0).padStart(5)} MB`,
      );
    };
    const self = fileURLToPath(import.meta.url);
    run("deltacap optimize", process.execPath, (copy) => ["--import", "tsx", self, "--here", copy]);
    const python = values["delta-rs"];
    if (python === undefined) console.log("  deltalake: skipped, --delta-rs PYTHON not given");
    else {
      for (const way of ["compact", "z_order"]) {
        run(`deltalake ${way}`, python, (copy) => ["-c", deltalakeScript, copy, way, String(rows)]);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

await main();
