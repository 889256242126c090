import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DuckDBInstance } from "@duckdb/node-api";
import { type Form, forms, type Mix, mixes, SEED, seededCapture } from "../seeded-capture.ts";
import { columnSums, differences } from "./column-sums.ts";
import { dpkt, gopacket, ours, type Peer, pcapToolkit, tshark } from "./peers.ts";

const USAGE = `npm run bench:peers -- [--packets N] [--runs N] [--mix ethernet|vehicle] [--form pcap|pcapng|pcap.gz|pcapng.gz]
  [--node PATH]... [--peer gopacket|pcap-toolkit|dpkt|tshark]...

Converts the same seeded captures by Deltacap and by its peers, in turns, and prints medians and ratios. --node runs Deltacap by
another Node; without --peer there are all of them. Exit code 1 where a peer's rows or sums of columns are not ours.`;

const work = join(tmpdir(), "deltacap-peers");
const measureScript = fileURLToPath(new URL("measure.py", import.meta.url));
/** Ratios are to this one. */
const YARDSTICK = "gopacket + arrow-go";

interface Measurement {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMB: number;
}

interface Contestant {
  readonly peer: Peer;
  readonly input: string;
  readonly packets: number;
  readonly folder: string;
  readonly runs: Measurement[];
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      packets: { type: "string", default: "2000000" },
      runs: { type: "string", default: "5" },
      mix: { type: "string" },
      form: { type: "string" },
      node: { type: "string", multiple: true, default: [process.execPath] },
      peer: { type: "string", multiple: true },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  mkdirSync(work, { recursive: true });
  const packets = Number(values.packets);
  const peers = await available([
    ...values.node.map((node) => ours(node, work)),
    ...chosenPeers(values.peer),
  ]);
  console.log(
    `${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores; seed ${SEED}, median of ${values.runs}`,
  );
  let unequal = 0;
  for (const mix of chosen(mixes, values.mix)) {
    for (const form of chosen(forms, values.form)) {
      unequal += await compare(peers, mix, form, packets, Number(values.runs));
    }
  }
  return unequal === 0 ? 0 : 1;
}

function chosenPeers(names: readonly string[] | undefined): Peer[] {
  const all = {
    gopacket: gopacket(work),
    "pcap-toolkit": pcapToolkit(work),
    dpkt: dpkt(work),
    tshark: tshark(),
  };
  return chosen(Object.keys(all) as (keyof typeof all)[], ...(names ?? [])).map((name) => all[name]);
}

function chosen<T extends string>(all: readonly T[], ...names: (string | undefined)[]): readonly T[] {
  const wanted = names.filter((name) => name !== undefined);
  const unknown = wanted.find((name) => !all.includes(name as T));
  if (unknown !== undefined) throw new Error(`${unknown} is none of ${all.join(", ")}\n${USAGE}`);
  return wanted.length === 0 ? all : (wanted as T[]);
}

async function available(peers: readonly Peer[]): Promise<Peer[]> {
  const ready: Peer[] = [];
  for (const peer of peers) {
    try {
      await peer.prepare();
      ready.push(peer);
    } catch (error) {
      console.log(`skipped: ${peer.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return ready;
}

/** Returns how many peers' rows or sums differ from ours. */
async function compare(
  peers: readonly Peer[],
  mix: Mix,
  form: Form,
  packets: number,
  runs: number,
): Promise<number> {
  const contestants = peers.flatMap((peer, i): Contestant[] => {
    const reason = peer.refuses(form);
    if (reason !== null) {
      console.log(`skipped: ${peer.name} on ${form}: ${reason}`);
      return [];
    }
    const count = peer.tenth ? Math.ceil(packets / 10) : packets;
    const input = seededCapture(mix, form, count);
    return [{ peer, input, packets: count, folder: join(work, `out-${i}`), runs: [] }];
  });
  const unequal = await compareSums(contestants);
  for (let i = 0; i < runs; i++) {
    for (const contestant of contestants) contestant.runs.push(measure(contestant));
  }
  report(`${mix} mix, ${form}, ${packets} packets, ${megabytes(contestants[0]?.input)} MB`, contestants);
  for (const { folder } of contestants) rmSync(folder, { recursive: true, force: true });
  return unequal;
}

/** What is slow has a tenth of the packets, and is compared with our rows of the same tenth. */
async function compareSums(contestants: readonly Contestant[]): Promise<number> {
  const connection = await (await DuckDBInstance.create()).connect();
  const own = contestants[0];
  if (own === undefined) return 0;
  const ownSums = new Map<string, Awaited<ReturnType<typeof columnSums>>>();
  let unequal = 0;
  for (const contestant of contestants) {
    let expected = ownSums.get(contestant.input);
    if (expected === undefined) {
      measure({ ...own, input: contestant.input });
      expected = await columnSums(connection, own.peer.relation(own.folder));
      ownSums.set(contestant.input, expected);
    }
    if (contestant === own) continue;
    measure(contestant);
    const found = await columnSums(connection, contestant.peer.relation(contestant.folder));
    const lines = differences(expected, found);
    if (lines.length > 0) unequal++;
    const verdict = lines.length === 0 ? "equal" : `DIFFERENT: ${lines.join("; ")}`;
    console.log(
      `${contestant.peer.name}: ${found.rows} rows, ${found.columns.size} columns' sums: ${verdict}`,
    );
  }
  connection.closeSync();
  return unequal;
}

function measure({ peer, input, folder }: Contestant): Measurement {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const result = join(work, "measurement.json");
  execFileSync("python3", [measureScript, result, join(folder, "stdout"), ...peer.command(input, folder)], {
    stdio: ["ignore", "inherit", "pipe"],
  });
  return JSON.parse(readFileSync(result, "utf8")) as Measurement;
}

function report(title: string, contestants: readonly Contestant[]): void {
  const rows = contestants.map((contestant) => ({
    name: contestant.peer.name,
    packetsPerCpuSecond: contestant.packets / (median(contestant.runs.map(({ cpuMs }) => cpuMs)) / 1000),
    packetsPerSecond: contestant.packets / (median(contestant.runs.map(({ wallMs }) => wallMs)) / 1000),
    peakMB: median(contestant.runs.map(({ peakMB }) => peakMB)),
    bytesPerPacket: outputBytes(contestant.folder) / contestant.packets,
  }));
  const yardstick = rows.find(({ name }) => name === YARDSTICK) ?? rows[0];
  console.log(`\n${title}\n`);
  console.log(
    "| | packets/s of CPU time | ratio | packets/s of wall time | peak MB | bytes a packet | ratio |",
  );
  console.log("|---|---|---|---|---|---|---|");
  for (const row of rows) {
    const cells = [
      row.name,
      thousands(row.packetsPerCpuSecond),
      ratio(row.packetsPerCpuSecond, yardstick?.packetsPerCpuSecond),
      thousands(row.packetsPerSecond),
      row.peakMB.toFixed(0),
      row.bytesPerPacket.toFixed(1),
      ratio(row.bytesPerPacket, yardstick?.bytesPerPacket),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
  console.log();
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function thousands(perSecond: number): string {
  return `${Math.round(perSecond / 1000).toLocaleString("en")} k`;
}

function ratio(value: number, base: number | undefined): string {
  return (value / (base ?? Number.NaN)).toFixed(2);
}

function outputBytes(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

function megabytes(path: string | undefined): string {
  return path === undefined ? "0" : (statSync(path).size / 1e6).toFixed(0);
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  return 2;
});
