import type { Add, Metadata, ObjectStore } from "@deltacap/delta";
import {
  ConditionalLogStore,
  commitFileName,
  deltaStatistics,
  type LogStore,
  reconcileLog,
} from "@deltacap/delta";
import type { ColumnDefinition, TableSchema } from "@deltacap/parquet";
import { encodedPath } from "../../../src/commit/commit-body.ts";
import { Committer, type CommitterPorts } from "../../../src/commit/commit-manifests.ts";
import type { DataFile, Manifest } from "../../../src/manifest/manifest.ts";
import { checkpointTable } from "../../../src/upkeep/checkpoint-table.ts";
import { rewriteBody } from "../../../src/upkeep/rewrite-body.ts";
import { MemoryLedger } from "../memory/memory-ledger.ts";
import { MemoryObjectStore } from "../memory/memory-object-store.ts";
import type { Random } from "../random.ts";
import { bytesOf, logicalKey, type ModelFile, parquetOf, type TableModel, vectorOf } from "./table-model.ts";

export interface HistoryOptions {
  /** Real Parquet files, so that engines can read them. */
  readonly data: boolean;
  /** What engines would stumble over: deletion vectors without their files, spoilt checksums and compacted commits. */
  readonly unreadable: boolean;
}

const DATES = ["1969-12-31", "2026-01-02", "2026-01-03", null] as const;
const NOW = 1_767_225_600_000;
/** Beyond what a double holds. */
const LARGE = 2n ** 53n + 1n;
const base: readonly ColumnDefinition[] = [
  { name: "date", type: "date", meaning: "day", statistics: false },
  { name: "n", type: "long", meaning: "number", statistics: true },
];
const extraColumn = (i: number): ColumnDefinition => ({
  name: `c${i}`,
  type: "long",
  meaning: "ten times the number",
  statistics: i % 2 === 0,
});

/**
 * A table that several writers work on at random, and beside it a model of what the table is: every step changes the log and
 * the model. Our own commits are made by the committer and by what `optimize` and checkpoints are made with; those of others
 * are JSON in other writers' ways.
 */
export class TableHistory {
  readonly log: LogStore;
  /** By version. */
  readonly models: TableModel[] = [];
  /** The least version whose state the log still gives. */
  earliest = 0;
  /** What was done, for those who look for a failure. */
  readonly steps: string[] = [];
  readonly #random: Random;
  readonly #store: ObjectStore;
  readonly #options: HistoryOptions;
  readonly #ledger = new MemoryLedger();
  #extraColumns = 0;
  #ids = 0;
  #rows = 0n;

  constructor(random: Random, store: ObjectStore, options: HistoryOptions) {
    this.#random = random;
    this.#store = store;
    this.#options = options;
    this.log = new ConditionalLogStore(store);
  }

  get now(): TableModel {
    const model = this.models.at(-1);
    if (model === undefined) throw new Error("the history has not begun");
    return model;
  }

  /** Creates the table, and appends to it. */
  async begin(): Promise<void> {
    this.models.push({
      version: 0,
      protocol: { minReaderVersion: 1, minWriterVersion: 2 },
      columns: base.map(({ name }) => name),
      configuration: { "delta.dataSkippingStatsColumns": "n", "deltacap.table": "history" },
      transactions: new Map(),
      domains: new Map(),
      files: new Map(),
      removed: new Map(),
    });
    await this.append();
  }

  async step(): Promise<void> {
    const steps: [name: keyof TableHistory & string, weight: number][] = [
      ["append", 6],
      ["evolve", 1],
      ["checkpoint", 2],
      ["theirCheckpoint", 1],
      ["optimize", 2],
      ["remove", 2],
      ["addAgain", 1],
      ["others", 2],
      ["noise", 1],
    ];
    const names = steps.flatMap(([name, weight]) => Array.from({ length: weight }, () => name));
    const name = this.#random.pick(names) as "append";
    this.steps.push(`${this.now.version} ${name}`);
    await this[name]();
  }

