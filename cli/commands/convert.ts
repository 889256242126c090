import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { PacketDecoder, readCapture } from "@deltacap/capture";
import { RejectedError } from "../../src/errors.ts";
import { KeyPattern } from "../../src/ingest/key-pattern.ts";
import { FileCaptureStore, fileSource } from "../../src/local/file-capture-store.ts";
import { localSourceId } from "../../src/manifest/source-id.ts";
import { nodeDecompressors } from "../../src/node/compression.ts";
import { sha256 } from "../../src/node/hash.ts";
import { nodeParquetWriter } from "../../src/node/parquet.ts";
import { type CaptureColumns, PacketBatch } from "../../src/packets/packet-batch.ts";
import { fileColumns } from "../../src/packets/packet-table.ts";
import { converterDefaults, defaultKeyPattern } from "../../src/settings.ts";
import { type Command, ExitCode, onlyPositional, required, UsageError } from "../terminal/command.ts";
import { writeOutput } from "../terminal/output-file.ts";
import { statOf } from "../terminal/paths.ts";
import { count, megabytes } from "../terminal/progress.ts";

/** The command `convert`. */
export const convert: Command = {
  name: "convert",
  writes: true,
  summary: "one capture into one Parquet file",
  help: `Usage: deltacap convert FILE -o OUT.parquet

Writes the capture's packets as one Parquet file with the columns of the table (docs/table.md; without date, which is the
table's partition). A damaged capture gives the packets before the damage, and exit code 1.

  -o, --output OUT.parquet    the file to write; it is replaced if it exists
`,
  options: { output: { type: "string", short: "o" } },
  run: async (positionals, options, terminal) => {
    const path = resolve(onlyPositional(positionals, "FILE"));
    const output = resolve(required(options, "output", "OUT.parquet"));
    const source = await fileSource(
      { path, key: path, size: await fileSize(path) },
      new KeyPattern(defaultKeyPattern),
    );
    const columns = {
      capture: pathToFileURL(path).href,
      sourceId: localSourceId(source, sha256),
      vehicleId: null,
      ingestedMs: Date.now(),
    };
    const written = await writeOutput(output, path, terminal.interruption, (append) =>
      writeParquet(append, columns, new FileCaptureStore().open(source)),
    );
    if (written.damage !== null) {
      terminal.err(`damaged at byte ${written.damage.offset}: ${written.damage.reason}\n`);
    }
    terminal.out(`${output}: ${count(written.packets)} packets, ${megabytes(written.bytes)}\n`);
    return written.damage === null ? ExitCode.ok : ExitCode.captures;
  },
};

async function fileSize(path: string): Promise<number> {
  const found = await statOf(path);
  if (!found.isFile()) throw new UsageError(`${path} is no file, and it is read twice`);
  return found.size;
}

interface Written {
  readonly packets: number;
  readonly bytes: number;
  readonly damage: { readonly offset: number; readonly reason: string } | null;
}

async function writeParquet(
  append: (chunk: Uint8Array) => Promise<void>,
  capture: CaptureColumns,
  chunks: AsyncIterable<Uint8Array>,
): Promise<Written> {
  let bytes = 0;
  const writer = nodeParquetWriter(fileColumns, async (chunk) => {
    bytes += chunk.length;
    await append(chunk);
  });
  try {
    const batch = new PacketBatch(0);
    const decoder = new PacketDecoder((record) => batch.append(record, capture), converterDefaults.ports);
    const flush = async () => {
      await writer.write(batch.take(0, batch.rows));
      batch.clear();
    };
    const end = await readCapture(
      chunks,
      nodeDecompressors,
      (frame) => decoder.decode(frame),
      converterDefaults,
      async () => {
        if (batch.rows >= converterDefaults.rows || batch.bytes >= converterDefaults.frameBytes)
          await flush();
      },
    );
    if (end.kind === "rejected")
      throw new RejectedError(`rejected at byte ${end.offset}: ${end.reason}`, end.offset);
    if (end.packets === 0)
      throw new RejectedError("there is no packet in the capture, so no file was written");
    await flush();
    await writer.finish();
    return { packets: end.packets, bytes, damage: end.kind === "damaged" ? end : null };
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
