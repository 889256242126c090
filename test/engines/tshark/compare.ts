import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Fields, type JudgedColumn, judgedColumns } from "./judged-columns.ts";
import { captureBytes, type VehicleCapture, vehicleCaptures } from "./vehicle-captures.ts";

const COMMAND_LINE = "dist/cli/main.js";
/** tshark has no port for SOME/IP unless it is told one, and no dissector for ASAM CMP before 4.2: it takes it for TECMP. */
const TSHARK_OPTIONS = ["-n", "-o", "someip.ports.udp:30490"];
const UNKNOWN_TO_TSHARK = ["asam-cmp.pcapng"];
const columnsOfUnknown = ["ts, ts_nanos", "original_length", "eth_src", "eth_dst", "eth_type"];

/** Rows of one packet, its own first: the values of each judged column. */
type PacketRows = readonly (readonly (string | null)[])[];

/**
 * `tsx compare.ts FOLDER`: writes the captures that are made in code into the folder, ingests them with the built command line,
 * and holds every row against what tshark says of the same packet. Exit 1 where they differ.
 */
function main(folder: string): number {
  const captures = join(folder, "captures");
  mkdirSync(captures, { recursive: true });
  for (const capture of vehicleCaptures) writeFileSync(join(captures, capture.name), captureBytes(capture));
  const table = join(folder, "table");
  execFileSync("node", [COMMAND_LINE, "ingest", captures, "--table", table], { stdio: "inherit" });
  const problems: string[] = [];
  const counts = new Map<string, number>();
  for (const capture of vehicleCaptures) {
    const rows = rowsOf(table, capture);
    const frames = framesOf(join(captures, capture.name));
    if (rows.length !== capture.packets.length || frames.length !== rows.length) {
      problems.push(
        `${capture.name}: ${capture.packets.length} packets, ${rows.length} in the table, ${frames.length} in tshark`,
      );
    }
    for (const [i, fields] of frames.entries()) judge(capture, i, fields, rows[i] ?? [], counts, problems);
  }
  for (const { column } of judgedColumns) {
    if (!counts.has(column)) problems.push(`${column}: nothing was compared`);
  }
  for (const problem of problems) console.log(problem);
  const equal = [...counts.values()].reduce((sum, count) => sum + count, 0);
  console.log(
    `note: ${equal} values of ${vehicleCaptures.length} captures made in code, ${judgedColumns.length} columns, equal to those of ${tsharkVersion()}; ASAM CMP, which it does not know, by its Ethernet header; ${problems.length} problems`,
  );
  return problems.length === 0 ? 0 : 1;
}

function judge(
  capture: VehicleCapture,
  index: number,
  fields: Fields,
  rows: PacketRows,
  counts: Map<string, number>,
  problems: string[],
): void {
  const isUnknown = UNKNOWN_TO_TSHARK.includes(capture.name);
  for (const [i, judged] of judgedColumns.entries()) {
    if (isUnknown && !columnsOfUnknown.includes(judged.column)) continue;
    const expected = isUnknown ? judged.values(fields).slice(0, 1) : judged.values(fields);
    const values = rows.map((row) => row[i] ?? null).filter((value) => value !== null);
    const got = isUnknown ? values.slice(0, 1) : values;
    if (got.join() === expected.join()) {
      if (got.length > 0) counts.set(judged.column, (counts.get(judged.column) ?? 0) + got.length);
    } else
      problems.push(
        `${capture.name} packet ${index + 1}, ${judged.column}: tshark has [${expected}], the table [${got}]`,
      );
  }
}

/** The table's rows of a capture by packet, through the command line's own SQL. */
function rowsOf(table: string, { name }: VehicleCapture): PacketRows[] {
  const values = judgedColumns.map((judged, i) => `(${expressionOf(judged)})::VARCHAR AS c${i}`);
  const query = `SELECT packet_number, ${values.join(", ")} FROM packets WHERE capture LIKE '%/${name}' ORDER BY packet_number, record_number NULLS FIRST`;
  const text = execFileSync("node", [COMMAND_LINE, "sql", table, query, "--json"], { encoding: "utf8" });
  const packets: (string | null)[][][] = [];
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const { packet_number, ...columns } = JSON.parse(line) as Record<string, string | null>;
    const rows = packets[Number(packet_number) - 1] ?? [];
    packets[Number(packet_number) - 1] = rows;
    rows.push(Object.values(columns));
  }
  return packets;
}

function expressionOf({ column, expression }: JudgedColumn): string {
  return expression ?? column;
}

function framesOf(file: string): Fields[] {
  const names = [...new Set(judgedColumns.flatMap((judged) => judged.fields))];
  const options = ["-r", file, "-T", "json", ...names.flatMap((name) => ["-e", name])];
  const text = execFileSync("tshark", [...TSHARK_OPTIONS, ...options], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const frames = JSON.parse(text) as { readonly _source: { readonly layers: Fields } }[];
  return frames.map((frame) => frame._source.layers);
}

function tsharkVersion(): string {
  const text = execFileSync("tshark", ["--version"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return `tshark ${/\d+\.\d+\.\d+/.exec(text)?.[0] ?? "of unknown version"}`;
}

process.exitCode = main(process.argv[2] ?? "");