  async append(): Promise<void> {
    const files: ModelFile[] = [];
    for (let i = this.#random.between(1, 3); i > 0; i--) files.push(await this.#newFile());
    const committer = await Committer.start(this.#ports(), this.#schema());
    const [result] = await committer.commit([this.#manifest(files)]);
    if (result?.outcome !== "committed") throw new Error(`the append was ${JSON.stringify(result)}`);
    const grown = this.now.columns.length < this.#schema().columns.length;
    const statistics = this.#schema().columns.flatMap(({ name, statistics }) => (statistics ? [name] : []));
    this.#next({
      ...(grown ? { columns: this.#schema().columns.map(({ name }) => name) } : {}),
      ...(grown
        ? {
            configuration: {
              ...this.now.configuration,
              "delta.dataSkippingStatsColumns": statistics.join(","),
            },
          }
        : {}),
      added: files,
    });
  }

  async evolve(): Promise<void> {
    this.#extraColumns++;
    await this.append();
  }

  /** Ours; sometimes what came before it is cleaned away then, as other engines do. */
  async checkpoint(): Promise<void> {
    await this.#writeCheckpoint(this.#store);
    if (this.#random.chance(0.3)) await this.#cleanUp();
  }

  /** V2, in JSON, of actions as reconciled, by another writer; the files sometimes in a sidecar. */
  async theirCheckpoint(): Promise<void> {
    if (!this.now.protocol.readerFeatures?.includes("v2Checkpoint")) return await this.checkpoint();
    const state = await reconcileLog(this.log);
    if (state === null || state.checkpointVersion === state.version) return;
    const lines: object[] = [
      { checkpointMetadata: { version: state.version } },
      { protocol: state.protocol },
      { metaData: state.metadata },
      ...state.transactions.map((txn) => ({ txn })),
      ...state.domains.map((domainMetadata) => ({ domainMetadata })),
    ];
    if (this.#random.chance(0.5)) {
      const elsewhere = new MemoryObjectStore();
      const classic = await this.#writeCheckpoint(elsewhere);
      const body = (classic === null ? null : await elsewhere.read(classic)) ?? new Uint8Array();
      const path = `${this.#uuid()}.parquet`;
      await this.#store.put(`_delta_log/_sidecars/${path}`, body);
      lines.push({ sidecar: { path, sizeInBytes: body.length, modificationTime: NOW, tags: {} } });
    } else {
      for await (const actions of state.files()) lines.push(...actions);
    }
    const version = commitFileName(state.version).replace(".json", "");
    await this.#store.put(`_delta_log/${version}.checkpoint.${this.#uuid()}.json`, bytesOf(lines));
    await this.#store.put("_delta_log/_last_checkpoint", bytesOf([{ version: state.version, size: 1 }]));
    if (this.#random.chance(0.3)) await this.#cleanUp();
  }

  /** Small files of one date made one, as `deltacap optimize` commits it. */
  async optimize(): Promise<void> {
    const date = this.#random.pick(DATES);
    const inputs = [...this.now.files.values()].filter((file) => file.date === date && file.vector === null);
    if (inputs.length < 2) return await this.append();
    const columns = [...new Set(inputs.flatMap((file) => file.columns))];
    const merged = await this.#newFile({ date, values: inputs.flatMap((file) => file.values), columns });
    const version = this.now.version + 1;
    const rewrite = {
      operation: "OPTIMIZE",
      predicate: null,
      removed: inputs.map((file) => this.#addOf(file)),
      added: [{ ...merged, rows: merged.values.length, statistics: this.#statistics(merged) }],
    } as const;
    const identity = { txnId: this.#uuid(), timestamp: NOW, engineInfo: "deltacap/test" };
    const outcome = await this.log.commit(version, rewriteBody(rewrite, version - 1, identity));
    if (outcome !== "committed") throw new Error("optimize met a conflict");
    this.#next({ removed: inputs, added: [merged] });
  }

  /** A DELETE of another writer: whole files, rows by copy on write, or rows by deletion vectors. */
  async remove(): Promise<void> {
    const files = [...this.now.files.values()];
    if (files.length === 0) return await this.append();
    const file = this.#random.pick(files);
    const half = file.values.slice(0, Math.floor(file.values.length / 2));
    const added: ModelFile[] = [];
    const canVector = this.now.protocol.readerFeatures?.includes("deletionVectors");
    if (canVector && this.#random.chance(0.5)) {
      added.push({ ...file, values: half, vector: `u${this.#uuid().slice(0, 20)}@1` });
    } else if (file.vector === null && half.length > 0 && this.#random.chance(0.5)) {
      const copy = await this.#newFile({ date: file.date, values: half, columns: file.columns });
      // Others encode more than they must.
      added.push({ ...copy, encodedPath: copy.encodedPath.replaceAll("=", "%3D") });
    }
    await this.#theirs([
      { remove: this.#removeOf(file) },
      ...added.map((add) => ({ add: this.#addOf(add) })),
    ]);
    this.#next({ removed: [file], added });
  }

  /** RESTORE of another writer: a file that was removed is back. */
  async addAgain(): Promise<void> {
    const files = [...this.now.removed.values()].filter(
      ({ path }) => ![...this.now.files.values()].some((file) => file.path === path),
    );
    if (files.length === 0) return await this.append();
    const file = this.#random.pick(files);
    await this.#theirs([{ add: this.#addOf(file) }]);
    this.#next({ added: [file] });
  }

  /** What is no file: transactions, domains, properties, features. */
  async others(): Promise<void> {
    const kind = this.#random.pick(["transaction", "domain", "property", "protocol"]);
    const version = this.now.version + 1;
    if (kind === "protocol" || (kind === "domain" && this.now.protocol.minWriterVersion < 7)) {
      const reader = ["v2Checkpoint", ...(this.#options.unreadable ? ["deletionVectors"] : [])];
      const protocol = {
        minReaderVersion: 3,
        minWriterVersion: 7,
        readerFeatures: reader,
        writerFeatures: [...reader, "appendOnly", "invariants", "domainMetadata"],
      };
      await this.#theirs([{ protocol }]);
      this.#next({ protocol });
    } else if (kind === "transaction") {
      const appId = this.#random.pick(["stream a", "stream b"]);
      await this.#theirs([{ txn: { appId, version, lastUpdated: NOW } }]);
      this.#next({ transactions: new Map(this.now.transactions).set(appId, version) });
    } else if (kind === "domain") {
      const domain = this.#random.pick(["x", "y"]);
      const removed = this.now.domains.has(domain) && this.#random.chance(0.5);
      const domains = new Map(this.now.domains).set(domain, `{"at":${version}}`);
      if (removed) domains.delete(domain);
      await this.#theirs([{ domainMetadata: { domain, configuration: `{"at":${version}}`, removed } }]);
      this.#next({ domains });
    } else {
      const configuration = { ...this.now.configuration, "custom.at": String(version) };
      const { metadata } = (await reconcileLog(this.log)) as { metadata: Metadata };
      await this.#theirs([{ metaData: { ...metadata, configuration } }]);
      this.#next({ configuration });
    }
  }

  /** What readers must not be misled by. */
  async noise(): Promise<void> {
    const put = async (name: string, text: string) =>
      await this.#store.put(`_delta_log/${name}`, new TextEncoder().encode(text));
    await put("_last_checkpoint", this.#random.pick(["{", '{"version":99999}', '{"version":0,"size":1}']));
    if (!this.#options.unreadable) return;
    const from = commitFileName(this.now.version).replace(".json", "");
    await put(`${from}.crc`, "spoilt");
    await put(`${from}.${from}.compacted.json`, "spoilt");
    await put(`${from}.checkpoint.0000000001.0000000002.parquet`, "half of it");
  }

  /** Of the newest version, into this store; its path, null where there is one of that version already. */
  async #writeCheckpoint(table: ObjectStore): Promise<string | null> {
    const ports = { log: this.log, table, now: () => NOW, checkpointCompressor: null };
    const result = await checkpointTable(ports, { interval: 1, always: true, schema: this.#schema() });
    if (result.outcome === "not due" && result.checkpoint === result.version) return null;
    if (result.outcome !== "written") throw new Error(`the checkpoint was ${JSON.stringify(result)}`);
    return `_delta_log/${commitFileName(result.version).replace(".json", ".checkpoint.parquet")}`;
  }

  /** Takes away the commits that the newest checkpoint stands for, once the ledger knows them: else the committer refuses. */
  async #cleanUp(): Promise<void> {
    await Committer.start(this.#ports(), this.#schema());
    const { version } = this.now;
    const names = Array.from({ length: version }, (_, i) => `_delta_log/${commitFileName(i)}`);
    await this.#store.remove(names);
    this.earliest = version;
  }

  async #theirs(actions: readonly object[]): Promise<void> {
    const info = { timestamp: NOW, operation: "by others", engineInfo: "others", tags: null };
    const lines = this.#random.chance(0.5) ? [...actions, { commitInfo: info }] : actions;
    await this.#store.put(`_delta_log/${commitFileName(this.now.version + 1)}`, bytesOf(lines));
  }

  #next({
    added = [],
    removed = [],
    ...changes
  }: Partial<Omit<TableModel, "files" | "removed">> & {
    added?: readonly ModelFile[];
    removed?: readonly ModelFile[];
  }): void {
    const files = new Map(this.now.files);
    const gone = new Map(this.now.removed);
    for (const file of removed) {
      files.delete(logicalKey(file));
      gone.set(logicalKey(file), file);
    }
    for (const file of added) {
      files.set(logicalKey(file), file);
      gone.delete(logicalKey(file));
    }
    this.models.push({ ...this.now, ...changes, version: this.now.version + 1, files, removed: gone });
  }

  async #newFile(given: Partial<ModelFile> = {}): Promise<ModelFile> {
    const date = given.date === undefined ? this.#random.pick(DATES) : given.date;
    const values = given.values ?? this.#newValues();
    const columns =
      given.columns ??
      this.#schema()
        .columns.slice(1)
        .map(({ name }) => name);
    const name = this.#random.pick(["plain", "a b", "50%", "a+b&c=d$", "ä%20"]);
    const path = `date=${date ?? "__HIVE_DEFAULT_PARTITION__"}/${name}-${++this.#ids}.parquet`;
    const body = this.#options.data ? parquetOf(values, columns) : new Uint8Array(this.#ids);
    await this.#store.put(path, body);
    const size = body.length;
    return { path, encodedPath: encodedPath(path), date, values, columns, size, vector: null };
  }

  #newValues(): bigint[] {
    const first = this.#rows;
    const count = BigInt(this.#random.between(1, 5));
    this.#rows += count;
    const offset = this.#random.chance(0.3) ? LARGE : 0n;
    return Array.from({ length: Number(count) }, (_, i) => offset + first + BigInt(i));
  }

  #schema(): TableSchema {
    const more = Array.from({ length: this.#extraColumns }, (_, i) => extraColumn(i));
    return { name: "history", partitionColumn: "date", identity: ["date", "n"], columns: [...base, ...more] };
  }

  #statistics({ values, columns }: ModelFile) {
    const sorted = [...values].sort((a, b) => (a < b ? -1 : 1));
    const [least = 0n, greatest = 0n] = [sorted[0], sorted.at(-1)];
    return this.#schema()
      .columns.slice(1)
      .flatMap((column) => {
        if (!columns.includes(column.name)) return [];
        const factor = column.name === "n" ? 1n : 10n;
        return [{ column, nullCount: 0, bounds: { min: least * factor, max: greatest * factor } }];
      });
  }

  #addOf(file: ModelFile): Add {
    const stats = deltaStatistics(file.values.length, this.#statistics(file));
    const add = {
      path: file.encodedPath,
      partitionValues: { date: file.date },
      size: file.size,
      modificationTime: NOW,
      dataChange: true,
      stats,
    };
    return file.vector === null ? add : { ...add, deletionVector: vectorOf(file.vector) };
  }

  #removeOf(file: ModelFile): object {
    const remove = { path: file.encodedPath, deletionTimestamp: NOW, dataChange: true, tags: null };
    return file.vector === null ? remove : { ...remove, deletionVector: vectorOf(file.vector) };
  }

  #manifest(files: readonly ModelFile[]): Manifest {
    const batchId = this.#uuid();
    const dataFiles: DataFile[] = files.map((file) => ({
      path: file.path,
      size: file.size,
      partitionValues: { date: file.date },
      rows: file.values.length,
      stats: deltaStatistics(file.values.length, this.#statistics(file)),
    }));
    const name = `capture ${batchId}`;
    const id = batchId.replaceAll("-", "");
    const source = { id, capture: name, bucket: "b", key: name, eTag: "e", size: 1, packets: 1 };
    return { manifestVersion: 1, batchId, createdMs: NOW, files: dataFiles, sources: [source] };
  }

  #ports(): CommitterPorts {
    return {
      log: this.log,
      ledger: this.#ledger,
      table: this.#store,
      captures: { exists: async () => true },
      captureQueue: { send: async () => {} },
      now: () => NOW,
      newId: () => this.#uuid(),
      random: () => 0,
      sleep: async () => {},
      engineInfo: "deltacap/test",
    };
  }

  #uuid(): string {
    const hex = Buffer.from(this.#random.bytes(16)).toString("hex");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }
}
