import { type Action, type Metadata, type Protocol, parseActions } from "../actions/actions.ts";
import { requireTableState } from "../actions/table-state.ts";
import {
  type Checkpoint,
  completeCheckpoints,
  newestCheckpoint,
  readCheckpoint,
} from "../checkpoint/checkpoint.ts";
import { TableRefusedError } from "../errors.ts";
import { commitFileName, type LogFile, type LogStore } from "../stores/log-store.ts";
import { readAhead } from "../stores/read-ahead.ts";

/** What committing needs of a table's state: never the list of its files. */
export interface Snapshot {
  readonly version: number;
  readonly protocol: Protocol;
  readonly metadata: Metadata;
  /** Application -> version of its newest transaction (`txn` actions of other writers). */
  readonly transactions: ReadonlyMap<string, number | bigint>;
}

const COMMIT_FILE = /^(\d{20})\.json$/;
/** Sorts before the name of any version, and after nothing that we look for. */
const FIRST_NAME = "0";
/** Commits that are read at once: a cold start on S3 is a matter of round trips. */
const READ_AHEAD = 16;

/** Versions in the log from `from` on, in order. Throws `TableRefusedError` for a gap. */
export async function listVersions(log: LogStore, from: number): Promise<number[]> {
  return versionsOf(await listFiles(log, commitFileName(from)));
}

/** The commits that a log still has. */
export interface LoggedVersions {
  /** All of them, in order. */
  readonly all: readonly number[];
  /** Those since the checkpoint that covers the last gap; all where there is no gap. */
  readonly sinceGap: readonly number[];
}

/**
 * Versions that the log has, whatever of its beginning was removed. A gap is accepted where a checkpoint covers it, since the
 * table's state is known from there on. Throws `TableRefusedError` for any other.
 */
export async function loggedVersions(log: LogStore): Promise<LoggedVersions> {
  const files = await listFiles(log, FIRST_NAME);
  const all = files.flatMap(({ name }) => commitVersion(name) ?? []);
  const at = all.findLastIndex((version, i) => i > 0 && version !== (all[i - 1] ?? 0) + 1);
  const [before, after] = [all[at - 1], all[at]];
  if (before === undefined || after === undefined) return { all, sinceGap: all };
  const cover = completeCheckpoints(files).find(({ version }) => version >= after - 1);
  if (cover === undefined) throw gap(before, after);
  return { all, sinceGap: all.filter((version) => version >= cover.version) };
}

/** Versions among the files, which are in name order. */
function versionsOf(files: readonly LogFile[]): number[] {
  const versions: number[] = [];
  for (const { name } of files) {
    const version = commitVersion(name);
    if (version === null) continue;
    const before = versions.at(-1);
    if (before !== undefined && version !== before + 1) throw gap(before, version);
    versions.push(version);
  }
  return versions;
}

/** Null for a file that is not a commit. */
function commitVersion(name: string): number | null {
  const match = COMMIT_FILE.exec(name);
  return match === null ? null : Number(match[1]);
}

function gap(before: number, version: number): TableRefusedError {
  return new TableRefusedError(
    `the log has a gap: version ${before} is followed by ${version}. Restore the missing commits; nothing was written`,
  );
}

/** Files from the name `from` on; of versions beyond `upTo` none. */
async function listFiles(log: LogStore, from: string, upTo = Number.POSITIVE_INFINITY): Promise<LogFile[]> {
  const files: LogFile[] = [];
  for await (const file of log.list(from)) {
    if (Number(/^\d{20}/.exec(file.name)?.[0] ?? -1) <= upTo) files.push(file);
  }
  return files;
}

/** The commit's actions. Throws `TableRefusedError` when the version is not in the log. */
export async function readCommit(log: LogStore, version: number): Promise<Action[]> {
  const name = commitFileName(version);
  const body = await log.read(name);
  if (body === null)
    throw new TableRefusedError(`${name} is missing from the log. Restore it; nothing was written`);
  return parseActions(body, name);
}

/** The versions' commits in order, some of them read ahead. */
export function readCommits(
  log: LogStore,
  versions: readonly number[],
): AsyncIterable<{ version: number; actions: Action[] }> {
  return readAhead(versions, READ_AHEAD, async (version) => ({
    version,
    actions: await readCommit(log, version),
  }));
}

/** A checkpoint, and the versions after it: together the table's state. */
export interface LogSegment {
  readonly checkpoint: Checkpoint | null;
  readonly versions: readonly number[];
}

/**
 * The segment of the newest version, or of `upTo`, which must be in the log. Null when there is no table. `_last_checkpoint`
 * only says where to begin listing: whatever it says, and if it says nonsense, the segment is the same.
 */
