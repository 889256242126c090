import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { main } from "../cli/deltacap.ts";
import { processTerminal } from "../cli/terminal/process-terminal.ts";
import { writeFleet } from "./fleet.ts";

const SEED = 20_260_301;

/** `npm run demo`: a morning of a small fleet, or with paths the user's own captures, and what the table then answers. */
async function demo(own: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "deltacap-demo-"));
  const table = join(folder, "table");
  const captures = own.length > 0 ? own.map((path) => resolve(path)) : fleet(join(folder, "captures"));
  say(`Ingesting into ${table}\n`);
  const code = await deltacap("ingest", ...captures, "--table", table);
  if (code > 1) return code;

  say("\nPackets by vehicle and protocol:\n");
  await sql(
    table,
    `SELECT vehicle_id, ${PROTOCOL} AS protocol, count(*) AS packets, sum(original_length)::BIGINT AS bytes
    FROM packets GROUP BY ALL ORDER BY vehicle_id, packets DESC LIMIT 40`,
  );
  say("\nThe busiest talkers:\n");
  await sql(
    table,
    `SELECT ip_src, ip_dst, count(*) AS packets, sum(original_length)::BIGINT AS bytes FROM packets
    WHERE ip_src IS NOT NULL GROUP BY ALL ORDER BY bytes DESC, ip_src, ip_dst LIMIT 5`,
  );
  say("\nHow the packets decoded:\n");
  await sql(
    table,
    "SELECT decode_status, count(*) AS packets FROM packets GROUP BY ALL ORDER BY packets DESC",
  );
  say(
    "\nThe same captures again: every one is known, what is broken is named again, and there is no new version:\n",
  );
  await deltacap("ingest", ...captures, "--table", table);
  say("\nThe table's versions:\n");
  await deltacap("log", table);
  const shown = relative(process.cwd(), table).length < table.length ? relative(process.cwd(), table) : table;
  say(`\nAsk it yourself: npx tsx cli/main.ts sql ${shown} "select * exclude frame from packets limit 5"\n`);
  return 0;
}

const PROTOCOL = `CASE
    WHEN someip_service_id IS NOT NULL THEN 'SOME/IP' WHEN doip_payload_type IS NOT NULL THEN 'DoIP'
    WHEN ptp_message_type IS NOT NULL THEN 'PTP' WHEN can_id IS NOT NULL THEN 'CAN'
    WHEN arp_opcode IS NOT NULL THEN 'ARP' WHEN ip_protocol = 6 THEN 'TCP' WHEN ip_protocol = 17 THEN 'UDP'
    WHEN ip_protocol IN (1, 58) THEN 'ICMP' ELSE 'other' END`;

/** Writes the captures, and names one of them twice, as a gateway does that uploads again. */
function fleet(folder: string): string[] {
  const { uploadedTwice } = writeFleet(folder, SEED);
  say(`Seed ${SEED}: captures of three vehicles in ${folder}; ${uploadedTwice} comes twice\n`);
  return [folder, join(folder, uploadedTwice)];
}

async function sql(table: string, query: string): Promise<void> {
  await deltacap("sql", table, query);
}

async function deltacap(...args: string[]): Promise<number> {
  return await main(args, processTerminal);
}

function say(text: string): void {
  process.stdout.write(text);
}

process.exitCode = await demo(process.argv.slice(2));
