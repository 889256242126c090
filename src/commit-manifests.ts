import type { CaptureStore } from "./capture/capture-store.ts";
import { packetTable } from "./columns/packet-table.ts";
import type { TableSchema } from "./columns/table-schema.ts";
import type { Action, Metadata } from "./delta/actions.ts";
import { appendBody, createTableBody } from "./delta/commit-body.ts";
import { readCommitTags } from "./delta/commit-tags.ts";
import type { LogStore } from "./delta/log-store.ts";
import { requireWritable } from "./delta/protocol-gate.ts";
import { schemaUnion } from "./delta/schema.ts";
import { advanced, listVersions, readCommit, readSnapshot, type Snapshot } from "./delta/snapshot.ts";
import { RetryableError, TableRefusedError } from "./errors.ts";
import type { Ledger, LedgerEntry } from "./manifest/ledger.ts";
import { MAX_SOURCES, type Manifest, type ManifestSource } from "./manifest/manifest.ts";
import type { ObjectStore } from "./manifest/object-store.ts";
import type { SourceId } from "./manifest/source-id.ts";

/** What the committer reaches the world through. */
export interface CommitterPorts {
  readonly log: LogStore;
  readonly ledger: Ledger;
  readonly table: ObjectStore;
  readonly captures: Pick<CaptureStore, "exists">;
  /** Announces captures anew, so that a converter reads them again. */
  readonly sendBack: (sources: readonly ManifestSource[]) => Promise<void>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A fresh unpredictable id. */
  readonly newId: () => string;
  /** Waits before attempt number `attempt` (1, 2 ...) after a conflict, with jitter. */
  readonly backOff: (attempt: number) => Promise<void>;
  /** `deltacap/1.2.3`, for the commits. */
  readonly engineInfo: string;
}

/** What became of one manifest. In every case it can be acknowledged; a refused one goes to the dead letter queue first. */
export type ManifestResult = { readonly manifest: Manifest } & (
  | { readonly outcome: "committed"; readonly version: number }
  /** Every source is in the table already: its files are left to vacuum. */
  | { readonly outcome: "duplicate" }
  /** Its new sources were announced again; nothing of it was added. */
  | { readonly outcome: "sent back"; readonly sources: number; readonly reason: string }
  | { readonly outcome: "refused"; readonly reason: string }
);

/** Conflicts in a row after which the committer gives up for this run. */
const MAXIMUM_ATTEMPTS = 20;

/**
 * The second use case: manifests in, table versions out, exactly once (DESIGN.md 6). The log is the truth, the ledger an
 * index of it. One instance a run: `start`, then `commit` as often as there is something to commit.
 */
export class Committer {
  readonly #ports: CommitterPorts;
  readonly #schema: TableSchema;
  #snapshot: Snapshot;

  private constructor(ports: CommitterPorts, snapshot: Snapshot, schema: TableSchema) {
    this.#ports = ports;
    this.#snapshot = snapshot;
    this.#schema = schema;
  }

  /**
   * Repairs the log, reads the snapshot (creating the table if there is none), passes the protocol gate and brings the
   * ledger up to date. Throws `TableRefusedError` before anything is written to a table that must not be.
   */
  static async start(ports: CommitterPorts, schema: TableSchema = packetTable): Promise<Committer> {
    await ports.log.repair();
    const snapshot = (await readSnapshot(ports.log)) ?? (await createTable(ports, schema));
    const committer = new Committer(ports, snapshot, schema);
    committer.#requireWritable();
    await committer.#replayIntoLedger();
    return committer;
  }

  /** Version that the next commit builds on. */
  get version(): number {
    return this.#snapshot.version;
  }

