import type { Action, Add, LogStore, ObjectStore } from "@deltacap/delta";
import { ConditionalLogStore, listVersions, liveFiles, objectPath, readCommit } from "@deltacap/delta";
import { pagedParquetWriter } from "@deltacap/parquet";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { Committer } from "../../../src/commit/commit-manifests.ts";
import { type ConverterLimits, convertCaptures } from "../../../src/ingest/convert-captures.ts";
import type { CaptureSource } from "../../../src/manifest/capture-store.ts";
import type { Manifest } from "../../../src/manifest/manifest.ts";
import { nodeDecompressors } from "../../../src/node/compression.ts";
import { sha256 } from "../../../src/node/hash.ts";
import { converterDefaults } from "../../../src/settings.ts";
import type { RewritePorts } from "../../../src/upkeep/commit-rewrite.ts";
import { filling, pcap } from "../captures/capture-builder.ts";
import { type Gate, gated } from "../memory/gated.ts";
import { MemoryCaptureStore } from "../memory/memory-capture-store.ts";
import { MemoryLedger } from "../memory/memory-ledger.ts";
import { MemoryObjectStore } from "../memory/memory-object-store.ts";
import { gzip } from "../parquet/read-back.ts";
import { inlineVector, storedVector } from "./deletion-vectors.ts";

export const NOW = 1_772_352_000_000;
/** 2026-03-01. */
export const DAY = 20_513;
export const DATE = "2026-03-01";

/** A capture of `packets` packets, the n-th at second n of day `day`. */
export function captureOf(packets: number, day = DAY, seed = 0): Uint8Array {
  const records = Array.from({ length: packets }, (_, i) => ({
    seconds: day * 86_400 + i,
    bytes: filling(14 + ((i * 7 + seed) % 50), i + seed),
  }));
  return pcap({}, records);
}

/** A packets table, in memory unless it is told where, with its converter, committer and those who rewrite its files. */
export class PacketsWorld {
  readonly objects = new MemoryObjectStore();
  readonly captures = new MemoryCaptureStore();
  readonly ledger = new MemoryLedger();
  readonly log: LogStore;
  nowMs = NOW;
  readonly #store: ObjectStore;
  /** Rows of each deletion vector, by where it is: what a reader must leave out, told without reading one. */
  readonly #deleted = new Map<unknown, ReadonlySet<number>>();
  #ids = 0;

  constructor(place: { readonly store: ObjectStore; readonly log: LogStore } | null = null) {
    this.#store = place?.store ?? this.objects;
    this.log = place?.log ?? new ConditionalLogStore(this.objects);
  }

  /** What rewriting takes; each step passes the gate. */
  ports(gate: Gate | null = null): RewritePorts {
    const through = <Port extends object>(port: Port, name: string) =>
      gate === null ? port : gated(port, name, gate);
    return {
      log: through(this.log, "log"),
      table: gate === null ? this.#store : gatedStore(this.#store, gate),
      parquet: pagedParquetWriter({ compressor: gzip }),
      now: () => this.nowMs,
      newId: () => `id-${++this.#ids}`,
      random: () => 0.5,
      sleep: async () => {},
      engineInfo: "deltacap/test",
    };
  }

  /** Captures by key, `vehicle/name`, in one manifest that nobody has committed yet. */
  async convert(
    captures: Readonly<Record<string, Uint8Array>>,
    limits: Partial<ConverterLimits> = {},
  ): Promise<Manifest> {
    const sources = Object.entries(captures).map(([key, bytes]) => this.captures.put(key, bytes));
    return await this.convertSources(sources, limits);
  }

  async convertSources(
    sources: readonly CaptureSource[],
    limits: Partial<ConverterLimits> = {},
  ): Promise<Manifest> {
    const ports = {
      ...this.ports(),
      captures: this.captures,
      ledger: this.ledger,
      decompressors: nodeDecompressors,
      sha256,
      newBatchId: () => `batch-${++this.#ids}`,
    };
    const { manifest } = await convertCaptures(sources, ports, { ...converterDefaults, ...limits });
    if (manifest === null) throw new Error("every capture is in the table already");
    return manifest;
  }

