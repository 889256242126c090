import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { captureBytes, type VehicleCapture, vehicleCaptures } from "../engines/tshark/vehicle-captures.ts";
import { arp, data, ethernet, ipv4, tcp, udp } from "../support/captures/frame-builder.ts";
import { someip } from "../support/captures/vehicle-frame-builder.ts";
import { deltacap } from "../support/command-line.ts";

type Row = Readonly<Record<string, unknown>>;

const ip = (protocol: number, payload: Uint8Array) => ethernet(0x0800, ipv4({ protocol }, payload));
const fragment = (fragmentOffset: number, moreFragments: boolean, length: number) =>
  ethernet(0x0800, ipv4({ protocol: 17, id: 77, fragmentOffset, moreFragments }, data(length)));
const message = (method: number, session: number, messageType: number, returnCode = 0) =>
  ip(17, udp({}, someip({ service: 0x2222, method, session, messageType, returnCode })));

/** What the captures of vehicles' protocols lack and a query asks for. */
const others: VehicleCapture = {
  name: "others.pcap",
  linkType: 1,
  packets: [
    ethernet(0x0806, arp(1)),
    fragment(0, true, 1480),
    fragment(1480, false, 100),
    ip(6, tcp({ destination: 443, flags: 0x002 })),
    ip(6, tcp({ destination: 443, flags: 0x012 })),
    ip(6, tcp({ destination: 443, flags: 0x014 })),
    message(1, 1, 0),
    message(1, 1, 0x80),
    message(2, 2, 0),
    message(2, 2, 0x81, 5),
    message(3, 3, 0),
    ip(6, tcp({})).subarray(0, 40),
  ],
};

/** The document's queries by the line that says what they answer. */
const queries = new Map(
  [
    ...readFileSync("docs/table.md", "utf8").matchAll(
      /\n\n([^\n`]+(?:\n[^\n`]+)*):\n\n```sql\n([^`]+)\n```/g,
    ),
  ].map(([, what = "", sql = ""]) => [what, sql] as const),
);

let folder = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "deltacap-queries-"));
  const captures = join(folder, "captures");
  mkdirSync(join(captures, "car-1"), { recursive: true });
  for (const capture of [...vehicleCaptures, others]) {
    writeFileSync(join(captures, "car-1", capture.name), captureBytes(capture));
  }
  await output("ingest", captures, "--table", join(folder, "table"), "--jobs", "1");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function output(...argv: string[]): Promise<string> {
  const { code, out, err } = await deltacap(...argv);
  if (code !== 0) throw new Error(`deltacap ${argv.join(" ")} ended with ${code}: ${err}`);
  return out;
}

async function answer(what: string): Promise<Row[]> {
  const sql = queries.get(what);
  if (sql === undefined) throw new Error(`docs/table.md has no query "${what}"`);
  const text = await output("sql", join(folder, "table"), sql, "--json");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row);
}

/** Rows that the answer must contain, in order, by the columns given. */
const expected: Readonly<Record<string, readonly Row[]>> = {
  "Packets and bytes by vehicle and day, capture modules' records apart": [
    {
      date: "2023-11-14",
      vehicle_id: "car-1",
      packets: `${vehicleCaptures.reduce((sum, { packets }) => sum + packets.length, others.packets.length)}`,
    },
  ],
  "All notifications of SOME/IP service 0x1234": [{ someip_method_id: 0x8001, payload_length: 12 }],
  "SOME/IP requests that were answered with an error, or not at all": [
    { someip_service_id: 0x1234, someip_method_id: 1, someip_return_code: 9 },
    { someip_service_id: 0x2222, someip_method_id: 2, someip_return_code: 5 },
    { someip_service_id: 0x2222, someip_method_id: 3, someip_return_code: null },
  ],
  "SOME/IP service discovery": [{ ip_src: "fd00::1" }],
  "All negative UDS answers": [
    { vehicle_id: "car-1", doip_source_address: 0x1001, doip_target_address: 0x0e80 },
  ],
  "Which UDS service was refused, and why (the bytes behind the service)": [
    { refused_service: "22", response_code: "31" },
  ],
  "DoIP: who activated routing": [{ ip_src: "10.0.0.1", doip_source_address: 0x0e80 }],
  "Time between a PTP sync and its follow-up, in nanoseconds": [
    { ptp_sequence_id: 0xfffe, nanoseconds: "1000001" },
  ],
  "The busiest CAN identifiers, from CAN captures and from capture modules": [
    { can_id: "291", can_extended: false },
  ],
  "Every frame of one CAN identifier, with its data": [
    { module_interface_id: null, data: "0001020304050607" },
    { module_interface_id: "1", data: "0001020304050607" },
  ],
  "CAN error frames by bus": [
    { interface_name: null, errors: "2" },
    { module_device_id: 0x41, module_interface_id: "5", errors: "1" },
  ],
  "What each capture module recorded, and how far its clock is from the recorder's, in milliseconds": [
    { module_device_id: 0x41, link_type: 1, records: "1", milliseconds: "119" },
  ],
  "AVTP streams by sender": [
    { eth_src: "02:00:00:00:00:0a", vlan_id: null, packets: "3" },
    { vlan_id: 42, packets: "1" },
  ],
  "ARP: which addresses asked": [{ eth_src: "02:00:00:00:00:0a", requests: "1" }],
  "IP fragments, by the packet that they belong to": [{ ip_id: "77", fragments: "2", bytes: 1580 }],
  "TCP connections that were opened, and those that were reset": [{ dst_port: 443, opened: "1", reset: "1" }],
  "Packets that are damaged or that this table cannot read": [{ decode_status: "truncated", packets: "1" }],
  "The newest source of each capture, where captures were ingested while they grew": [
    { vehicle_id: "car-1" },
  ],
};

test("docs/table.md has the queries below, and no other", () => {
  expect([...queries.keys()]).toEqual(Object.keys(expected));
});

test.each(Object.entries(expected))("%s", async (what, wanted) => {
  const rows = await answer(what);
  let at = 0;
  for (const row of wanted) {
    const found = rows.findIndex(
      (each, i) => i >= at && Object.entries(row).every(([name, value]) => each[name] === value),
    );
    if (found < 0) expect(rows).toContainEqual(expect.objectContaining(row));
    at = found + 1;
  }
  expect(rows.length).toBeGreaterThanOrEqual(wanted.length);
});
