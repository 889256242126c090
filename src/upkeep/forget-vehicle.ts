import type { Add, RowGroupSummary } from "@deltacap/delta";
import {
  DataFileReader,
  fileColumnsOf,
  hasDeletionVector,
  LogFollower,
  liveFiles,
  mayHoldText,
  objectPath,
  readSnapshot,
  requireRewritable,
  TableRefusedError,
  UnreadableFileError,
} from "@deltacap/delta";
import type { Column, ColumnDefinition, SparseRowGroup } from "@deltacap/parquet";
import { compareUtf8, ParquetFile, type WrittenFile } from "@deltacap/parquet";
import { requireIdentity } from "../commit/table-identity.ts";
import type { SourceId } from "../manifest/source-id.ts";
import { packetTable } from "../packets/packet-table.ts";
import { packetFolder, requireCalendarDate, statedDate } from "../packets/partition-folder.ts";
import { commitRewrite, type RewritePorts } from "./commit-rewrite.ts";
import { filterFile, type RowFilter, type RowGroupLimits } from "./merge-files.ts";

/** What a commit of `forget` may hold, and a file in memory. */
export interface ForgetLimits extends RowGroupLimits {
  /** Memory that reading one row group may take: a file with a larger one is named as remaining. */
  readonly readBytes: number;
}

/** What limits the run, and what is called meanwhile. */
export interface ForgetOptions {
  /** Epoch milliseconds after which no further file is started. */
  readonly deadlineMs?: number;
  /** Called after each commit. */
  readonly onCommit?: (progress: { version: number; removedFiles: number; rows: number }) => void;
}

/** What was removed, and what may still hold rows of the vehicle. */
export interface ForgetResult {
  /** The newest version that is known. */
  readonly version: number;
  readonly commits: number;
  /** Of the vehicle, gone from the newest version. */
  readonly rows: number;
  /** Files that had nothing else. */
  readonly removedFiles: number;
  /** Files whose other rows were written anew. */
  readonly rewrittenFiles: number;
  /** Files with rows of the vehicle that came, or were written anew by others, while it was being forgotten; done too. */
  readonly lateFiles: number;
  /** Files that may still have rows of the vehicle, and why. */
  readonly remaining: readonly { readonly path: string; readonly reason: string }[];
  /** Why the run ended before its work was done; null where it was done. */
  readonly stopped: string | null;
}

const VEHICLE = "vehicle_id";
const SOURCE = "source_id";
const VEHICLE_ONLY: ReadonlySet<string> = new Set([VEHICLE]);
const SOURCE_ONLY: ReadonlySet<string> = new Set([SOURCE]);
/** Files that one commit replaces: what a conflict costs at most is their bookkeeping, and a crash their rewriting. */
const FILES_PER_COMMIT = 100;
/** Files that are listed at once: each takes about a kilobyte. */
const FILES_PER_ROUND = 20_000;
/** Rounds in a row that get nowhere, since others take every file first. */
const MAXIMUM_IDLE_ROUNDS = 3;

/**
 * Removes a vehicle's rows from the table's newest version: files that have nothing else are removed, others written
 * anew without them. Files that appends or other writers bring meanwhile are looked at too, until none is left; captures of the
 * vehicle that are ingested later come in as ever. Rows of it that a deletion vector deletes already are still in their file: it is
 * written anew as well, without any of the deleted rows, so that its bytes go too.
 *
 * What it does not do: the old files' bytes stay in the folder until vacuum deletes them, after the retention; raw captures in
 * their bucket are not touched; the log keeps what statistics and tags say. The captures' sources stay known, and the commits' tags
 * name them as forgotten, so that none of them is ingested again unasked.
 *
 * Memory: one row group being read (`readBytes`) and one being written, the list of files in pieces. Throws `TableRefusedError` before anything
 * is written to a table of which rows must not be removed.
 */
export async function forgetVehicle(
  vehicleId: string,
  ports: RewritePorts,
  limits: ForgetLimits,
  options: ForgetOptions = {},
): Promise<ForgetResult> {
  await ports.log.repair();
  const run = new ForgetRun(vehicleId, ports, limits, options);
  return await run.forget();
}

/** A file without the vehicle's rows; `file` is null where it had nothing else. */
interface Replacement {
  readonly add: Add;
  readonly file: WrittenFile | null;
  /** Of the vehicle. */
  readonly rows: number;
  /** Of which the vehicle's rows are. */
  readonly sources: ReadonlySet<SourceId>;
}

class ForgetRun {
  readonly #vehicleId: string;
  readonly #ports: RewritePorts;
  readonly #limits: ForgetLimits;
  readonly #options: ForgetOptions;
  /** Paths of files that were looked at, and have no row of the vehicle. */
  readonly #clean = new Set<string>();
  readonly #unreadable = new Map<string, string>();
  readonly #done: Replacement[] = [];
  /** The table's, as of the newest round. */
  #columns: readonly ColumnDefinition[] = [];
  #version = 0;
  #commits = 0;
  #lateFiles = 0;
  #stopped: string | null = null;