  /**
   * Commits manifests, all in one version unless they have too many sources for one. Results are in the given order.
   * Throws `CommitInDoubtError` when an outcome is unknown and `RetryableError` when a store fails: then nothing may be
   * acknowledged, and the next run finds out what was committed.
   */
  async commit(manifests: readonly Manifest[]): Promise<ManifestResult[]> {
    const results: ManifestResult[] = [];
    let group: Manifest[] = [];
    let sources = 0;
    for (const manifest of manifests) {
      if (group.length > 0 && sources + manifest.sources.length > MAX_SOURCES) {
        results.push(...(await this.#commitGroup(group)));
        group = [];
        sources = 0;
      }
      group.push(manifest);
      sources += manifest.sources.length;
    }
    if (group.length > 0) results.push(...(await this.#commitGroup(group)));
    return results;
  }

  /** Plans against version V, commits as V+1; after a conflict plans anew against what the others committed. */
  async #commitGroup(manifests: readonly Manifest[]): Promise<ManifestResult[]> {
    const results = new Map<Manifest, ManifestResult>();
    for (let attempt = 1; attempt <= MAXIMUM_ATTEMPTS; attempt++) {
      const additions = await this.#plan(manifests, results);
      if (additions.length === 0) return manifests.map((manifest) => results.get(manifest)!);
      const version = this.#snapshot.version + 1;
      const { body, metaData } = this.#body(additions);
      // The commit point. What fails after it is found out by the next run from the log.
      if ((await this.#ports.log.commit(version, body)) === "committed") {
        await this.#noteCommit(version, additions, metaData);
        for (const manifest of additions) results.set(manifest, { manifest, outcome: "committed", version });
        return manifests.map((manifest) => results.get(manifest)!);
      }
      await this.#ports.backOff(attempt);
      await this.#catchUp();
    }
    throw new RetryableError(
      `${MAXIMUM_ATTEMPTS} commits in a row met a conflict, the last one at version ${this.#snapshot.version}: another writer is too busy. Nothing was acknowledged; the next run goes on`,
    );
  }

  /** Decides each manifest that is not yet decided; those to be added are returned. */
  async #plan(manifests: readonly Manifest[], results: Map<Manifest, ManifestResult>): Promise<Manifest[]> {
    const open = manifests.filter((manifest) => !results.has(manifest));
    const ids = open.flatMap((manifest) => manifest.sources.map((source) => source.id));
    const entries = await this.#ports.ledger.lookup(ids);
    const known = new Set<SourceId>();
    for (const [id, entry] of entries) if (entry.status === "committed") known.add(id);
    const additions: Manifest[] = [];
    for (const manifest of open) {
      const result = await this.#decide(manifest, known);
      if (result !== null) results.set(manifest, result);
      else {
        additions.push(manifest);
        for (const source of manifest.sources) known.add(source.id);
      }
    }
    return additions;
  }

  /** Null: to be added. A manifest is atomic: all of it, or nothing. */
  async #decide(manifest: Manifest, known: ReadonlySet<SourceId>): Promise<ManifestResult | null> {
    const fresh = manifest.sources.filter((source) => !known.has(source.id));
    if (fresh.length === 0) return { manifest, outcome: "duplicate" };
    if (new Set(manifest.sources.map((source) => source.id)).size < manifest.sources.length) {
      return { manifest, outcome: "refused", reason: "the manifest repeats a source" };
    }
    if (fresh.length < manifest.sources.length) {
      const others = manifest.sources.length - fresh.length;
      return this.#sendBack(manifest, fresh, `${others} of its sources are in the table already`);
    }
    for (const file of manifest.files) {
      const info = await this.#ports.table.head(file.path);
      if (info === null) return this.#sendBack(manifest, fresh, `${file.path} is gone`);
      if (info.size !== file.size) {
        const reason = `${file.path} has ${info.size} bytes, and the manifest says ${file.size}`;
        return { manifest, outcome: "refused", reason };
      }
    }
    return null;
  }

  /** Only sources whose capture is still there can be read again: otherwise the manifest's files are all there is. */
  async #sendBack(
    manifest: Manifest,
    sources: readonly ManifestSource[],
    reason: string,
  ): Promise<ManifestResult> {
    for (const source of sources) {
      if (await this.#ports.captures.exists(source)) continue;
      return {
        manifest,
        outcome: "refused",
        reason: `${reason}, and ${source.capture} is gone too, so that it cannot be read again: keep the batch's files`,
      };
    }
    await this.#ports.sendBack(sources);
    return { manifest, outcome: "sent back", sources: sources.length, reason };
  }

  #body(additions: readonly Manifest[]): { body: Uint8Array; metaData: Metadata | null } {
    const { metadata } = this.#snapshot;
    const union = schemaUnion(metadata.schemaString, this.#schema);
    const metaData = union.kind === "wider" ? { ...metadata, schemaString: union.schemaString } : null;
    const body = appendBody(additions, metaData, metadata.partitionColumns, identity(this.#ports));
    return { body, metaData };
  }

  /** After the commit point: the ledger, then its watermark. */
  async #noteCommit(
    version: number,
    additions: readonly Manifest[],
    metaData: Metadata | null,
  ): Promise<void> {
    this.#snapshot = {
      ...this.#snapshot,
      version,
      metadata: metaData ?? this.#snapshot.metadata,
    };
    const entries = new Map<SourceId, LedgerEntry & { status: "committed" }>();
    for (const { batchId, sources } of additions) {
      for (const { id, capture, packets, damage } of sources) {
        const entry = { status: "committed", version, batchId, capture, packets } as const;
        entries.set(id, damage === undefined ? entry : { ...entry, damage });
      }
    }
    await this.#ports.ledger.putCommitted(entries);
    await this.#ports.ledger.advanceWatermark(version);
  }

  /** Reads what others committed since; each version passes the gate and goes into the ledger. */
  async #catchUp(): Promise<void> {
    for (const version of await listVersions(this.#ports.log, this.#snapshot.version + 1)) {
      const actions = await readCommit(this.#ports.log, version);
      this.#snapshot = advanced(this.#snapshot, version, actions);
      this.#requireWritable();
      await this.#replayVersion(version, actions);
    }
  }

  /** Brings the ledger to the snapshot's version; the watermark says from where. */
  async #replayIntoLedger(): Promise<void> {
    const watermark = await this.#ports.ledger.watermark();
    const first = watermark === null ? 0 : watermark + 1;
    if (first > this.#snapshot.version) return;
    const versions = await listVersions(this.#ports.log, first);
    if (versions[0] !== first) {
      throw new TableRefusedError(
        `the ledger is complete up to version ${watermark ?? "none"}, and version ${first} is no longer in the log: which captures it added cannot be known. Nothing was written; adopt the table explicitly if its early log was removed on purpose`,
      );
    }
    for (const version of versions) {
      if (version > this.#snapshot.version) break;
      await this.#replayVersion(version, await readCommit(this.#ports.log, version));
    }
  }

  /** The watermark moves only over versions whose entries this very run wrote. */
  async #replayVersion(version: number, actions: readonly Action[]): Promise<void> {
    const entries = new Map<SourceId, LedgerEntry & { status: "committed" }>();
    for (const { commitInfo } of actions) {
      for (const { id, damage } of readCommitTags(commitInfo?.tags)?.sources ?? []) {
        const entry = { status: "committed", version } as const;
        entries.set(id, damage === undefined ? entry : { ...entry, damage });
      }
    }
    if (entries.size > 0) await this.#ports.ledger.putCommitted(entries);
    await this.#ports.ledger.advanceWatermark(version);
  }

  #requireWritable(): void {
    const { protocol, metadata } = this.#snapshot;
    requireWritable(protocol, metadata, this.#schema.partitionColumn);
    const union = schemaUnion(metadata.schemaString, this.#schema);
    if (union.kind === "conflict") throw new TableRefusedError(`${union.reason}. Nothing was written`);
  }
}

function identity(ports: CommitterPorts) {
  return { txnId: ports.newId(), timestamp: ports.now(), engineInfo: ports.engineInfo };
}

/** Writes version 0. Losing that race is fine: the winner's table is read. */
async function createTable(ports: CommitterPorts, schema: TableSchema): Promise<Snapshot> {
  await ports.log.commit(0, createTableBody(schema, ports.newId(), identity(ports)));
  const snapshot = await readSnapshot(ports.log);
  if (snapshot === null) throw new Error("version 0 was committed, and the log is still empty");
  return snapshot;
}
