import type { Frame } from "@deltacap/capture";
import { CaptureReader, decodeStatusNames, PacketDecoder, readInto } from "@deltacap/capture";
import type { ObjectStore } from "@deltacap/delta";
import { DataFileReader, readAhead, UnreadableFileError } from "@deltacap/delta";
import { translated } from "@deltacap/delta/folder";
import { fileChunks } from "../../src/local/file-chunks.ts";
import { nodeDecompressors } from "../../src/node/compression.ts";
import { converterDefaults } from "../../src/settings.ts";
import { type LiveFile, readableFiles } from "../tables/live-files.ts";
import { isS3, readableTable } from "../tables/readable-table.ts";
import { type Command, ExitCode, onlyPositional } from "../terminal/command.ts";
import { statOf } from "../terminal/paths.ts";
import { oneLine } from "../terminal/printable.ts";
import { count, megabytes } from "../terminal/progress.ts";

/** The command `inspect`. */
export const inspect: Command = {
  name: "inspect",
  summary: "what is in a capture, or in a table",
  help: `Usage: deltacap inspect FILE|TABLE [--json]

For a capture: its formats, interfaces, packets, times, how its packets decode, and where it is damaged. For a table: its
version, files, rows, bytes and dates. A table is a folder; either may be an s3:// URI.

  --json    one JSON object
`,
  options: { json: { type: "boolean" } },
  run: async (positionals, options, terminal) => {
    const path = onlyPositional(positionals, "FILE or TABLE");
    const chunks = await captureChunks(path);
    const facts = chunks === null ? await inspectTable(path) : await inspectCapture(path, chunks);
    if (options.json === true) terminal.out(`${JSON.stringify(facts)}\n`);
    else for (const [name, value] of Object.entries(facts)) terminal.out(`${line(name, value)}\n`);
    return "end" in facts && facts.end !== "complete" ? ExitCode.captures : ExitCode.ok;
  },
};

/** Null for what is a table, if it is anything. */
async function captureChunks(path: string): Promise<AsyncIterable<Uint8Array> | null> {
  if (!isS3(path)) return (await statOf(path)).isDirectory() ? null : readable(fileChunks(path), path);
  // Only here: loading AWS's clients takes some 0.1 s.
  const { s3Capture } = await import("../stack/s3-capture.ts");
  return await s3Capture(path);
}

async function* readable(chunks: AsyncIterable<Uint8Array>, path: string): AsyncIterable<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    throw translated(error, `cannot read ${path}`);
  }
}

function line(name: string, value: unknown): string {
  const label = name.replaceAll("_", " ").padEnd(14);
  if (Array.isArray(value) && value.length > 0)
    return value.map((item, i) => (i === 0 ? label : " ".repeat(14)) + text(item)).join("\n");
  return label + text(value);
}

function text(value: unknown): string {
  if (typeof value === "number") return count(value);
  if (Array.isArray(value)) return "none";
  return oneLine(typeof value === "string" ? value : JSON.stringify(value));
}

async function inspectTable(table: string) {
  const { log, snapshot, store } = await readableTable(table);
  const files = await readableFiles(log);
  const dates = [...new Set(files.flatMap((file) => file.partitionValues.date ?? []))].sort();
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  const deleted = files.reduce((sum, file) => sum + file.deletedRows, 0);
  return {
    table: snapshot.metadata.name ?? "unnamed",
    id: snapshot.metadata.id,
    version: snapshot.version,
    protocol: `reader ${snapshot.protocol.minReaderVersion}, writer ${snapshot.protocol.minWriterVersion}`,
    files: files.length,
    rows: await rowsOf(files, store),
    ...(deleted === 0 ? {} : { deleted_rows: deleted }),
    size: megabytes(bytes),
    dates: dates.length === 0 ? "none" : `${dates.length}, from ${dates[0]} to ${dates.at(-1)}`,
  };
}

/** Files whose footers are read at once. */
const READ_AHEAD = 16;

/** Rows that the log does not say are counted from the files' footers; "unknown" where one of these cannot be read. */
async function rowsOf(files: readonly LiveFile[], store: ObjectStore): Promise<number | "unknown"> {
  const count = async ({ rows, add }: LiveFile) => rows ?? (await DataFileReader.open(store, add, [])).rows;
  let sum = 0;
  try {
    for await (const rows of readAhead(files, READ_AHEAD, count)) sum += rows;
  } catch (error) {
    if (error instanceof UnreadableFileError) return "unknown";
    throw error;
  }
  return sum;
}

async function inspectCapture(path: string, chunks: AsyncIterable<Uint8Array>) {
  const statuses = new Map<string, number>();
  const times = new TimeRange();
  const decoder = new PacketDecoder((record) => {
    const name = decodeStatusNames[record.decodeStatus] ?? "unknown";
    statuses.set(name, (statuses.get(name) ?? 0) + 1);
  }, converterDefaults.ports);
  const reader = new CaptureReader((frame) => {
    times.add(frame);
    decoder.decode(frame);
  });
  const end = await readInto(reader, chunks, nodeDecompressors, converterDefaults);
  const { summary } = reader;
  return {
    capture: path,
    end: end.kind,
    ...(end.kind === "complete" ? {} : { at_byte: end.offset, reason: end.reason }),
    formats: [...summary.formats],
    interfaces: summary.interfaces.map(
      (on) =>
        `link type ${on.linkType}${on.name === null ? "" : `, ${on.name}`}${on.sectionNumber === null ? "" : `, interface ${on.interfaceId} of section ${on.sectionNumber}`}`,
    ),
    packets: end.kind === "rejected" ? 0 : end.packets,
    first: times.first ?? "none",
    last: times.last ?? "none",
    decoding: Object.fromEntries(statuses),
  };
}

/** Earliest and latest packet. */
class TimeRange {
  #first: Time | null = null;
  #last: Time | null = null;

  get first(): string | null {
    return this.#first === null ? null : timeText(this.#first);
  }

  get last(): string | null {
    return this.#last === null ? null : timeText(this.#last);
  }

  add(frame: Frame): void {
    if (!frame.hasTime) return;
    if (this.#first === null || isBefore(frame, this.#first)) this.#first = timeOf(frame);
    if (this.#last === null || isBefore(this.#last, frame)) this.#last = timeOf(frame);
  }
}

type Time = Pick<Frame, "seconds" | "nanoseconds">;

function timeOf({ seconds, nanoseconds }: Frame): Time {
  return { seconds, nanoseconds };
}

function isBefore(a: Time, b: Time): boolean {
  return a.seconds < b.seconds || (a.seconds === b.seconds && a.nanoseconds < b.nanoseconds);
}

function timeText(frame: Time): string {
  const second = new Date(frame.seconds * 1000).toISOString().slice(0, 19);
  return `${second}.${String(frame.nanoseconds).padStart(9, "0")}Z`;
}