  async commit(...manifests: readonly Manifest[]) {
    const captureQueue = { send: async () => {} };
    const committer = await Committer.start({
      ...this.ports(),
      ledger: this.ledger,
      captures: this.captures,
      captureQueue,
    });
    return await committer.commit(manifests);
  }

  /** Captures converted and committed: one version more. */
  async ingest(
    captures: Readonly<Record<string, Uint8Array>>,
    limits: Partial<ConverterLimits> = {},
  ): Promise<Manifest> {
    const manifest = await this.convert(captures, limits);
    await this.commit(manifest);
    return manifest;
  }

  /** A commit by another engine, as the next version. */
  async foreignCommit(actions: readonly object[]): Promise<number> {
    const version = (await this.versions()).length;
    const lines = [{ commitInfo: { operation: "DELETE", txnId: `foreign-${version}` } }, ...actions];
    const body = new TextEncoder().encode(lines.map((action) => JSON.stringify(action)).join("\n"));
    if ((await this.log.commit(version, body)) !== "committed") throw new Error(`version ${version} exists`);
    return version;
  }

  /**
   * Another engine deletes rows of a live file, by their positions in it, under a deletion vector in the log or in a file of its
   * own. `rows` are all that are deleted of it then.
   */
  async deleteRows(add: Add, rows: readonly number[], place: "log" | "file" = "log"): Promise<Add> {
    const vector = place === "log" ? inlineVector(rows) : await storedVector(this.#store, rows, ++this.#ids);
    this.#deleted.set(vector.pathOrInlineDv, new Set(rows));
    const { path, deletionVector } = add;
    const remove = { path, dataChange: true, deletionTimestamp: this.nowMs, deletionVector };
    const without = { ...add, dataChange: true, deletionVector: vector };
    await this.foreignCommit([{ remove }, { add: without }]);
    return without;
  }

  async versions(): Promise<number[]> {
    return await listVersions(this.log, 0);
  }

  async actions(version: number): Promise<Action[]> {
    return await readCommit(this.log, version);
  }

  async live(): Promise<Add[]> {
    const adds: Add[] = [];
    for await (const batch of liveFiles(this.log)) adds.push(...batch);
    return adds.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Rows of a file, in its order and without those that `deleteRows` deleted, with the partition's date; read by hyparquet. */
  async rowsOf(
    add: Pick<Add, "path" | "partitionValues" | "deletionVector">,
  ): Promise<Record<string, unknown>[]> {
    const body = await this.#store.read(objectPath(add.path));
    if (body === null) throw new Error(`${add.path} is not there`);
    const rows = await parquetReadObjects({ file: Uint8Array.from(body).buffer, compressors, utf8: false });
    const { pathOrInlineDv } = (add.deletionVector ?? {}) as { pathOrInlineDv?: string };
    const deleted = this.#deleted.get(pathOrInlineDv);
    return rows
      .filter((_, i) => deleted?.has(i) !== true)
      .map((row) => ({ date: add.partitionValues.date, ...row }));
  }

  /** All rows of the newest version, by source and packet. */
  async rows(): Promise<Record<string, unknown>[]> {
    const rows: Record<string, unknown>[] = [];
    for (const add of await this.live()) rows.push(...(await this.rowsOf(add)));
    return rows.sort((a, b) => (rowId(a) < rowId(b) ? -1 : 1));
  }
}

/** The store, with each step passing the gate; of an object being written, its putting (`table.commit`). */
function gatedStore(store: ObjectStore, gate: Gate): ObjectStore {
  const create = (path: string) => {
    const writer = store.create(path);
    const commit = async () => {
      await gate.pass("table.commit", "before");
      const outcome = await writer.commit();
      await gate.pass("table.commit", "after");
      return outcome;
    };
    return {
      write: (chunk: Uint8Array) => writer.write(chunk),
      commit,
      abort: () => writer.abort(),
    };
  };
  return new Proxy(gated(store, "table", gate), {
    get: (target, property) => (property === "create" ? create : Reflect.get(target, property)),
  });
}

export function rowId({ source_id, packet_number, record_number }: Record<string, unknown>): string {
  return `${String(source_id)} ${String(packet_number).padStart(9, "0")} ${String(record_number ?? 0).padStart(9, "0")}`;
}
