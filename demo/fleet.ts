import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { type CaptureWriter, PcapngWriter, PcapWriter } from "@deltacap/capture";
import {
  ethernetMix,
  LINKTYPE_CAN_SOCKETCAN,
  LINKTYPE_ETHERNET,
  Traffic,
  type TrafficMix,
  vehicleMix,
} from "../test/support/captures/traffic.ts";

const withoutCan: TrafficMix = { ...vehicleMix, can: 0 };

/**
 * Writes the captures that three vehicles might upload in a morning: both formats, plain and gzip, one cut in the middle
 * of a packet, one that is no capture, and one that a gateway uploaded twice (the same object announced again: here, named
 * twice on the command line). Returns what to ingest, relative to `folder`.
 */
export function writeFleet(folder: string, seed: number): { paths: string[]; uploadedTwice: string } {
  const captures: [path: string, bytes: Uint8Array][] = [
    ["car-0001/2026-03-01/eth-0800.pcap", capture(new PcapWriter(), seed + 1, withoutCan, 4000)],
    ["car-0001/2026-03-01/all-0805.pcapng", capture(new PcapngWriter(), seed + 2, vehicleMix, 6000)],
    [
      "car-0042/2026-03-01/eth-0800.pcap.gz",
      gzipSync(capture(new PcapWriter(), seed + 3, ethernetMix, 3000)),
    ],
    ["car-0042/2026-03-01/all-0810.pcapng", capture(new PcapngWriter(), seed + 4, vehicleMix, 5000)],
    [
      "van-0007/2026-03-01/eth-2359.pcapng",
      capture(new PcapngWriter(), seed + 5, withoutCan, 4000, MIDNIGHT),
    ],
    ["van-0007/2026-03-01/notes.txt", new TextEncoder().encode("gateway restarted at 08:12, see ticket\n")],
  ];
  const whole = capture(new PcapWriter(), seed + 6, withoutCan, 2000);
  captures.push(["van-0007/2026-03-01/power-loss.pcap", whole.subarray(0, Math.floor(whole.length * 0.6))]);
  for (const [path, bytes] of captures) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
  return { paths: captures.map(([path]) => path), uploadedTwice: "car-0001/2026-03-01/eth-0800.pcap" };
}

const MORNING = Date.UTC(2026, 2, 1, 8) / 1000;
const MIDNIGHT = Date.UTC(2026, 2, 1, 23, 59, 59) / 1000;

function capture(
  writer: CaptureWriter,
  seed: number,
  mix: TrafficMix,
  packets: number,
  start = MORNING,
): Uint8Array {
  const traffic = new Traffic(seed, mix);
  const parts: Uint8Array[] = [];
  let seconds = start;
  // Late in its second, so that the capture that begins before midnight ends after it.
  let nanoseconds = 600_000_000;
  for (let i = 0; i < packets; i++) {
    const { linkType, bytes, gapNanoseconds } = traffic.next();
    nanoseconds += gapNanoseconds;
    seconds += Math.floor(nanoseconds / 1_000_000_000);
    nanoseconds %= 1_000_000_000;
    const can = linkType === LINKTYPE_CAN_SOCKETCAN;
    parts.push(
      writer.packet({
        linkType: can ? LINKTYPE_CAN_SOCKETCAN : LINKTYPE_ETHERNET,
        interfaceId: can ? 1 : 0,
        interfaceName: can ? "can0" : "eth0",
        packetComment: i === 0 && writer instanceof PcapngWriter ? "recording started" : null,
        time: { seconds, nanoseconds },
        originalLength: bytes.length,
        bytes,
      }),
    );
  }
  return Buffer.concat(parts);
}
