import type { LogStore, Metadata, ObjectStore } from "@deltacap/delta";
import {
  advanced,
  listVersions,
  RetryableError,
  readCommits,
  readSnapshot,
  refreshed,
  requireTableState,
  requireWritable,
  type Snapshot,
  schemaUnion,
  TableRefusedError,
} from "@deltacap/delta";
import type { TableSchema } from "@deltacap/parquet";
import type { CaptureStore } from "../manifest/capture-store.ts";
import type { Ledger, LedgerEntry, Watermark } from "../manifest/ledger.ts";
import { MAX_SOURCES, type Manifest, type ManifestSource } from "../manifest/manifest.ts";
import type { CaptureQueue } from "../manifest/queues.ts";
import type { SourceId } from "../manifest/source-id.ts";
import { packetTable } from "../packets/packet-table.ts";
import { appendBody, type CommitIdentity, createTableBody } from "./commit-body.ts";
import { LedgerReplay } from "./ledger-replay.ts";
import { contradiction } from "./ledger-watermark.ts";
import {
  type Decision,
  type FailedStep,
  type FileCheck,
  type FileProblem,
  findFileProblems,
  planManifests,
  sendBackSources,
} from "./plan.ts";
import { requireIdentity, withIdentity } from "./table-identity.ts";

/** What the committer reaches the world through. */
export interface CommitterPorts {
  readonly log: LogStore;
  readonly ledger: Ledger;
  readonly table: ObjectStore;
  readonly captures: Pick<CaptureStore, "exists">;
  /** Where sources are sent back to, so that a converter reads them again. */
  readonly captureQueue: CaptureQueue;
  /** Looks into a data file before it is added; without it, only its size and partition values are checked. */
  readonly checkFile?: FileCheck;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A fresh unpredictable id. */
  readonly newId: () => string;
  /** 0 to 1, for the jitter of the waits after conflicts. */
  readonly random: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** `deltacap/1.2.3`, for the commits. */
  readonly engineInfo: string;
}

/**
 * What became of one manifest. A refused one goes to the dead-letter queue, a failed one stays in the queue. In the other cases it can
 * be acknowledged.
 */
export type ManifestResult = { readonly manifest: Manifest } & (
  | { readonly outcome: "committed"; readonly version: number }
  /**
   * Every source is in the table already: its files are left to vacuum. `named`: the sources whose ledger entry names this very
   * capture.
   */
  | { readonly outcome: "duplicate"; readonly named: readonly ManifestSource[] }
  /** Its new sources were announced again; nothing of it was added. */
  | { readonly outcome: "sent back"; readonly sources: number; readonly reason: string }
  | { readonly outcome: "refused"; readonly reason: string }
  /** A request for this manifest alone failed; retrying may succeed. Nothing of it was added. */
  | { readonly outcome: "failed"; readonly step: FailedStep; readonly error: unknown }
);

/** Conflicts in a row after which the committer gives up for this run. */
const MAXIMUM_ATTEMPTS = 20;

/**
 * Waits after a conflict, in milliseconds: the winner needs some 100 ms from its plan to its commit, so that a loser who waits
 * less on average meets it again; beyond a second nothing is gained. All of it is jitter, or two losers would meet anew.
 */
const FIRST_WAIT = 50;
const LONGEST_WAIT = 1_000;

/**
 * The second use case: manifests in, table versions out, exactly once. The log is the truth, the ledger an
 * index of it. One instance a run: `start`, then `commit` as often as there is something to commit.
 *
 * At rest the ledger holds every source up to the snapshot's version. The snapshot therefore moves last, after the ledger: a
 * commit whose ledger write failed is met again as a conflict, and replayed.
 */
export class Committer {
  readonly #ports: CommitterPorts;
  readonly #schema: TableSchema;
  #snapshot: Snapshot;
  #conflicts = 0;

  private constructor(ports: CommitterPorts, schema: TableSchema, snapshot: Snapshot) {
    this.#ports = ports;
    this.#schema = schema;
    this.#snapshot = snapshot;
  }

  /**
   * Repairs the log, reads the snapshot (creating the table if there is none), passes the protocol gate and brings the
   * ledger up to date. `warm`: the snapshot of an earlier run on this table. Throws `TableRefusedError` before anything is
   * written to a table that must not be.
   */
  static async start(
    ports: CommitterPorts,
    schema: TableSchema = packetTable,
    warm: Snapshot | null = null,
  ): Promise<Committer> {
    await ports.log.repair();
    // Before the snapshot: a watermark that is read later may belong to a version that is newer than the snapshot.
    const mark = await ports.ledger.watermark();
    const watermark = mark?.version ?? null;
    const found = warm === null ? await readSnapshot(ports.log) : await refreshed(ports.log, warm);
    const wrong = mark === null ? null : await contradiction(ports.log, mark, found?.version ?? -1);
    if (wrong !== null) {
      throw new TableRefusedError(
        `the ledger is an index of another log: ${wrong}. The log was put back from a backup, or the table was made anew, and captures would be left out that the log does not have. ${ports.ledger.remake}; or put the log back that it belongs to. Nothing was written`,
      );
    }
    const snapshot = found ?? (await createTable(ports, schema));
    const committer = new Committer(ports, schema, snapshot);
    committer.#requireWritable(snapshot);
    await committer.#catchUp(watermark === null ? 0 : watermark + 1);
    return committer;
  }

