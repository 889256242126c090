import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Frame, PacketDecoder } from "@deltacap/capture";
import { ethernetMix, Traffic, vehicleMix } from "../test/support/captures/traffic.ts";

const SEED = 20_261_130;
const RUNS = 5;
/** Enough that branch prediction does not learn them by heart, few enough that the bench measures decoding and not memory. */
const FRAMES = 20_000;
const WARM_UP_ROUNDS = 20;
const ROUNDS = 150;
/** What a vehicle's mix must reach of the Ethernet mix's packets per second: 4 million where that does 6. */
const LEAST_RATIO = 4 / 6;

const mixes = { ethernet: ethernetMix, vehicle: vehicleMix } as const;
type MixName = keyof typeof mixes;

/** Frames of the mix one behind another in one buffer, as the reader hands them over. */
function framesOf(mix: MixName): Frame[] {
  const traffic = new Traffic(SEED, mixes[mix]);
  const packets = Array.from({ length: FRAMES }, () => {
    const { linkType, bytes } = traffic.next();
    return { linkType, bytes: bytes.slice() };
  });
  const buffer = new Uint8Array(packets.reduce((sum, { bytes }) => sum + bytes.length, 0));
  let offset = 0;
  return packets.map(({ linkType, bytes }, i) => {
    buffer.set(bytes, offset);
    const frame = new Frame();
    frame.bytes = buffer;
    frame.offset = offset;
    frame.capturedLength = bytes.length;
    frame.originalLength = bytes.length;
    frame.linkType = linkType;
    frame.packetNumber = i + 1;
    offset += bytes.length;
    return frame;
  });
}

/** Packets for a millisecond of CPU. Run in a process of its own, so that one mix does not shape the other's machine code. */
function measure(mix: MixName): number {
  const frames = framesOf(mix);
  let payload = 0;
  const decoder = new PacketDecoder((record) => {
    payload += record.payloadLength;
  });
  const decodeAll = (rounds: number) => {
    for (let round = 0; round < rounds; round++) for (const frame of frames) decoder.decode(frame);
  };
  decodeAll(WARM_UP_ROUNDS);
  const start = process.cpuUsage();
  decodeAll(ROUNDS);
  const { user, system } = process.cpuUsage(start);
  if (payload <= 0) throw new Error(`the ${mix} mix has no payload: nothing was decoded`);
  return (ROUNDS * FRAMES) / ((user + system) / 1000);
}

function inProcess(mix: MixName): number {
  const args = [...process.execArgv, fileURLToPath(import.meta.url), "--mix", mix];
  return Number(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** `npm run bench:decode [-- --runs N]`: decoding alone, without reading and columns; the two mixes by turns. */
function main(): void {
  const { values } = parseArgs({ options: { mix: { type: "string" }, runs: { type: "string" } } });
  if (values.mix !== undefined) {
    console.log(measure(values.mix as MixName));
    return;
  }
  const count = Number(values.runs ?? RUNS);
  const runs = Array.from({ length: count }, () => ({
    ethernet: inProcess("ethernet"),
    vehicle: inProcess("vehicle"),
  }));
  console.log(`Node ${process.version}, ${ROUNDS * FRAMES} packets, seed ${SEED}, median of ${count} runs`);
  for (const mix of ["ethernet", "vehicle"] as const) {
    const perSecond = median(runs.map((run) => run[mix])) / 1000;
    console.log(`  ${mix.padEnd(10)}${perSecond.toFixed(2).padStart(8)} M packets/s CPU`);
  }
  const ratio = median(runs.map((run) => run.vehicle / run.ethernet));
  console.log(`  vehicle to ethernet: ${ratio.toFixed(2)} (to reach: ${LEAST_RATIO.toFixed(2)})`);
}

main();
