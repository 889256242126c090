import { mkdir, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { LogStore, ObjectStore } from "@deltacap/delta";
import {
  ConditionalLogStore,
  RetryableError,
  readAhead,
  readSnapshot,
  requireReadable,
  type Snapshot,
  TableRefusedError,
} from "@deltacap/delta";
import { translated } from "@deltacap/delta/folder";
import type { DuckDBConnection } from "@duckdb/node-api";
import { packetsOf } from "../duckdb/duckdb.ts";
import { regionExplained } from "../stack/region.ts";
import { UsageError } from "../terminal/command.ts";
import type { Interruption } from "../terminal/interruption.ts";
import { megabytes } from "../terminal/progress.ts";
import { readableFiles } from "./live-files.ts";
import { existingTable } from "./local-table.ts";

/** A table that a command only reads: in a folder, or on S3. */
export interface ReadableTable {
  readonly log: LogStore;
  readonly snapshot: Snapshot;
  /** The local folder with its files; null for a table on S3. */
  readonly folder: string | null;
  readonly store: ObjectStore;
}

/** Whether a command's argument names a table on S3. */
export function isS3(table: string): boolean {
  return /^s3[an]?:\/\//.test(table);
}

/**
 * The table in the folder, or at the `s3://` URI. A table on S3 is read as readers without DynamoDB read it: a newest commit that
 * its writer left unfinished is not seen. Throws `UsageError` when there is none.
 */
export async function readableTable(table: string): Promise<ReadableTable> {
  if (!isS3(table)) {
    const { log, snapshot, folder, ports } = await existingTable(table);
    return { log, snapshot, folder, store: ports.table };
  }
  // Only here: loading AWS's clients takes some 0.1 s.
  const { s3Store } = await import("./s3-table.ts");
  const store = s3Store(table);
  const log = new ConditionalLogStore(store);
  const snapshot = await readSnapshot(log).catch((error: unknown) => {
    throw regionExplained(error);
  });
  if (snapshot === null) throw new UsageError(`${table} is no Delta table: it has no _delta_log`);
  return { log, snapshot, folder: null, store };
}

/** What may be downloaded, and what is called meanwhile. */
export interface PacketsOptions {
  /** Only this capture's rows are needed: files that cannot have any may be left out. */
  readonly capture?: string;
  /** Bytes that may be copied from S3. */
  readonly mostBytes: number;
  readonly onBytes: (copied: number, all: number) => void;
  readonly interruption: Interruption;
}

/** Files that are copied at once, and bytes of one read. */
const PARALLEL = 8;
const READ_BYTES = 16 * 1024 * 1024;

/**
 * A DuckDB connection with the view `packets`: to be closed by `close`. DuckDB reads S3 only by an extension that it would
 * download: files on S3 are copied into a temporary folder, which `close` removes. Throws `UsageError` where they are too
 * many, `TableRefusedError` for a table whose rows would be read wrongly.
 */
export async function openPackets(
  table: ReadableTable,
  options: PacketsOptions,
): Promise<{ readonly connection: DuckDBConnection; close(): Promise<void> }> {
  const { log, store, snapshot } = table;
  requireReadable(snapshot.protocol, snapshot.metadata);
  const files = await readableFiles(log, options.capture);
  const adds = files.map(({ add }) => add);
  if (table.folder !== null) {
    return opened(await packetsOf(table.folder, adds, store, snapshot.metadata), options.interruption);
  }
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes > options.mostBytes) {
    throw new UsageError(
      `${files.length} files with ${megabytes(bytes)} would have to be copied, more than --max-download allows (${megabytes(options.mostBytes)}): raise it, or use Athena, Spark or DuckDB's delta extension, whose statements are outputs of the stack`,
    );
  }
  const folder = await mkdtemp(join(tmpdir(), "deltacap-"));
  const release = options.interruption.guard(() => rm(folder, { recursive: true, force: true }));
  const remove = async () => {
    await rm(folder, { recursive: true, force: true });
    release();
  };
  try {
    let copied = 0;
    const copy = (file: { path: string; size: number }) =>
      copyFile(store, folder, file, (length) => {
        copied += length;
        options.onBytes(copied, bytes);
      });
    for await (const _ of readAhead(files, PARALLEL, copy));
    const { connection, close } = opened(
      await packetsOf(folder, adds, store, snapshot.metadata),
      options.interruption,
    );
    return {
      connection,
      close: async () => {
        await close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Milliseconds between two interruptions of a query. */
const INTERRUPT_AGAIN = 20;

/**
 * A process that exits waits for the query that runs, for hours if need be. So a signal interrupts the query first, again and again
 * until the command has closed the connection: an interruption between two queries has no effect on the next one.
 */
function opened(
  connection: DuckDBConnection,
  interruption: Interruption,
): { readonly connection: DuckDBConnection; close(): Promise<void> } {
  let isOpen = true;
  const release = interruption.guard(async () => {
    while (isOpen) {
      connection.interrupt();
      await setTimeout(INTERRUPT_AGAIN);
    }
  });
  return {
    connection,
    close: async () => {
      isOpen = false;
      release();
      connection.closeSync();
    },
  };
}

async function copyFile(
  store: ObjectStore,
  folder: string,
  { path, size }: { readonly path: string; readonly size: number },
  onBytes: (length: number) => void,
): Promise<void> {
  const target = join(folder, path);
  try {
    await mkdir(dirname(target), { recursive: true });
    const file = await open(target, "wx");
    try {
      for (let at = 0; at < size; at += READ_BYTES) {
        const length = Math.min(READ_BYTES, size - at);
        // One byte more at the end: it tells whether the file is as long as the log says.
        const more = at + length === size ? 1 : 0;
        const bytes = await store.read(path, { start: at, length: length + more });
        if (bytes === null)
          throw new RetryableError(`${path} is gone: somebody vacuumed the table meanwhile; run it again`);
        if (bytes.length !== length) {
          throw new TableRefusedError(
            `${path} is ${bytes.length < length ? "shorter" : "longer"} than the log says (${size} bytes): it is damaged or another file. Restore it from a backup or from the bucket's old versions`,
          );
        }
        await file.writeFile(bytes);
        onBytes(bytes.length);
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    throw translated(error, `cannot copy ${path}`);
  }
}
