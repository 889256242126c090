import { execFileSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PcapngWriter, PcapWriter } from "@deltacap/capture";
import {
  ethernetMix,
  LINKTYPE_ETHERNET,
  Traffic,
  type TrafficMix,
  vehicleMix,
} from "../test/support/captures/traffic.ts";

/** Of every benchmark's traffic: the same captures on every machine. */
export const SEED = 20_261_130;

export const mixes = ["ethernet", "vehicle"] as const;
export type Mix = (typeof mixes)[number];

export const forms = ["pcap", "pcapng", "pcap.gz", "pcapng.gz"] as const;
export type Form = (typeof forms)[number];

/** Packets written at once. */
const PACKETS_PER_WRITE = 10_000;

/**
 * Path of a seeded capture in the system's folder for temporary files; it is written unless it is there. Classic pcap has one
 * link type: the vehicle mix is without its CAN frames there, and as many packets long all the same.
 */
export function seededCapture(mix: Mix, form: Form, packets: number): string {
  const folder = join(tmpdir(), "deltacap-bench");
  const file = join(folder, `${mix}-${packets}-${SEED}.${form}`);
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  if (form.endsWith(".gz"))
    execFileSync("gzip", ["-kn", seededCapture(mix, form === "pcap.gz" ? "pcap" : "pcapng", packets)]);
  else writeCapture(mix, form === "pcapng", packets, file);
  return file;
}

function writeCapture(mix: Mix, isPcapng: boolean, packets: number, file: string): void {
  const traffic = new Traffic(SEED, trafficMix(mix, isPcapng));
  const writer = isPcapng ? new PcapngWriter() : new PcapWriter();
  const out = openSync(`${file}.unfinished`, "w");
  const time = { seconds: 1_790_000_000, nanoseconds: 0 };
  let parts: Uint8Array[] = [];
  for (let i = 1; i <= packets; i++) {
    const { linkType, bytes, gapNanoseconds } = traffic.next();
    const nanoseconds = time.nanoseconds + gapNanoseconds;
    time.seconds += Math.floor(nanoseconds / 1e9);
    time.nanoseconds = nanoseconds % 1e9;
    const isEthernet = linkType === LINKTYPE_ETHERNET;
    parts.push(
      writer.packet({
        linkType,
        interfaceId: isEthernet ? 0 : 1,
        interfaceName: isEthernet ? "eth0" : "can0",
        packetComment: null,
        time,
        originalLength: bytes.length,
        bytes,
      }),
    );
    if (parts.length === PACKETS_PER_WRITE || i === packets) {
      writeSync(out, Buffer.concat(parts));
      parts = [];
    }
  }
  closeSync(out);
  renameSync(`${file}.unfinished`, file);
}

function trafficMix(mix: Mix, isPcapng: boolean): TrafficMix {
  if (mix === "ethernet") return ethernetMix;
  return isPcapng ? vehicleMix : { ...vehicleMix, can: 0 };
}
