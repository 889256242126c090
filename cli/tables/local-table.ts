import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import type { LogStore } from "@deltacap/delta";
import { ConditionalLogStore, readSnapshot, type Snapshot } from "@deltacap/delta";
import { FolderObjectStore } from "@deltacap/delta/folder";
import { Committer, type CommitterPorts } from "../../src/commit/commit-manifests.ts";
import type { ConverterPorts } from "../../src/ingest/convert-captures.ts";
import { EarlierCaptures } from "../../src/local/earlier-captures.ts";
import { FileCaptureStore } from "../../src/local/file-capture-store.ts";
import { FolderLedger } from "../../src/local/folder-ledger.ts";
import { batchIdOf } from "../../src/local/ingest-run.ts";
import { findLeftovers, type Leftovers } from "../../src/local/leftovers.ts";
import type { ManifestSource } from "../../src/manifest/manifest.ts";
import { nodeDecompressors } from "../../src/node/compression.ts";
import { contentHash, sha256 } from "../../src/node/hash.ts";
import { type MaintenancePorts, maintenancePorts } from "../../src/node/maintenance-ports.ts";
import { nodeParquetWriter } from "../../src/node/parquet.ts";
import { UsageError } from "../terminal/command.ts";

/** The use cases on a table in a local folder: the same code as in the cloud, with local adapters. */
export interface LocalTable {
  readonly folder: string;
  readonly log: LogStore;
  readonly converter: ConverterPorts;
  readonly ledger: FolderLedger;
  /** For its upkeep. */
  readonly ports: MaintenancePorts;
  /** Files that runs of `ingest` which were killed have put and never committed. */
  leftovers(): Promise<Leftovers>;
  /** Removes what killed processes left unfinished before this time. */
  removeUnfinished(beforeMs: number): Promise<void>;
  /** Sources that a commit sent back are collected in `again`. */
  committer(again: ManifestSource[]): Promise<Committer>;
}

/** `runId`: of the run whose files are written, where one is; see `IngestRun`. */
export function localTable(folder: string, runId?: string): LocalTable {
  if (/^s3[an]?:\/\//.test(folder)) {
    throw new UsageError(`${folder}: this command works on a table in a local folder`);
  }
  const root = resolve(folder);
  const newId = runId === undefined ? randomUUID : () => batchIdOf(runId);
  const table = new FolderObjectStore(root, newId);
  const log = new ConditionalLogStore(table);
  const ledger = new FolderLedger(root);
  const captures = new FileCaptureStore();
  const ports = maintenancePorts(log, table);
  const committerPorts = (again: ManifestSource[]): CommitterPorts => ({
    ...ports,
    ledger,
    captures,
    captureQueue: { send: async (sources) => void again.push(...sources) },
  });
  return {
    folder: root,
    log,
    ledger,
    converter: {
      captures,
      table,
      ledger,
      earlier: new EarlierCaptures({ ...ports, ledger, sha256 }),
      decompressors: nodeDecompressors,
      parquet: nodeParquetWriter,
      sha256,
      contentHash,
      now: ports.now,
      newBatchId: newId,
    },
    leftovers: () => findLeftovers(table, log),
    removeUnfinished: (beforeMs) => table.removeUnfinished(beforeMs),
    ports,
    committer: (again) => Committer.start(committerPorts(again)),
  };
}

/** The table's state. Throws `UsageError` when there is no table in the folder. */
export async function existingTable(folder: string): Promise<LocalTable & { snapshot: Snapshot }> {
  const table = localTable(folder);
  const snapshot = await readSnapshot(table.log);
  if (snapshot === null) {
    throw new UsageError(
      `${table.folder} is no Delta table: it has no _delta_log. "deltacap ingest" makes one`,
    );
  }
  return { ...table, snapshot };
}