  /** Version that the next commit builds on. */
  get version(): number {
    return this.#snapshot.version;
  }

  /** Versions that were lost to another writer, in this instance's life. */
  get conflicts(): number {
    return this.#conflicts;
  }

  /** For the next run's `start`. */
  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  /**
   * Commits manifests, all in one version unless they have too many sources for one. Results are in the given order. After
   * `deadlineMs` (by the clock) a conflict is not followed by another attempt.
   *
   * A request that concerns one manifest only and fails is that manifest's result. Throws `CommitInDoubtError` when an outcome is
   * unknown and `RetryableError` when a request for all of them fails: then nothing may be acknowledged, and the next run finds out
   * what was committed.
   */
  async commit(
    manifests: readonly Manifest[],
    deadlineMs = Number.POSITIVE_INFINITY,
  ): Promise<ManifestResult[]> {
    const results: ManifestResult[] = [];
    for (const group of groups(manifests)) results.push(...(await this.#commitGroup(group, deadlineMs)));
    return results;
  }

  /** Plans against version V, commits as V+1; after a conflict plans anew against what the others committed. */
  async #commitGroup(manifests: readonly Manifest[], deadlineMs: number): Promise<ManifestResult[]> {
    const problems = new Map<Manifest, FileProblem | null>();
    for (let attempt = 1; attempt <= MAXIMUM_ATTEMPTS; attempt++) {
      const decisions = await this.#plan(manifests, problems);
      const additions = decisions.filter(({ kind }) => kind === "add").map(({ manifest }) => manifest);
      if (additions.length === 0) return await this.#settle(decisions, this.version);
      const version = this.version + 1;
      const { body, metadata, txnId } = this.#body(additions);
      // The commit point. What fails after it is found out by the next run, from the log.
      if ((await this.#ports.log.commit(version, body)) === "committed") {
        await this.#noteCommit({ version, commit: txnId }, additions, metadata);
        return await this.#settle(decisions, version);
      }
      this.#conflicts++;
      if (this.#ports.now() >= deadlineMs) break;
      await this.#ports.sleep(this.#ports.random() * Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** attempt));
      await this.#ports.log.repair();
      await this.#catchUp(this.version + 1);
    }
    throw new RetryableError(
      `commits met conflicts up to version ${this.version + 1}, ${MAXIMUM_ATTEMPTS} in a row or until the time was up: another writer is too busy. Nothing was acknowledged; the next run goes on`,
    );
  }

  /** Changes nothing. Each manifest's files are looked at once, however often the plan is made. */
  async #plan(
    manifests: readonly Manifest[],
    looked: Map<Manifest, FileProblem | null>,
  ): Promise<Decision[]> {
    const known = await this.#knownSources(manifests, looked);
    const open = manifests.filter(
      (manifest) => !looked.has(manifest) && manifest.sources.some(({ id }) => !known.has(id)),
    );
    const { table, checkFile } = this.#ports;
    const { partitionColumns } = this.#snapshot.metadata;
    const found = await findFileProblems(open, table, partitionColumns, checkFile);
    for (const manifest of open) looked.set(manifest, found.get(manifest) ?? null);
    const problems = new Map<Manifest, FileProblem>();
    for (const [manifest, problem] of looked) if (problem !== null) problems.set(manifest, problem);
    return planManifests(manifests, known, problems);
  }

  /** The sources that are in the table. A manifest whose sources cannot be looked up is noted in `looked`. */
  async #knownSources(
    manifests: readonly Manifest[],
    looked: Map<Manifest, FileProblem | null>,
  ): Promise<Map<SourceId, string | undefined>> {
    const lookup = async (of: readonly Manifest[]) => {
      const entries = await this.#ports.ledger.lookup(
        of.flatMap(({ sources }) => sources.map(({ id }) => id)),
      );
      return [...entries].flatMap(([id, entry]) =>
        entry.status === "committed" ? [[id, entry.capture] as const] : [],
      );
    };
    try {
      return new Map(await lookup(manifests));
    } catch (error) {
      // The ledger is out of service: that concerns all of them.
      if (error instanceof RetryableError) throw error;
      const known = new Map<SourceId, string | undefined>();
      for (const manifest of manifests) {
        try {
          for (const [id, capture] of await lookup([manifest])) known.set(id, capture);
        } catch (own) {
          looked.set(manifest, { kind: "failed", step: "ledger", error: own });
        }
      }
      return known;
    }
  }

