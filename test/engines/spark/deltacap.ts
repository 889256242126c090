/**
 * Deltacap as a process beside other engines: takes commands, one JSON object a line, and answers each with one line. The two
 * use cases on a local table, as the command line runs them, without its start.
 *
 *     {"table": DIR, "vehicle": "v1", "name": "a", "day": "2026-01-02", "packets": 100}   makes that capture, and ingests it
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { localTable } from "../../../cli/local-table.ts";
import { PcapngWriter } from "../../../src/capture/capture-writer.ts";
import { convertCaptures } from "../../../src/convert-captures.ts";
import { TableRefusedError } from "../../../src/errors.ts";
import { fileSource } from "../../../src/local/file-capture-store.ts";
import { KeyPattern } from "../../../src/manifest/key-pattern.ts";
import { converterDefaults, defaultKeyPattern } from "../../../src/settings.ts";
import { LINKTYPE_ETHERNET, Traffic, vehicleMix } from "../../support/traffic.ts";

interface Order {
  readonly table: string;
  readonly vehicle: string;
  readonly name: string;
  readonly day: string;
  readonly packets: number;
}

/** What the capture holds, by those who made it: others must read the same from the table. */
interface Content {
  readonly rows: number;
  readonly bytes: number;
  readonly can_rows: number;
}

type Answer =
  | { outcome: "committed"; version: number; content: Content }
  | { outcome: "refused" | "failed"; reason: string };

async function ingest(order: Order): Promise<Answer> {
  const { path, content } = makeCapture(order);
  const table = localTable(order.table);
  try {
    const committer = await table.committer([]);
    const key = `${order.vehicle}/${order.name}.pcapng`;
    const source = await fileSource({ path, key, size: content.bytes }, new KeyPattern(defaultKeyPattern));
    const { manifest } = await convertCaptures([source], table.converter, converterDefaults);
    if (manifest === null) return { outcome: "failed", reason: "the capture gave no manifest" };
    const [result] = await committer.commit([manifest]);
    if (result?.outcome !== "committed") return { outcome: "failed", reason: JSON.stringify(result) };
    return { outcome: "committed", version: result.version, content };
  } catch (error) {
    const outcome = error instanceof TableRefusedError ? "refused" : "failed";
    return { outcome, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Beside the table; the same traffic for the same name. */
function makeCapture({ table, vehicle, name, day, packets }: Order): { path: string; content: Content } {
  const path = join(`${table}-captures`, vehicle, `${name}.pcapng`);
  const traffic = new Traffic(
    [...name].reduce((seed, char) => seed * 31 + char.charCodeAt(0), 7),
    vehicleMix,
  );
  const writer = new PcapngWriter();
  const seconds = Date.parse(`${day}T00:00:00Z`) / 1000;
  const content = { rows: packets, bytes: 0, can_rows: 0 };
  const parts: Uint8Array[] = [];
  for (let i = 0; i < packets; i++) {
    const { linkType, bytes } = traffic.next();
    const isEthernet = linkType === LINKTYPE_ETHERNET;
    content.bytes += bytes.length;
    if (!isEthernet) content.can_rows++;
    parts.push(
      writer.packet({
        linkType,
        interfaceId: isEthernet ? 0 : 1,
        interfaceName: isEthernet ? "eth0" : "can0",
        packetComment: null,
        time: { seconds: seconds + i, nanoseconds: 123_456_789 },
        originalLength: bytes.length,
        bytes,
      }),
    );
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Buffer.concat(parts));
  return { path, content };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await ingest(JSON.parse(line) as Order))}\n`);
}