export async function readLogSegment(
  log: LogStore,
  upTo = Number.POSITIVE_INFINITY,
): Promise<LogSegment | null> {
  const hint = await hintedVersion(log);
  let files = hint === null || hint > upTo ? [] : await listFiles(log, String(hint).padStart(20, "0"), upTo);
  let checkpoint = newestCheckpoint(files);
  if (checkpoint === null) {
    files = await listFiles(log, FIRST_NAME, upTo);
    checkpoint = newestCheckpoint(files);
  }
  const base = checkpoint?.version ?? -1;
  const after = files.filter(({ name }) => name >= commitFileName(base + 1));
  const versions = versionsOf(after);
  const first = versions[0];
  if (first === undefined) {
    if (checkpoint !== null) return { checkpoint, versions };
    // An earlier version that was asked for is not there; later ones are.
    if (upTo !== Number.POSITIVE_INFINITY) return null;
    return (await isEmpty(log)) ? null : await readLogSegment(log);
  }
  if (first !== base + 1) {
    if (checkpoint !== null) throw gap(base, first);
    throw new TableRefusedError(
      `the log begins at version ${first}, and has no complete checkpoint: the table's state is not known. Nothing was written`,
    );
  }
  return { checkpoint, versions };
}

/**
 * Whether the log's folder has nothing of a log; false where somebody committed since it was listed. Throws `TableRefusedError` for
 * the remains of a log: a new version 0 beside them would make one table out of two.
 */
async function isEmpty(log: LogStore): Promise<boolean> {
  const name = await log.remains();
  if (name === null) return true;
  if ((await listVersions(log, 0)).length > 0) return false;
  throw new TableRefusedError(
    `_delta_log has neither a commit nor a complete checkpoint, but it has ${name}: these are the remains of a table's log. Nothing was written. Restore the missing files of _delta_log from a backup or from the bucket's old versions; to create the table anew, remove _delta_log first`,
  );
}

async function hintedVersion(log: LogStore): Promise<number | null> {
  const body = await log.read("_last_checkpoint");
  if (body === null) return null;
  try {
    const hint: unknown = JSON.parse(new TextDecoder().decode(body));
    const version = typeof hint === "object" && hint !== null && "version" in hint ? hint.version : null;
    return typeof version === "number" && Number.isSafeInteger(version) && version >= 0 ? version : null;
  } catch {
    // Written without care for readers at the same moment (Delta protocol, "Last Checkpoint File"): only a hint.
    return null;
  }
}

/** Gives each action of the segment that can be of one of the kinds, oldest first, with its version. */
async function* replay(
  log: LogStore,
  { checkpoint, versions }: LogSegment,
  kinds: readonly (keyof Action)[],
): AsyncIterable<{ version: number; actions: readonly Action[] }> {
  if (checkpoint !== null) {
    yield { version: checkpoint.version, actions: await readCheckpoint(log, checkpoint, kinds) };
  }
  yield* readCommits(log, versions);
}

/**
 * The newest state; null when there is no table. Cost: the newest checkpoint and each commit after it. Throws
 * `TableRefusedError` for a log with gaps, or one that cannot be read.
 */
export async function readSnapshot(log: LogStore): Promise<Snapshot | null> {
  const segment = await readLogSegment(log);
  if (segment === null) return null;
  let state: PartialSnapshot = { version: 0, transactions: new Map() };
  for await (const { version, actions } of replay(log, segment, ["protocol", "metaData", "txn"])) {
    state = after(state, version, actions);
  }
  return { ...state, ...requireTableState(state.protocol, state.metadata) };
}

/** The newest state, given one read earlier: only what was committed since is read. */
export async function refreshed(log: LogStore, earlier: Snapshot): Promise<Snapshot | null> {
  const [first, ...versions] = await listVersions(log, earlier.version);
  // Gone from the log: cleaned up, or the table was made anew.
  if (first !== earlier.version) return await readSnapshot(log);
  let snapshot = earlier;
  for await (const { version, actions } of readCommits(log, versions)) {
    snapshot = advanced(snapshot, version, actions);
  }
  requireTableState(snapshot.protocol, snapshot.metadata);
  return snapshot;
}

/** The snapshot after one more version. What its last one has in force is still to be judged: see `requireTableState`. */
export function advanced(snapshot: Snapshot, version: number, actions: readonly Action[]): Snapshot {
  return { ...snapshot, ...after(snapshot, version, actions) };
}

type PartialSnapshot = Pick<Snapshot, "version" | "transactions"> &
  Partial<Pick<Snapshot, "protocol" | "metadata">>;

function after<State extends PartialSnapshot>(
  state: State,
  version: number,
  actions: readonly Action[],
): State {
  let next = { ...state, version };
  for (const { protocol, metaData, txn } of actions) {
    if (protocol !== undefined) next = { ...next, protocol };
    if (metaData !== undefined) next = { ...next, metadata: metaData };
    if (txn !== undefined) {
      next = { ...next, transactions: new Map(next.transactions).set(txn.appId, txn.version) };
    }
  }
  return next;
}
