import type { Action, Add, DomainMetadata, Metadata, Protocol, Txn } from "../actions/actions.ts";
import { logicalFile } from "../actions/logical-file.ts";
import type { ReconciledLog } from "../actions/reconciled-log.ts";
import { requireTableState } from "../actions/table-state.ts";
import { type Checkpoint, checkpointBatches, readCheckpoint } from "../checkpoint/checkpoint.ts";
import { TableRefusedError } from "../errors.ts";
import type { LogStore } from "../stores/log-store.ts";
import { type LogSegment, readCommits, readLogSegment } from "./snapshot.ts";
import { TextSet } from "./text-set.ts";

/** Characters of a path that a message shows. */
const SHOWN = 200;
/** Adds and removes of commits that are kept, rather than read and parsed once more for the files: some 20 MB. */
const KEPT_ACTIONS = 10_000;

/**
 * The state at `version`, by default the newest; null when there is no table. Throws `TableRefusedError` for a log with gaps,
 * one that cannot be read, and for a version that is not in it.
 */
export async function reconcileLog(log: LogStore, version?: number): Promise<ReconciledLog | null> {
  const segment = await segmentOf(log, version);
  if (segment === null) return null;
  const state = new TableActions();
  const commits = new KeptCommits();
  if (segment.checkpoint !== null) state.add(await readCheckpoint(log, segment.checkpoint, NO_FILES));
  for await (const { actions } of readCommits(log, segment.versions)) {
    state.add(actions);
    commits.add(actions);
  }
  const { protocol, metadata } = requireTableState(state.protocol, state.metadata);
  return {
    version: lastVersion(segment),
    checkpointVersion: segment.checkpoint?.version ?? null,
    protocol,
    metadata,
    transactions: [...state.transactions.values()],
    domains: [...state.domains.values()],
    files: () => reconciledFiles(log, segment, ["add", "remove"], commits.newestFirst),
  };
}

/**
 * The live files at `version`, by default the newest, in batches and in no order; none when there is no table. Cost and memory as
 * those of {@link ReconciledLog.files}.
 */
export async function* liveFiles(log: LogStore, version?: number): AsyncGenerator<readonly Add[]> {
  const segment = await segmentOf(log, version);
  if (segment === null) return;
  // Removes in the checkpoint are of files that no commit before it has: they are not looked at.
  for await (const actions of reconciledFiles(log, segment, ["add"])) {
    const adds = actions.flatMap(({ add }) => (add === undefined ? [] : [add]));
    if (adds.length > 0) yield adds;
  }
}

async function segmentOf(log: LogStore, version: number | undefined): Promise<LogSegment | null> {
  const segment = await readLogSegment(log, version);
  const found = segment === null ? null : lastVersion(segment);
  if (version === undefined || found === version) return segment;
  throw new TableRefusedError(
    `version ${version} is not in the log: the newest up to it is ${found ?? "none"}. Choose another version`,
  );
}

function lastVersion({ checkpoint, versions }: LogSegment): number {
  const last = versions.at(-1) ?? checkpoint?.version;
  if (last === undefined) throw new Error("a segment of the log has no version");
  return last;
}

const NO_FILES = ["protocol", "metaData", "txn", "domainMetadata"] as const;

/** What commits say of files, as long as it is not too much. */
class KeptCommits {
  #commits: (readonly Action[])[] | null = [];
  #count = 0;

  /** To be called in the order of the versions. */
  add(actions: readonly Action[]): void {
    const ofFiles = actions.filter(({ add, remove }) => add !== undefined || remove !== undefined);
    this.#count += ofFiles.length;
    if (this.#count > KEPT_ACTIONS) this.#commits = null;
    this.#commits?.push(ofFiles);
  }

  /** Null where they were too much. */
  get newestFirst(): readonly (readonly Action[])[] | null {
    return this.#commits?.toReversed() ?? null;
  }
}

/** What is no file: the newest of each wins. */
class TableActions {
  protocol: Protocol | null = null;
  metadata: Metadata | null = null;
  readonly transactions = new Map<string, Txn>();
  readonly domains = new Map<string, DomainMetadata>();

  add(actions: readonly Action[]): void {
    for (const { protocol, metaData, txn, domainMetadata } of actions) {
      if (protocol !== undefined) this.protocol = protocol;
      if (metaData !== undefined) this.metadata = metaData;
      if (txn !== undefined) this.transactions.set(txn.appId, txn);
      if (domainMetadata === undefined) continue;
      if (domainMetadata.removed) this.domains.delete(domainMetadata.domain);
      else this.domains.set(domainMetadata.domain, domainMetadata);
    }
  }
}

/**
 * Newest first, so that what was seen already is all that must be kept in mind: the first action of a logical file that is met
 * is the one that counts.
 */
async function* reconciledFiles(
  log: LogStore,
  { checkpoint, versions }: LogSegment,
  checkpointKinds: readonly ("add" | "remove")[],
  kept: readonly (readonly Action[])[] | null = null,
): AsyncGenerator<readonly Action[]> {
  const seen = new Set<string>();
  for await (const actions of kept ?? commitsOf(log, versions.toReversed())) {
    const newest = [...firstOf(actions, "add", seen), ...firstOf(actions, "remove", seen)];
    if (newest.length > 0) yield newest;
  }
  if (checkpoint === null) return;
  const live = new TextSet();
  for await (const actions of checkpointBatches(log, checkpoint, checkpointKinds)) {
    for (const { add } of actions)
      if (add !== undefined && !live.add(add.path)) throw doubled(add, checkpoint);
    yield actions.filter((action) => !isSeen(action, seen));
  }
}

async function* commitsOf(log: LogStore, versions: readonly number[]): AsyncGenerator<readonly Action[]> {
  for await (const { actions } of readCommits(log, versions)) yield actions;
}

/**
 * The actions whose logical file is met for the first time. Adds come before removes: a version that removes and adds a file has
 * it, in whatever order its lines are.
 */
function firstOf(actions: readonly Action[], kind: "add" | "remove", seen: Set<string>): Action[] {
  return actions.filter((action) => {
    const file = action[kind];
    if (file === undefined) return false;
    const key = logicalFile(file);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** A file that is live twice would have each of its rows doubled. */
function doubled({ path }: Add, { version }: Checkpoint): TableRefusedError {
  const shown = path.length <= SHOWN ? path : `${path.slice(0, SHOWN)}...`;
  return new TableRefusedError(
    `the checkpoint of version ${version} has the file ${shown} twice: which files the table has is not known. Nothing was written. Remove that checkpoint if the commits before it are still there, or restore it from a backup`,
  );
}

function isSeen({ add, remove }: Action, seen: ReadonlySet<string>): boolean {
  const file = add ?? remove;
  return file === undefined || (seen.size > 0 && seen.has(logicalFile(file)));
}
