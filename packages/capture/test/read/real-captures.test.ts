import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { readPackets } from "../../../../test/support/captures/read-packets.ts";

const folder = resolve(process.env.DELTACAP_CAPTURES ?? "../shared/captures");
const statusFile = join(folder, "oracle/STATUS.tsv");
const isThere = existsSync(statusFile);

interface Exception {
  readonly capture: string;
  readonly packets: number;
  readonly why: string;
}

/** Captures of which tshark counts other packets than we do. */
const exceptions: readonly Exception[] = [
  ...["be", "le"].flatMap((order) => [
    {
      capture: `pcapngtest__${order}-test017.pcapng`,
      packets: 0,
      why: "tshark counts custom blocks as frames",
    },
    {
      capture: `pcapngtest__${order}-test102.pcapng`,
      packets: 5,
      why: "tshark counts custom blocks as frames",
    },
    {
      capture: `pcapngtest__${order}-test202.pcapng`,
      packets: 8,
      why: "tshark counts custom blocks as frames",
    },
  ]),
  { capture: "tcpdump__brcm-tag-prepend.pcap", packets: 15, why: "tshark refuses link type 282 in pcap" },
  { capture: "tcpdump__dsa.pcap", packets: 8, why: "tshark refuses link type 284 in pcap" },
  {
    capture: "tcpdump__bgp_vpn_rt-oobr.pcap",
    packets: 1,
    why: "tshark takes a tail of zeros for 37 packets without a byte",
  },
  {
    capture: "tcpdump__hoobr_juniper3.pcap",
    packets: 1,
    why: "tshark refuses its link type field 0x30000084",
  },
  {
    capture: "suricata__fuzz.pcap",
    packets: 1,
    why: "its second record is damaged, so tshark guesses 24-byte record headers and reads nonsense in the year 1925",
  },
];

interface Status {
  readonly capture: string;
  readonly exit: string;
  readonly packets: number;
}

function oracle(): Status[] {
  const lines = readFileSync(statusFile, "utf8").trim().split("\n").slice(1);
  return lines.map((line) => {
    const [capture = "", exit = "", packets = ""] = line.split("\t");
    return { capture, exit, packets: Number(packets) };
  });
}

describe.skipIf(!isThere)(`captures of other projects${isThere ? "" : `: not in ${folder}`}`, () => {
  const statuses = isThere ? oracle() : [];
  const read = (capture: string) => new Uint8Array(readFileSync(join(folder, "files", capture)));

  test("every capture has a status", () => {
    expect(statuses.map(({ capture }) => capture).sort()).toEqual(readdirSync(join(folder, "files")).sort());
  });

  test.each(statuses)(
    "$capture has tshark's $packets packets, or is a listed exception",
    ({ capture, exit, packets }) => {
      const { end, packets: found } = readPackets(read(capture));
      const exception = exceptions.find((each) => each.capture === capture);
      if (exception !== undefined) {
        expect(packets, `exception no longer occurs: ${exception.why}`).not.toBe(exception.packets);
      }
      expect(found.length).toBe(exception?.packets ?? packets);
      if (exception === undefined) expect(end.kind === "complete").toBe(exit === "0");
      if (end.kind !== "rejected") expect(end.packets).toBe(found.length);
    },
  );

  test("every exception is of a capture that is there", () => {
    const names = new Set(statuses.map(({ capture }) => capture));
    expect(exceptions.filter(({ capture }) => !names.has(capture))).toEqual([]);
  });

  test.each(statuses)("$capture gives the same packets in chunks of 1 and of 4093 bytes", ({ capture }) => {
    const bytes = read(capture);
    const whole = readPackets(bytes);
    for (const length of [1, 4093]) {
      const chunked = readPackets(bytes, length);
      expect(chunked.end).toEqual(whole.end);
      // One comparison: 100,000 of them would take longer than reading.
      expect(digest(chunked.packets)).toBe(digest(whole.packets));
      expect(chunked.reader.copiedBytes).toBeLessThanOrEqual(3 * bytes.length);
    }
  });
});

function digest(packets: readonly object[]): string {
  return JSON.stringify(packets, (_key, value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value,
  );
}