  /** After the commit and the ledger, so that only what a commit has made certain is acted on: sends back, and reports. */
  async #settle(decisions: readonly Decision[], version: number): Promise<ManifestResult[]> {
    const { captures, captureQueue } = this.#ports;
    const final = await sendBackSources(decisions, captures, captureQueue);
    return final.map((decision) => resultOf(decision, version));
  }

  #body(additions: readonly Manifest[]): { body: Uint8Array; metadata: Metadata | null; txnId: string } {
    const { metadata } = this.#snapshot;
    const union = schemaUnion(metadata, this.#schema);
    const grown = withIdentity(union.kind === "wider" ? union.metadata : metadata, this.#schema);
    const changed = grown === metadata ? null : grown;
    const commit = identity(this.#ports);
    const body = appendBody(additions, changed, metadata.partitionColumns, commit);
    return { body, metadata: changed, txnId: commit.txnId };
  }

  /** After the commit point: the ledger, its watermark, and last the snapshot. */
  async #noteCommit(
    commit: Watermark,
    additions: readonly Manifest[],
    metadata: Metadata | null,
  ): Promise<void> {
    const { version } = commit;
    const entries = new Map<SourceId, LedgerEntry & { status: "committed" }>();
    for (const { batchId, sources } of additions) {
      for (const { id, bucket, capture, packets, damage, continues } of sources) {
        const entry = { status: "committed", version, batchId, capture, packets } as const;
        entries.set(id, {
          ...entry,
          ...(damage === undefined ? {} : { damage }),
          ...(continues === undefined ? {} : { continues }),
          ...(bucket === "" ? { byContent: true } : {}),
        });
      }
    }
    await this.#ports.ledger.putCommitted(entries);
    await this.#ports.ledger.advanceWatermark(commit);
    this.#snapshot = { ...this.#snapshot, version, metadata: metadata ?? this.#snapshot.metadata };
  }

  /**
   * Reads the commits from version `from` on, the first one that the ledger may lack: they go into the ledger, what is newer
   * than the snapshot into it, and that passes the gate.
   */
  async #catchUp(from: number): Promise<void> {
    const versions = await listVersions(this.#ports.log, from);
    if ((versions[0] ?? this.version + 1) !== from) {
      throw new TableRefusedError(
        `version ${from} is no longer in the log, and the ledger may lack what it added: which captures are in the table cannot be known. Nothing was written; adopt the table explicitly if its early log was removed on purpose`,
      );
    }
    let snapshot = this.#snapshot;
    const replay = new LedgerReplay(this.#ports.ledger);
    for await (const { version, actions } of readCommits(this.#ports.log, versions)) {
      if (version > snapshot.version) snapshot = advanced(snapshot, version, actions);
      await replay.add(version, actions);
    }
    this.#requireWritable(snapshot);
    await replay.flush();
    this.#snapshot = snapshot;
  }

  #requireWritable({ protocol, metadata }: Snapshot): void {
    requireTableState(protocol, metadata);
    requireIdentity(metadata, this.#schema);
    requireWritable(protocol, metadata, this.#schema.partitionColumn);
    const union = schemaUnion(metadata, this.#schema);
    if (union.kind === "conflict") throw new TableRefusedError(`${union.reason}. Nothing was written`);
  }
}

function resultOf(decision: Decision, version: number): ManifestResult {
  const { manifest } = decision;
  switch (decision.kind) {
    case "add":
      return { manifest, outcome: "committed", version };
    case "drop":
      return { manifest, outcome: "duplicate", named: decision.named };
    case "refuse":
      return { manifest, outcome: "refused", reason: decision.reason };
    case "fail":
      return { manifest, outcome: "failed", step: decision.step, error: decision.error };
    case "send back":
      return { manifest, outcome: "sent back", sources: decision.sources.length, reason: decision.reason };
  }
}

/** As many manifests as one commit may carry the sources of, in order. */
function* groups(manifests: readonly Manifest[]): Iterable<Manifest[]> {
  let group: Manifest[] = [];
  let sources = 0;
  for (const manifest of manifests) {
    if (group.length > 0 && sources + manifest.sources.length > MAX_SOURCES) {
      yield group;
      group = [];
      sources = 0;
    }
    group.push(manifest);
    sources += manifest.sources.length;
  }
  if (group.length > 0) yield group;
}

function identity(ports: CommitterPorts): CommitIdentity {
  return { txnId: ports.newId(), timestamp: ports.now(), engineInfo: ports.engineInfo };
}

/** Writes version 0. Losing that race is fine: the winner's table is read. */
async function createTable(ports: CommitterPorts, schema: TableSchema): Promise<Snapshot> {
  const outcome = await ports.log.commit(0, createTableBody(schema, ports.newId(), identity(ports)));
  if (outcome === "conflict") await ports.log.repair();
  const snapshot = await readSnapshot(ports.log);
  if (snapshot === null) throw new RetryableError("version 0 was committed, and the log still lists nothing");
  return snapshot;
}
