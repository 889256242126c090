import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type CaptureWriter,
  type InterfaceToWrite,
  type PacketToWrite,
  PcapngWriter,
  PcapWriter,
  UnwritableError,
} from "@deltacap/capture";
import { TableRefusedError } from "@deltacap/delta";
import type { DuckDBConnection } from "@duckdb/node-api";
import { identityProblem } from "../../src/commit/table-identity.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import { openingFailed } from "../duckdb/duckdb-errors.ts";
import { quoted } from "../duckdb/duckdb-types.ts";
import { downloadHelp, downloadOptions, downloadSettings } from "../tables/download.ts";
import { openPackets, type ReadableTable, readableTable } from "../tables/readable-table.ts";
import { type Command, ExitCode, onlyPositional, required, UsageError } from "../terminal/command.ts";
import type { Interruption } from "../terminal/interruption.ts";
import { writeOutput } from "../terminal/output-file.ts";
import { count } from "../terminal/progress.ts";

/** The command `export`. */
export const exportCapture: Command = {
  name: "export",
  writes: true,
  summary: "a capture, written again from the table's rows",
  help: `Usage: deltacap export TABLE --capture URI -o OUT.pcap|OUT.pcapng [--source ID] [--max-download MB]

Writes the packets of one capture as they were: bytes, order, lengths, link types, interfaces, comments, times to the
nanosecond. Other options and blocks of the original are not in the table. TABLE is a
folder or an s3:// URI; of a table on S3, files that may have rows of the capture are copied to this machine first.

  --capture URI      the capture, as the table's column says: a file path will do for a file:// URL
  --source ID        its source_id, where the same capture was ingested with several contents
  -o, --output OUT   a name that ends in .pcap (one link type, times from 1970 to 2106) or .pcapng
${downloadHelp}
`,
  options: {
    ...downloadOptions,
    capture: { type: "string" },
    source: { type: "string" },
    output: { type: "string", short: "o" },
  },
  run: async (positionals, options, terminal) => {
    const table = await readableTable(onlyPositional(positionals, "TABLE"));
    requirePackets(table);
    const capture = captureUri(required(options, "capture", "URI"));
    const output = resolve(required(options, "output", "OUT.pcap or OUT.pcapng"));
    const format = captureFormat(output);
    const download = downloadSettings(options, terminal);
    const { connection, close } = await openPackets(table, { ...download, capture }).catch((error) => {
      throw openingFailed(error);
    });
    try {
      const source = await sourceOf(connection, capture, options.source as string | undefined);
      const writer =
        format === ".pcap" ? new PcapWriter() : new PcapngWriter(await interfacesOf(connection, source));
      const packets = await writeCapture(connection, source, output, writer, terminal.interruption);
      terminal.out(`${output}: ${count(packets)} packets\n`);
      return ExitCode.ok;
    } catch (error) {
      throw openingFailed(error);
    } finally {
      await close();
    }
  },
};

/** Captures can only be written from the columns of a packets table. */
function requirePackets({ snapshot }: ReadableTable): void {
  const problem = identityProblem(snapshot.metadata, packetTable);
  if (problem === null) return;
  throw new TableRefusedError(
    `the table is not a packets table: ${problem}. "deltacap sql" reads any Delta table`,
  );
}

function captureUri(text: string): string {
  return /^[a-z0-9]+:\/\//.test(text) ? text : pathToFileURL(resolve(text)).href;
}

function captureFormat(output: string): ".pcap" | ".pcapng" {
  const extension = extname(output);
  if (extension === ".pcap" || extension === ".pcapng") return extension;
  throw new UsageError(`${output}: the name must end in .pcap or .pcapng`);
}

