import type { Action, ObjectInfo, ObjectStore } from "@deltacap/delta";
import {
  commitFileName,
  type LogStore,
  listVersions,
  ReferencedFiles,
  readCommits,
  reconcileLog,
  requireVacuumable,
  TableRefusedError,
  tombstoneRetention,
} from "@deltacap/delta";
import type { TableSchema } from "@deltacap/parquet";
import { requireIdentity } from "../commit/table-identity.ts";
import { packetTable } from "../packets/packet-table.ts";

/** What vacuum reaches the table through. */
export interface VacuumPorts {
  readonly log: LogStore;
  readonly table: ObjectStore;
  /** Milliseconds since 1970, by a clock that agrees with the store's. */
  readonly now: () => number;
}

/** What is deleted, and until when. */
export interface VacuumOptions {
  /** Milliseconds; by default the greater of {@link LEAST_RETENTION} and what the table's properties say. */
  readonly retentionMs?: number;
  /** Allows less than that: readers of older versions, and writers who take longer, lose files. */
  readonly allowShortRetention?: boolean;
  /** Deletes; otherwise it is only told what would be deleted. */
  readonly delete: boolean;
  /** Epoch milliseconds after which nothing more is deleted. */
  readonly deadlineMs?: number;
  /** The schema that the table must have; by default that of packets. */
  readonly schema?: TableSchema;
  /** Called for each file that is, or would be, deleted. */
  readonly onFile?: (file: ObjectInfo) => void;
}

/** What was, or would be, deleted. */
export interface VacuumResult {
  /** The newest version whose files were spared. */
  readonly version: number;
  readonly retentionMs: number;
  readonly deleted: boolean;
  readonly files: number;
  readonly bytes: number;
  /** Old files that no version refers to and that are not data files. They are left alone. */
  readonly otherFiles: number;
  /** Why the run ended before its work was done; null where it was done. */
  readonly stopped: string | null;
}

const HOUR = 3_600_000;
/** A query, a conversion whose manifest waits in a queue, a look at yesterday's table: a week, as Delta's default is. */
export const LEAST_RETENTION = 168 * HOUR;

/** As many as S3 deletes by one request. */
const BATCH = 1_000;
/** Follows `/` in byte order: with a folder's name before it, it sorts behind all that is in the folder. */
const BEHIND = "0";
const DATA_FILE = /\.parquet$|(?:^|\/)deletion_vector_[0-9a-f-]{36}\.bin$/;

/**
 * Deletes data files that no version of the last `retentionMs` refers to: those that were removed longer ago, and
 * those that are older and that nobody committed. A file that is younger stays, whoever refers to it: a converter's waits for
 * its commit. Hidden folders (`_delta_log`, `_manifests`, all that begin with `_` or `.`) are not looked into.
 *
 * Memory: the paths of the table's files. Cost: a listing of the table's folder. Throws `TableRefusedError`, before anything is
 * deleted, for a retention that is too short, for another table than packets, and for one of which it cannot be known which files
 * are its.
 */
export async function vacuumTable(ports: VacuumPorts, options: VacuumOptions): Promise<VacuumResult> {
  await ports.log.repair();
  const state = await reconcileLog(ports.log);
  if (state === null) throw new TableRefusedError("there is no table: its log is empty. Nothing was deleted");
  requireIdentity(state.metadata, options.schema ?? packetTable);
  requireVacuumable(state.protocol);
  const tableRetention = tombstoneRetention(state.metadata);
  const retentionMs = checkedRetention(tableRetention, options);
  const run = new VacuumRun(
    ports,
    options,
    state.version,
    state.metadata.partitionColumns,
    ports.now() - retentionMs,
  );
  for await (const actions of state.files()) run.spare(actions);
  // Checkpoints have forgotten removes that are older than the table asks for: the commits have not.
  if (retentionMs > (tableRetention ?? 0)) await run.spareCommitsSinceCutoff();
  const stopped = await run.deleteOthers();
  const { version, files, bytes, otherFiles } = run;
  return { version, retentionMs, deleted: options.delete, files, bytes, otherFiles, stopped };
}

function checkedRetention(tableRetention: number | null, options: VacuumOptions): number {
  if (tableRetention === null) {
    throw new TableRefusedError(
      "the table's property delta.deletedFileRetentionDuration is no interval: how long files must be kept is not known. Nothing was deleted",
    );
  }
  const least = Math.max(LEAST_RETENTION, tableRetention);
  const { retentionMs = least, allowShortRetention = false } = options;
  if (!(retentionMs >= 0)) throw new Error(`a retention of ${retentionMs} ms`);
  if (retentionMs < least && !allowShortRetention) {
    throw new TableRefusedError(
      `a retention of ${retentionMs / HOUR} hours: at least ${least / HOUR} are needed, so that neither readers of older versions nor captures whose commit is delayed lose files. Nothing was deleted; --allow-short-retention (allowShortRetention) accepts the risk`,
    );
  }
  return retentionMs;
}