  constructor(vehicleId: string, ports: RewritePorts, limits: ForgetLimits, options: ForgetOptions) {
    this.#vehicleId = vehicleId;
    this.#ports = ports;
    this.#limits = limits;
    this.#options = options;
  }

  async forget(): Promise<ForgetResult> {
    let idleRounds = 0;
    let isLate = false;
    let files = await this.#round();
    while (files.length > 0 && this.#stopped === null && idleRounds < MAXIMUM_IDLE_ROUNDS) {
      const before = this.#clean.size + this.#unreadable.size + this.#done.length;
      const doneBefore = this.#done.length;
      await this.#forgetFiles(files);
      if (isLate) this.#lateFiles += this.#done.length - doneBefore;
      // A full list is one of several pieces of what was there from the beginning.
      isLate ||= files.length < FILES_PER_ROUND;
      idleRounds = this.#clean.size + this.#unreadable.size + this.#done.length > before ? 0 : idleRounds + 1;
      files = await this.#round();
    }
    const left = files.map((add) => ({
      path: objectPath(add.path),
      reason: this.#stopped ?? "other writers were faster each time",
    }));
    return {
      version: this.#version,
      commits: this.#commits,
      rows: this.#done.reduce((sum, { rows }) => sum + rows, 0),
      removedFiles: this.#done.filter(({ file }) => file === null).length,
      rewrittenFiles: this.#done.filter(({ file }) => file !== null).length,
      lateFiles: this.#lateFiles,
      remaining: [...[...this.#unreadable].map(([path, reason]) => ({ path, reason })), ...left],
      stopped: this.#stopped,
    };
  }

  /** Files of the newest version that may have rows of the vehicle and were not looked at; at most so many. */
  async #round(): Promise<Add[]> {
    const snapshot = await readSnapshot(this.#ports.log);
    if (snapshot === null) throw new TableRefusedError("there is no table: its log is empty");
    const { version, protocol, metadata } = snapshot;
    requireIdentity(metadata, packetTable);
    requireRewritable(protocol, metadata, packetTable.partitionColumn, "DELETE");
    this.#columns = fileColumnsOf(metadata);
    this.#version = version;
    const files: Add[] = [];
    for await (const batch of liveFiles(this.#ports.log, version)) {
      for (const add of batch) {
        // Of every file: one that is passed over may be the same as another under a second name.
        const path = objectPath(add.path);
        requireCalendarDate(add);
        if (files.length === FILES_PER_ROUND || !mayStore(add, this.#vehicleId)) continue;
        if (!this.#clean.has(path) && !this.#unreadable.has(path)) files.push(add);
      }
    }
    return files;
  }

  /** Looks at each file, and commits those that had rows of the vehicle some at a time. */
  async #forgetFiles(files: readonly Add[]): Promise<void> {
    const { deadlineMs = Number.POSITIVE_INFINITY } = this.#options;
    const follower = new LogFollower(this.#ports.log, this.#version, files);
    let waiting: Replacement[] = [];
    for (const add of files) {
      if (this.#ports.now() >= deadlineMs) {
        this.#stopped = "the time was up; run it again";
        break;
      }
      const replacement = await this.#replacement(add);
      if (replacement !== null) waiting.push(replacement);
      if (waiting.length < FILES_PER_COMMIT) continue;
      await this.#commit(waiting, follower);
      waiting = [];
      // What was read of the table no longer holds: the next round reads it anew.
      if (follower.changed !== null) return;
    }
    await this.#commit(waiting, follower);
  }

  /** Files that others took meanwhile are left to the next round, which finds their rows where they are now. */
  async #commit(replacements: readonly Replacement[], follower: LogFollower): Promise<void> {
    let free = replacements;
    const committed = await commitRewrite(this.#ports, follower, () => {
      free = replacements.filter(({ add }) => !follower.isTaken(add));
      if (free.length === 0) return null;
      return {
        operation: "DELETE",
        predicate: `(${VEHICLE} = '${this.#vehicleId.replaceAll("'", "''")}')`,
        removed: free.map(({ add }) => add),
        added: free.flatMap(({ file }) => file ?? []),
        deletedRows: rowsOf(free),
        forgotten: [...new Set(free.flatMap(({ sources }) => [...sources]))].sort(),
      };
    });
    this.#version = follower.version;
    if (committed === null) return;
    this.#commits++;
    this.#done.push(...free);
    this.#options.onCommit?.({ version: committed.version, removedFiles: free.length, rows: rowsOf(free) });
  }

  /** Null where the file has no row of the vehicle, or cannot be read: both are noted. */
  async #replacement(add: Add): Promise<Replacement | null> {
    try {
      const { table, decompressors } = this.#ports;
      const reader = await DataFileReader.open(table, add, this.#columns, decompressors);
      const { live, stored, sources } = await this.#countRows(reader);
      if (stored === 0) {
        this.#clean.add(reader.path);
        return null;
      }
      const file = live === reader.rows ? null : await this.#withoutRows(reader, live, add);
      return { add, file, rows: live, sources };
    } catch (error) {
      if (!(error instanceof UnreadableFileError)) throw error;
      this.#unreadable.set(error.path, error.message);
      return null;
    }
  }

  /**
   * Of the vehicle: those of the table, all that are in the file, and their sources. Reads that one column of row groups that may have
   * the vehicle, and the sources' column of those that do.
   */
  async #countRows(
    reader: DataFileReader,
  ): Promise<{ live: number; stored: number; sources: Set<SourceId> }> {
    const keep = withoutVehicle(this.#columns, this.#vehicleId);
    let live = 0;
    let stored = 0;
    const sources = new Set<SourceId>();
    const sourceAt = this.#columns.findIndex(({ name }) => name === SOURCE);
    for (const [index, summary] of reader.rowGroups.entries()) {
      if (!mayHoldVehicle(summary, this.#vehicleId)) continue;
      requireReadable(reader.path, summary, this.#limits);
      const group = await reader.readStored(index, VEHICLE_ONLY);
      let found = 0;
      for (let row = 0; row < group.rows; row++) if (!keep(group, row)) found++;
      if (found === 0) continue;
      stored += found;
      const { columns } = await reader.readStored(index, SOURCE_ONLY);
      addSources(columns[sourceAt], (row) => !keep(group, row), sources);
      for (const { from, to } of reader.liveSpans(index)) {
        for (let row = from; row < to; row++) if (!keep(group, row)) live++;
      }
    }
    return { live, stored, sources };
  }

  async #withoutRows(reader: DataFileReader, rows: number, add: Add): Promise<WrittenFile> {
    const { table, parquet } = this.#ports;
    const date = statedDate(add.partitionValues);
    const path = `${packetFolder(date)}/${this.#ports.newId()}-00000.parquet`;
    const output = new ParquetFile(path, date, parquet, (name) => table.create(name), this.#columns);
    try {
      const keep = withoutVehicle(this.#columns, this.#vehicleId);
      for (const summary of reader.rowGroups) requireReadable(reader.path, summary, this.#limits);
      await filterFile(reader, this.#columns, keep, this.#limits, output);
      const file = await output.finish();
      if (file.rows !== reader.rows - rows) {
        throw new Error(`${path} has ${file.rows} rows, and must have ${reader.rows} less ${rows}`);
      }
      return file;
    } catch (error) {
      await output.abort();
      throw error;
    }
  }
}

/** Adds the sources of the rows that are chosen. */
function addSources(
  column: Column | null | undefined,
  isChosen: (row: number) => boolean,
  sources: Set<SourceId>,
): void {
  if (column?.kind !== "string") return;
  const { codes, dictionary } = column;
  let last = -1;
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row] ?? -1;
    // Rows of a source lie together.
    if (code === last || !isChosen(row)) continue;
    last = code;
    const id = dictionary[code];
    if (id !== undefined) sources.add(id);
  }
}

function requireReadable(
  path: string,
  { rows, memoryBytes, readingBytes }: RowGroupSummary,
  { readBytes }: ForgetLimits,
): void {
  const bytes = memoryBytes + readingBytes;
  if (bytes <= readBytes) return;
  throw new UnreadableFileError(
    path,
    `has a row group of ${rows} rows, which takes some ${bytes} bytes to be read, and ${readBytes} are allowed (setting readBytes): let Spark's DELETE remove the vehicle's rows, or rewrite the file with smaller row groups`,
  );
}

/**
 * Whether the file may have rows of the vehicle, deleted ones included. Where it has a deletion vector the log's statistics may be
 * those of the rows that are left (Delta protocol, "Per-file Statistics"): its footer will say.
 */
function mayStore(add: Add, vehicleId: string): boolean {
  return hasDeletionVector(add) || mayHoldText(add, VEHICLE, vehicleId);
}

function rowsOf(replacements: readonly Replacement[]): number {
  return replacements.reduce((sum, { rows }) => sum + rows, 0);
}

/** Whether a row is of another vehicle, or of none. */
function withoutVehicle(columns: readonly ColumnDefinition[], vehicleId: string): RowFilter {
  const index = columns.findIndex(({ name }) => name === VEHICLE);
  let last: SparseRowGroup | null = null;
  let codes: Int32Array | null = null;
  let forgotten = -1;
  return (group, row) => {
    if (group !== last) {
      const column = group.columns[index] ?? null;
      last = group;
      codes = column?.kind === "string" ? column.codes : null;
      forgotten = column?.kind === "string" ? column.dictionary.indexOf(vehicleId) : -1;
    }
    // Null rows have the code -1, as a vehicle has that is not in the dictionary.
    return codes === null || forgotten < 0 || codes[row] !== forgotten;
  };
}

function mayHoldVehicle({ rows, ranges }: RowGroupSummary, vehicleId: string): boolean {
  const range = ranges.get(VEHICLE);
  if (range === undefined || range.nullCount === rows) return false;
  if (typeof range.min === "string" && compareUtf8(vehicleId, range.min) < 0) return false;
  return !(
    typeof range.max === "string" &&
    compareUtf8(vehicleId, range.max) > 0 &&
    !vehicleId.startsWith(range.max)
  );
}
