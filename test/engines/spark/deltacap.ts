/**
 * Deltacap as a process beside other engines: takes commands, one JSON object a line, and answers each with one line. The use
 * cases on a local table, as the command line runs them, without its start.
 *
 *     {"ingest": TABLE, "vehicle": "v1", "name": "a", "day": "2026-01-02", "packets": 60, "untimed": 0}
 *         makes that capture, its first packets perhaps without a time, and ingests it
 *     {"hold": TABLE}   starts a committer that does all further commits to the table: it knows the log as of its last commit
 *     {"create": TABLE, "columns": 60}   an older table, without the columns beyond
 *     {"run": ["optimize", TABLE]}       any command of the command line
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { PcapngWriter } from "@deltacap/capture";
import { TableRefusedError } from "@deltacap/delta";
import { main } from "../../../cli/deltacap.ts";
import { localTable } from "../../../cli/tables/local-table.ts";
import { Interruption } from "../../../cli/terminal/interruption.ts";
import { createTableBody } from "../../../src/commit/commit-body.ts";
import type { Committer } from "../../../src/commit/commit-manifests.ts";
import { convertCaptures } from "../../../src/ingest/convert-captures.ts";
import { KeyPattern } from "../../../src/ingest/key-pattern.ts";
import { fileSource } from "../../../src/local/file-capture-store.ts";
import { packetTable } from "../../../src/packets/packet-table.ts";
import { converterDefaults, defaultKeyPattern } from "../../../src/settings.ts";
import { LINKTYPE_ETHERNET, Traffic, vehicleMix } from "../../support/captures/traffic.ts";

interface Ingest {
  readonly ingest: string;
  readonly vehicle: string;
  readonly name: string;
  readonly day: string;
  readonly packets: number;
  readonly untimed: number;
}

type Order =
  | Ingest
  | { readonly hold: string }
  | { readonly create: string; readonly columns: number }
  | { readonly run: readonly string[] };

const held = new Map<string, Committer>();

async function obey(order: Order): Promise<object> {
  if ("ingest" in order) return await ingest(order);
  if ("hold" in order) return await hold(order.hold);
  if ("create" in order) return await create(order.create, order.columns);
  let text = "";
  const out = (part: string) => {
    text += part;
  };
  const terminal = {
    out,
    err: out,
    draw: out,
    interactive: false,
    columns: null,
    drained: async () => {},
    interruption: new Interruption(),
  };
  return { exit: await main(order.run, terminal), text };
}

async function ingest(order: Ingest): Promise<object> {
  const { path, content } = makeCapture(order);
  const table = localTable(order.ingest);
  const committer = held.get(order.ingest) ?? (await table.committer([]));
  const conflictsBefore = committer.conflicts;
  const key = `${order.vehicle}/${order.name}.pcapng`;
  const source = await fileSource({ path, key, size: content.bytes }, new KeyPattern(defaultKeyPattern));
  const { manifest } = await convertCaptures([source], table.converter, converterDefaults);
  if (manifest === null) return { outcome: "failed", reason: "the capture gave no manifest" };
  const [result] = await committer.commit([manifest]);
  if (result?.outcome !== "committed") return { outcome: "failed", reason: JSON.stringify(result) };
  const conflicts = committer.conflicts - conflictsBefore;
  return { outcome: "committed", version: result.version, conflicts, content };
}

async function hold(table: string): Promise<object> {
  const committer = await localTable(table).committer([]);
  held.set(table, committer);
  return { outcome: "held", version: committer.version };
}

/** Beside the table; the same traffic for the same name. `content`: what others must read from the table. */
function makeCapture({ ingest: table, vehicle, name, day, packets, untimed }: Ingest) {
  const path = join(`${table}-captures`, vehicle, `${name}.pcapng`);
  const seed = [...name].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) | 0, 7);
  const traffic = new Traffic(seed, vehicleMix);
  const writer = new PcapngWriter();
  const midnight = Date.parse(`${day}T00:00:00Z`) / 1000;
  const content = { rows: packets, bytes: 0, can_rows: 0, lengths: [] as number[] };
  const parts: Uint8Array[] = [];
  for (let i = 0; i < packets; i++) {
    const { linkType, bytes } = traffic.next();
    const isEthernet = linkType === LINKTYPE_ETHERNET;
    content.bytes += bytes.length;
    content.lengths.push(bytes.length);
    if (!isEthernet) content.can_rows++;
    parts.push(
      writer.packet({
        linkType,
        interfaceId: isEthernet ? 0 : 1,
        interfaceName: isEthernet ? "eth0" : "can0",
        packetComment: null,
        time: i < untimed && isEthernet ? null : { seconds: midnight + i, nanoseconds: 123_456_789 },
        originalLength: bytes.length,
        bytes,
      }),
    );
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Buffer.concat(parts));
  return { path, content };
}

async function create(folder: string, columns: number): Promise<object> {
  const schema = { ...packetTable, columns: packetTable.columns.slice(0, columns) };
  const identity = { txnId: "create", timestamp: Date.now(), engineInfo: "deltacap/older" };
  return { outcome: await localTable(folder).log.commit(0, createTableBody(schema, "older", identity)) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await obey(JSON.parse(line) as Order).catch((error: unknown) => ({
    outcome: error instanceof TableRefusedError ? "refused" : "failed",
    reason: error instanceof Error ? error.message : String(error),
  }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