class VacuumRun {
  /** All versions up to this one have been looked at. */
  version: number;
  files = 0;
  bytes = 0;
  otherFiles = 0;
  readonly #ports: VacuumPorts;
  readonly #options: VacuumOptions;
  readonly #partitionColumns: readonly string[];
  readonly #cutoffMs: number;
  readonly #referenced = new ReferencedFiles();

  constructor(
    ports: VacuumPorts,
    options: VacuumOptions,
    version: number,
    partitionColumns: readonly string[],
    cutoffMs: number,
  ) {
    this.#ports = ports;
    this.#options = options;
    this.version = version;
    this.#partitionColumns = partitionColumns;
    this.#cutoffMs = cutoffMs;
  }

  /** Spares files that are live, and those whose removal is not long enough ago; an unknown time is not. */
  spare(actions: readonly Action[]): void {
    for (const { add, remove } of actions) {
      if (add !== undefined) this.#referenced.add(add);
      if (remove === undefined) continue;
      if ((remove.deletionTimestamp ?? Number.POSITIVE_INFINITY) >= this.#cutoffMs)
        this.#referenced.add(remove);
    }
  }

  async spareCommitsSinceCutoff(): Promise<void> {
    const versions: number[] = [];
    for await (const { name, modifiedMs } of this.#ports.log.list(commitFileName(0))) {
      const [, version] = /^(\d{20})\.json$/.exec(name) ?? [];
      if (version !== undefined && modifiedMs >= this.#cutoffMs) versions.push(Number(version));
    }
    for await (const { actions } of readCommits(this.#ports.log, versions)) this.spare(actions);
  }

  /** Gives the reason why it ended early, else null. */
  async deleteOthers(): Promise<string | null> {
    let batch: ObjectInfo[] = [];
    for await (const file of this.#visibleFiles()) {
      if (file.modifiedMs >= this.#cutoffMs || this.#referenced.has(file.path)) continue;
      if (!DATA_FILE.test(file.path)) {
        this.otherFiles++;
        continue;
      }
      batch.push(file);
      if (batch.length < BATCH) continue;
      if (!(await this.#deleteBatch(batch))) return "the time was up; the next run goes on";
      batch = [];
    }
    return (await this.#deleteBatch(batch)) ? null : "the time was up; the next run goes on";
  }

  /** False once the time is up. */
  async #deleteBatch(batch: readonly ObjectInfo[]): Promise<boolean> {
    const { deadlineMs = Number.POSITIVE_INFINITY, onFile } = this.#options;
    if (batch.length > 0 && this.#ports.now() >= deadlineMs) return false;
    // Another writer may have brought a file back (RESTORE) since the log was read.
    if (batch.length > 0) await this.#spareNewCommits();
    const files = batch.filter(({ path }) => !this.#referenced.has(path));
    if (this.#options.delete && files.length > 0)
      await this.#ports.table.remove(files.map(({ path }) => path));
    for (const file of files) {
      this.files++;
      this.bytes += file.size;
      onFile?.(file);
    }
    return true;
  }

  async #spareNewCommits(): Promise<void> {
    const versions = await listVersions(this.#ports.log, this.version + 1);
    for await (const { version, actions } of readCommits(this.#ports.log, versions)) {
      for (const { protocol } of actions) if (protocol !== undefined) requireVacuumable(protocol);
      this.spare(actions);
      this.version = version;
    }
  }

  async *#visibleFiles(): AsyncGenerator<ObjectInfo> {
    let after = "";
    for (;;) {
      let hidden: string | null = null;
      for await (const file of this.#ports.table.list("", after)) {
        const segments = file.path.split("/");
        const at = segments.findIndex((segment) => this.#isHidden(segment));
        if (at < 0) yield file;
        else if (at === 0 && segments.length > 1) {
          // A hidden folder at the top, `_delta_log` above all, may have more objects than all others: listing goes on behind it.
          hidden = segments[0] ?? null;
          break;
        }
      }
      if (hidden === null) return;
      after = hidden + BEHIND;
    }
  }

  /** Partition folders are not, whatever the column's name begins with. */
  #isHidden(segment: string): boolean {
    if (!segment.startsWith("_") && !segment.startsWith(".")) return false;
    return !this.#partitionColumns.some((column) => segment.startsWith(`${column}=`));
  }
}
