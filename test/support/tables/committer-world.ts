import type { Action } from "@deltacap/delta";
import {
  ConditionalLogStore,
  commitFileName,
  type LogStore,
  listVersions,
  readCommit,
} from "@deltacap/delta";
import type { TableSchema } from "@deltacap/parquet";
import { Committer, type CommitterPorts, type ManifestResult } from "../../../src/commit/commit-manifests.ts";
import { readCommitTags } from "../../../src/commit/commit-tags.ts";
import type { Manifest, ManifestSource } from "../../../src/manifest/manifest.ts";
import type { SourceId } from "../../../src/manifest/source-id.ts";
import { type Gate, gated } from "../memory/gated.ts";
import { MemoryLedger } from "../memory/memory-ledger.ts";
import { MemoryObjectStore } from "../memory/memory-object-store.ts";

/** A small table, so that commits can be read by people. */
export const smallTable: TableSchema = {
  name: "packets",
  partitionColumn: "date",
  identity: ["date", "frame"],
  columns: [
    { name: "date", type: "date", meaning: "day", statistics: false },
    { name: "n", type: "long", meaning: "number", statistics: true },
    { name: "frame", type: "binary", meaning: "bytes", statistics: false },
  ],
};

/**
 * Everything that outlives a committer's process, in memory: the table's folder with its log, the ledger, the raw objects,
 * the capture queue. Committers are started on it as often as a test likes; nothing here knows the time or chance.
 */
export class CommitterWorld {
  readonly objects = new MemoryObjectStore();
  readonly ledger = new MemoryLedger();
  readonly log: LogStore = new ConditionalLogStore(this.objects);
  /** Raw objects that are gone, by capture. */
  readonly gone = new Set<string>();
  /** Sources that were sent back, in order. */
  readonly sentBack: ManifestSource[] = [];
  readonly waits: number[] = [];
  #ids = 0;
  #batches = 0;

  /** Ports on this world, each step of which passes the gate. */
  ports(gate: Gate | null = null, changes: Partial<CommitterPorts> = {}): CommitterPorts {
    const through = <Port extends object>(port: Port, name: string) =>
      gate === null ? port : gated(port, name, gate);
    return {
      log: through(this.log, "log"),
      ledger: through<CommitterPorts["ledger"]>(this.ledger, "ledger"),
      table: through<CommitterPorts["table"]>(this.objects, "table"),
      captures: through({ exists: async ({ key }: { key: string }) => !this.gone.has(key) }, "captures"),
      captureQueue: through(
        { send: async (sources: readonly ManifestSource[]) => void this.sentBack.push(...sources) },
        "captureQueue",
      ),
      now: () => 1_767_225_600_000,
      newId: () => `id-${++this.#ids}`,
      random: () => 0.5,
      sleep: async (milliseconds) => void this.waits.push(milliseconds),
      engineInfo: "deltacap/test",
      ...changes,
    };
  }

  async start(gate: Gate | null = null, changes: Partial<CommitterPorts> = {}): Promise<Committer> {
    return await Committer.start(this.ports(gate, changes), smallTable);
  }

  /** A whole run: a new process commits the manifests and ends. */
  async run(manifests: readonly Manifest[], gate: Gate | null = null): Promise<ManifestResult[]> {
    return await (await this.start(gate)).commit(manifests);
  }

  /** A batch as a converter leaves it: its file is in the table's folder, its manifest on the way. */
  async batch(...sources: readonly string[]): Promise<Manifest> {
    const batchId = `batch-${++this.#batches}`;
    const path = `date=2026-01-02/${batchId}-00000.parquet`;
    const body = new Uint8Array(100 + this.#batches);
    await this.objects.putIfAbsent(path, body);
    return manifestOf(batchId, path, body.length, sources);
  }

  async removeFiles(manifest: Manifest): Promise<void> {
    await this.objects.remove(manifest.files.map((file) => file.path));
  }

  /** A commit by another engine. */
  async foreignCommit(version: number, actions: readonly object[]): Promise<void> {
    const lines = [{ commitInfo: { operation: "OPTIMIZE", txnId: `foreign-${version}` } }, ...actions];
    const body = new TextEncoder().encode(lines.map((action) => JSON.stringify(action)).join("\n"));
    const outcome = await this.log.commit(version, body);
    if (outcome !== "committed") throw new Error(`version ${version} exists`);
  }

  async actions(version: number): Promise<Action[]> {
    return await readCommit(this.log, version);
  }

  async versions(): Promise<number[]> {
    return await listVersions(this.log, 0);
  }

  /** By batch: how often its file was added. */
  async addedBatches(): Promise<Map<string, number>> {
    const added = new Map<string, number>();
    for (const version of await this.versions()) {
      for (const { add } of await this.actions(version)) {
        if (add === undefined) continue;
        const batch = /(batch-\d+)/.exec(add.path)?.[1] ?? add.path;
        added.set(batch, (added.get(batch) ?? 0) + 1);
      }
    }
    return added;
  }

  /** By source: how often the log's tags say that it was added. */
  async addedSources(): Promise<Map<SourceId, number>> {
    const added = new Map<SourceId, number>();
    for (const version of await this.versions()) {
      for (const { commitInfo } of await this.actions(version)) {
        for (const { id } of readCommitTags(commitInfo?.tags)?.sources ?? []) {
          added.set(id, (added.get(id) ?? 0) + 1);
        }
      }
    }
    return added;
  }

  async commitText(version: number): Promise<string> {
    return new TextDecoder().decode((await this.log.read(commitFileName(version))) ?? new Uint8Array());
  }
}

function manifestOf(batchId: string, path: string, size: number, sources: readonly string[]): Manifest {
  const rows = sources.length;
  return {
    manifestVersion: 1,
    batchId,
    createdMs: 1_767_225_500_000,
    files: [
      {
        path,
        size,
        partitionValues: { date: "2026-01-02" },
        rows,
        stats: `{"numRecords":${rows},"minValues":{"n":1},"maxValues":{"n":9},"nullCount":{"n":0}}`,
      },
    ],
    sources: sources.map((name) => ({
      id: idOf(name),
      capture: `s3://bucket/${name}`,
      bucket: "bucket",
      key: name,
      eTag: `etag-${name}`,
      size: 10,
      packets: 1,
    })),
  };
}

/** The id of a source that a test calls by a short name. */
export function idOf(name: string): SourceId {
  return Buffer.from(name.padEnd(16, ".")).toString("hex");
}