async function sourceOf(connection: DuckDBConnection, capture: string, chosen?: string): Promise<string> {
  const found = await connection.runAndReadAll(
    `SELECT DISTINCT source_id FROM packets WHERE capture = ${quoted(capture)} ORDER BY 1`,
  );
  const ids = found.getRowsJson().map(([id]) => String(id));
  if (chosen !== undefined) {
    if (ids.includes(chosen)) return chosen;
    throw new UsageError(
      `${capture} has no source ${chosen} in the table: ${ids.join(", ") || "it has none"}`,
    );
  }
  const [id, ...others] = ids;
  if (id === undefined) {
    throw new UsageError(
      `the table has no packets of ${capture}: "select distinct capture from packets" lists what it has`,
    );
  }
  if (others.length > 0)
    throw new UsageError(
      `${capture} was ingested with several contents: choose one with --source: ${ids.join(", ")}`,
    );
  return id;
}

/** What is known of the capture's interfaces before its packets are written. */
async function interfacesOf(connection: DuckDBConnection, source: string): Promise<InterfaceToWrite[]> {
  const found = await connection.runAndReadAll(
    `SELECT section_number, interface_id, link_type, interface_name, epoch_us(min(ts))::VARCHAR, epoch_us(max(ts))::VARCHAR,
       coalesce(bool_or(ts_nanos > 0), false), bool_or(ts IS NULL),
       coalesce(min(captured_length) FILTER (ts IS NULL AND captured_length < original_length AND captured_length % 4 > 0), 0)::DOUBLE
     FROM packets WHERE source_id = ${quoted(source)} AND record_number IS NULL GROUP BY ALL`,
  );
  return found.getRows().map((row): InterfaceToWrite => {
    const [sectionNumber, interfaceId, linkType, interfaceName, first, last, nanos, untimed, snapLength] =
      row;
    const second = (micros: unknown) =>
      micros === null ? null : timeOf(BigInt(micros as string), 0).seconds;
    return {
      sectionNumber: (sectionNumber as number | null) ?? -1,
      interfaceId: (interfaceId as number | null) ?? -1,
      linkType: linkType as number,
      interfaceName: interfaceName as string | null,
      firstSecond: second(first),
      lastSecond: second(last),
      hasNanoseconds: nanos as boolean,
      hasUntimed: untimed as boolean,
      snapLength: snapLength as number,
    };
  });
}

async function writeCapture(
  connection: DuckDBConnection,
  source: string,
  output: string,
  writer: CaptureWriter,
  interruption: Interruption,
): Promise<number> {
  return await writeOutput(output, null, interruption, async (append) => {
    let packets = 0;
    const rows = await connection.stream(
      `SELECT link_type, section_number, interface_id, interface_name, packet_comment, epoch_us(ts)::VARCHAR, ts_nanos,
         original_length::DOUBLE, frame
       FROM packets WHERE source_id = ${quoted(source)} AND record_number IS NULL ORDER BY packet_number`,
    );
    for await (const chunk of rows) {
      const bytes = chunk.getRows().map((row) => written(writer, packetOf(row)));
      packets += bytes.length;
      await append(Buffer.concat(bytes));
    }
    return packets;
  });
}

function written(writer: CaptureWriter, packet: PacketToWrite): Uint8Array {
  try {
    return writer.packet(packet);
  } catch (error) {
    if (error instanceof UnwritableError) throw new UsageError(error.message);
    throw error;
  }
}

function packetOf(row: readonly unknown[]): PacketToWrite {
  const [
    linkType,
    sectionNumber,
    interfaceId,
    interfaceName,
    packetComment,
    micros,
    nanos,
    originalLength,
    frame,
  ] = row;
  return {
    linkType: linkType as number,
    sectionNumber: (sectionNumber as number | null) ?? -1,
    interfaceId: (interfaceId as number | null) ?? -1,
    interfaceName: interfaceName as string | null,
    packetComment: packetComment as string | null,
    time: micros === null ? null : timeOf(BigInt(micros as string), nanos as number),
    originalLength: originalLength as number,
    bytes: (frame as { bytes: Uint8Array }).bytes,
  };
}

function timeOf(micros: bigint, nanos: number): { seconds: number; nanoseconds: number } {
  const rest = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  return { seconds: Number((micros - rest) / 1_000_000n), nanoseconds: Number(rest) * 1000 + nanos };
}
