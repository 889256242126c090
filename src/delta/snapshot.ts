import { TableRefusedError } from "../errors.ts";
import { type Action, type Add, type Metadata, type Protocol, parseActions } from "./actions.ts";
import { decodedPath } from "./commit-body.ts";
import { commitFileName, type LogStore } from "./log-store.ts";

/** What committing needs of a table's state: never the list of its files. */
export interface Snapshot {
  readonly version: number;
  readonly protocol: Protocol;
  readonly metadata: Metadata;
}

const COMMIT_FILE = /^(\d{20})\.json$/;

/** Versions in the log from `from` on, in order. Throws `TableRefusedError` for a gap. */
export async function listVersions(log: LogStore, from: number): Promise<number[]> {
  const versions: number[] = [];
  for await (const { name } of log.list(commitFileName(from))) {
    const match = COMMIT_FILE.exec(name);
    if (match === null) continue;
    const version = Number(match[1]);
    const before = versions.at(-1);
    if (before !== undefined && version !== before + 1) {
      throw new TableRefusedError(
        `the log has a gap: version ${before} is followed by ${version}. Restore the missing commits; nothing was written`,
      );
    }
    versions.push(version);
  }
  return versions;
}

/** The commit's actions. Throws `TableRefusedError` when the version is not in the log. */
export async function readCommit(log: LogStore, version: number): Promise<Action[]> {
  const name = commitFileName(version);
  const body = await log.read(name);
  if (body === null)
    throw new TableRefusedError(`${name} is missing from the log. Restore it; nothing was written`);
  return parseActions(body, name);
}

/** The newest state, replayed from version 0 on; null when there is no table. Cost: one read a version. */
export async function readSnapshot(log: LogStore): Promise<Snapshot | null> {
  const versions = await listVersions(log, 0);
  if (versions.length === 0) return null;
  let protocol: Protocol | undefined;
  let metadata: Metadata | undefined;
  for (const version of versions) {
    for (const action of await readCommit(log, version)) {
      protocol = action.protocol ?? protocol;
      metadata = action.metaData ?? metadata;
    }
  }
  if (protocol === undefined || metadata === undefined) {
    throw new TableRefusedError(
      "the log has no protocol or no metadata: it does not begin with a table's creation",
    );
  }
  return { version: versions.at(-1) ?? 0, protocol, metadata };
}

/** The snapshot after one more version. */
export function advanced(snapshot: Snapshot, version: number, actions: readonly Action[]): Snapshot {
  let { protocol, metadata } = snapshot;
  for (const action of actions) {
    protocol = action.protocol ?? protocol;
    metadata = action.metaData ?? metadata;
  }
  return { version, protocol, metadata };
}

/** A file of the newest version. */
export interface LiveFile {
  /** Relative to the table's folder, not encoded. */
  readonly path: string;
  readonly size: number;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  /** From the statistics; null where the file has none. */
  readonly rows: number | null;
  /** Version that added it. */
  readonly version: number;
}

/** Files of the newest version, in the order in which they were added. */
export async function liveFiles(log: LogStore): Promise<LiveFile[]> {
  const live = new Map<string, LiveFile>();
  for (const version of await listVersions(log, 0)) {
    for (const { add, remove } of await readCommit(log, version)) {
      if (remove !== undefined) live.delete(remove.path);
      if (add !== undefined) live.set(add.path, liveFile(add, version));
    }
  }
  return [...live.values()];
}

function liveFile(add: Add, version: number): LiveFile {
  if (add.deletionVector !== undefined && add.deletionVector !== null) {
    throw new TableRefusedError(
      `${add.path} has a deletion vector, which deltacap does not read: use Spark for this table`,
    );
  }
  const stats = add.stats === undefined ? {} : (JSON.parse(add.stats) as { numRecords?: number });
  return {
    path: decodedPath(add.path),
    size: add.size,
    partitionValues: add.partitionValues,
    rows: stats.numRecords ?? null,
    version,
  };
}
