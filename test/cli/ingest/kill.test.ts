import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PcapngWriter } from "@deltacap/capture";
import { listVersions, readCommit } from "@deltacap/delta";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readableFiles } from "../../../cli/tables/live-files.ts";
import { localTable } from "../../../cli/tables/local-table.ts";
import { openPackets, readableTable } from "../../../cli/tables/readable-table.ts";
import { Interruption } from "../../../cli/terminal/interruption.ts";
import { readCommitTags } from "../../../src/commit/commit-tags.ts";
import { type BundledCommandLine, bundledCommandLine } from "../../support/bundled-command-line.ts";
import { LINKTYPE_CAN_SOCKETCAN, Traffic, vehicleMix } from "../../support/captures/traffic.ts";
import { Random, testSeed } from "../../support/random.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** More than one of the command line's batches (1000 captures), so that there are commits to be killed between. */
const CAPTURES = 1060;
/** Two lanes run side by side, each with tables of its own. */
const LANES = 2;
const KILLS_PER_LANE = 10;

let commandLine: BundledCommandLine;
beforeAll(async () => {
  commandLine = await bundledCommandLine();
});
afterAll(() => commandLine.remove());

const seed = testSeed(20_260_301);

test(`ingest killed at ${LANES * KILLS_PER_LANE} random moments (seed ${seed}) gives, once run to its end, the rows of an undisturbed run`, async () => {
  const folder = temporaryFolder();
  const captures = join(folder, "captures");
  writeFleet(captures, new Random(seed));
  const undisturbed = join(folder, "undisturbed");
  const whole = await ingest(captures, undisturbed, 1);
  expect(whole.code, whole.output).toBe(0);
  const expected = await contentOf(undisturbed);
  expect(expected).toHaveLength(CAPTURES);

  const lane = async (number: number) => {
    const random = new Random(seed + number);
    // Of a whole run: the machine's other work comes and goes.
    let milliseconds = whole.milliseconds;
    let kills = 0;
    for (let i = 0; kills < KILLS_PER_LANE; i++) {
      const table = join(folder, `disturbed-${number}-${i}`);
      for (let ended = false; !ended; ) {
        // Spread over the duration of a whole run, without its first fifth, in which nothing is written.
        const share = 0.2 + (0.8 * (kills + random.below(1000) / 1000)) / KILLS_PER_LANE;
        // The second lane's runs have processes that convert, which outlive a killed one for a moment.
        const jobs = number + 1;
        const run = await ingest(captures, table, jobs, kills < KILLS_PER_LANE ? milliseconds * share : null);
        expect(run.output).not.toMatch(/Error|node:/);
        if (run.killed) kills++;
        else expect(run.code, run.output).toBe(0);
        ended = !run.killed;
        // A run that ended first was faster than thought, or had less to do: the next kill comes earlier.
        milliseconds = ended ? Math.min(milliseconds, run.milliseconds) * 0.95 : whole.milliseconds;
      }
      expect(await contentOf(table)).toEqual(expected);
      await expectWholeLog(table);
      await expectNothingLeft(table);
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
}, 900_000);

/** Small captures of many vehicles; each differs from the others. */
function writeFleet(folder: string, random: Random): void {
  for (let i = 0; i < CAPTURES; i++) {
    const vehicle = join(folder, `car-${String(i % 20).padStart(4, "0")}`);
    mkdirSync(vehicle, { recursive: true });
    const traffic = new Traffic(random.uint32(), vehicleMix);
    const writer = new PcapngWriter();
    const parts = Array.from({ length: random.between(1, 12) }, (_, packet) => {
      const { linkType, bytes, gapNanoseconds } = traffic.next();
      return writer.packet({
        linkType,
        interfaceId: linkType === LINKTYPE_CAN_SOCKETCAN ? 1 : 0,
        interfaceName: null,
        packetComment: null,
        time: { seconds: 1_772_352_000 + i * 60 + packet, nanoseconds: gapNanoseconds },
        originalLength: bytes.length,
        bytes,
      });
    });
    writeFileSync(join(vehicle, `${i}.pcapng`), Buffer.concat(parts));
  }
}

interface Run {
  readonly killed: boolean;
  readonly code: number | null;
  readonly output: string;
  readonly milliseconds: number;
}

function ingest(
  captures: string,
  table: string,
  jobs: number,
  killAfterMs: number | null = null,
): Promise<Run> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(process.execPath, [
      commandLine.main,
      "ingest",
      captures,
      "--table",
      table,
      "--jobs",
      String(jobs),
    ]);
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    child.stderr.on("data", (chunk) => {
      output += chunk;
    });
    const timer = killAfterMs === null ? null : setTimeout(() => child.kill("SIGKILL"), killAfterMs);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (timer !== null) clearTimeout(timer);
      resolve({ killed: signal === "SIGKILL", code, output, milliseconds: performance.now() - started });
    });
  });
}

/** Of each source how many rows it has, how many different ones, and a checksum of what they hold. */
async function contentOf(table: string) {
  const { connection, close } = await openPackets(await readableTable(table), {
    mostBytes: 0,
    onBytes: () => {},
    interruption: new Interruption(),
  });
  try {
    const result = await connection.runAndReadAll(
      `SELECT source_id, count(*)::INTEGER, count(DISTINCT packet_number)::INTEGER, max(packet_number)::INTEGER,
         sum(hash(packet_number, epoch_us(ts), ts_nanos, frame))::VARCHAR
       FROM packets GROUP BY ALL ORDER BY 1`,
    );
    const sources = result.getRowsJson();
    for (const [id, rows, packets, last] of sources) {
      if (rows !== packets || rows !== last) throw new Error(`${id} has ${rows} rows for ${packets} packets`);
    }
    return sources;
  } finally {
    await close();
  }
}

/** Every data file is live, and no run's marker is there: the last run cleared away what the killed ones left. */
async function expectNothingLeft(table: string): Promise<void> {
  const live = new Set((await readableFiles(localTable(table).log)).map(({ path }) => path));
  const all = readdirSync(table, { recursive: true, encoding: "utf8" });
  expect(all.filter((path) => path.endsWith(".parquet") && !live.has(path))).toEqual(
    all.filter((path) => path.startsWith("_delta_log/") && path.endsWith(".parquet")),
  );
  expect(all.filter((path) => /^_deltacap\/(runs|tmp)\//.test(path))).toEqual([]);
}

/** Versions 0, 1, 2 ... without a gap, and each source in one of them only. */
async function expectWholeLog(table: string): Promise<void> {
  const { log } = localTable(table);
  const versions = await listVersions(log, 0);
  expect(versions).toEqual(versions.map((_, i) => i));
  const names = readdirSync(join(table, "_delta_log")).filter((name) => name.endsWith(".json"));
  expect(names).toHaveLength(versions.length);
  const ids: string[] = [];
  for (const version of versions) {
    const info = (await readCommit(log, version)).find(
      (action) => action.commitInfo !== undefined,
    )?.commitInfo;
    ids.push(...(readCommitTags(info?.tags)?.sources.map((source) => source.id) ?? []));
  }
  expect(ids).toHaveLength(CAPTURES);
  expect(new Set(ids).size).toBe(CAPTURES);
}
