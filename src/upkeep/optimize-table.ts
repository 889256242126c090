import type { Add } from "@deltacap/delta";
import {
  DataFileReader,
  fileColumnsOf,
  LogFollower,
  liveFiles,
  objectPath,
  readAhead,
  readSnapshot,
  requireRewritable,
  statedDeletedRows,
  statedRows,
  TableRefusedError,
  UnreadableFileError,
} from "@deltacap/delta";
import type { ColumnDefinition } from "@deltacap/parquet";
import { ParquetFile, type WrittenFile } from "@deltacap/parquet";
import { requireIdentity } from "../commit/table-identity.ts";
import { packetTable } from "../packets/packet-table.ts";
import { isCalendarDate, packetFolder, statedDate } from "../packets/partition-folder.ts";
import { commitRewrite, type RewritePorts } from "./commit-rewrite.ts";
import { mergeFiles, mergeInputs, type RowGroupLimits } from "./merge-files.ts";
import { type MergeInput, peakMemory } from "./merge-row-groups.ts";

/** Which files count as small, and how large the new ones become. */
export interface OptimizeLimits extends RowGroupLimits {
  /** A file under this size is rewritten with others. */
  readonly smallBytes: number;
  /** A file of which a greater share of rows is deleted by its deletion vector is rewritten, however large, and alone if need be. */
  readonly deletedShare: number;
  /** Files are taken together until they have so many bytes: about the size of what is written. */
  readonly fileBytes: number;
  /** Memory for rows of files that are being merged. */
  readonly mergeBytes: number;
  /** Small files that one run looks at; the next run goes on. */
  readonly filesPerRun: number;
}

/** Which dates are rewritten, until when. */
export interface OptimizeOptions {
  /** Only files of this date, `2026-01-31`. */
  readonly date?: string;
  /** Epoch milliseconds after which no further group of files is started. */
  readonly deadlineMs?: number;
  /** Called after each commit that put a file in the place of others. */
  readonly onCommit?: (progress: { version: number; removedFiles: number; file: WrittenFile }) => void;
}

/** What was rewritten. */
export interface OptimizeResult {
  /** The newest version that is known. */
  readonly version: number;
  readonly commits: number;
  readonly removedFiles: number;
  readonly removedBytes: number;
  readonly addedFiles: number;
  readonly addedBytes: number;
  readonly rows: number;
  /** Files that cannot be merged, and why. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  /** Groups of files that another writer was faster to take a file of: the next run sees what is left of them. */
  readonly givenUp: number;
  /** Why the run ended before its work was done; null where it was done. */
  readonly stopped: string | null;
}

interface OpenFile {
  readonly add: Add;
  readonly reader: DataFileReader;
}

/** Files to be merged into one; of a single file, or of none, it may be that nothing is to be gained. */
interface Group {
  readonly date: string | null;
  readonly files: readonly OpenFile[];
}

/** Footers that are read at once. */
const READ_AHEAD = 8;

/**
 * Rewrites the small files of each date into large ones, sorted, a commit a file; and files of which many rows are
 * deleted by a deletion vector. What is written has no deletion vector, and none of the deleted rows. Appends go on meanwhile and
 * never conflict; where another writer removed one of the files, or deleted rows of it, that group is given up. Files that cannot
 * be read as the table's are left out.
 *
 * Memory: `mergeBytes` for rows being merged, which bounds how many files are merged at once (their result is merged with
 * others by a later run), one row group being written, and the list of at most `filesPerRun` small files.
 *
 * Throws `TableRefusedError` before anything is written to a table whose files must not be rewritten, `CommitInDoubtError` when
 * the outcome of a commit is unknown: the next run sees what was committed.
 */
export async function optimizeTable(
  ports: RewritePorts,
  limits: OptimizeLimits,
  options: OptimizeOptions = {},
): Promise<OptimizeResult> {
  await ports.log.repair();
  const snapshot = await readSnapshot(ports.log);
  if (snapshot === null) throw new TableRefusedError("there is no table: its log is empty");
  const { version, protocol, metadata } = snapshot;
  requireIdentity(metadata, packetTable);
  requireRewritable(protocol, metadata, packetTable.partitionColumn, "OPTIMIZE");
  const run = new OptimizeRun(ports, limits, options, fileColumnsOf(metadata));
  return await run.optimize(version);
}

class OptimizeRun {
  readonly #ports: RewritePorts;
  readonly #limits: OptimizeLimits;
  readonly #options: OptimizeOptions;
  readonly #columns: readonly ColumnDefinition[];
  readonly #leftOut: { path: string; reason: string }[] = [];
  readonly #commits: { removed: readonly Add[]; file: WrittenFile | null }[] = [];
  #givenUp = 0;

  constructor(
    ports: RewritePorts,
    limits: OptimizeLimits,
    options: OptimizeOptions,
    columns: readonly ColumnDefinition[],
  ) {
    this.#ports = ports;
    this.#limits = limits;
    this.#options = options;
    this.#columns = columns;
  }

  async optimize(version: number): Promise<OptimizeResult> {
    const dates = await this.#filesToRewrite(version);
    const follower = new LogFollower(this.#ports.log, version, [...dates.values()].flat());
    const stopped = await this.#optimizeDates(dates, follower);
    const removed = this.#commits.flatMap((commit) => commit.removed);
    const added = this.#commits.flatMap(({ file }) => file ?? []);
    return {
      version: follower.version,
      commits: this.#commits.length,
      removedFiles: removed.length,
      removedBytes: removed.reduce((sum, { size }) => sum + size, 0),
      addedFiles: added.length,
      addedBytes: added.reduce((sum, { size }) => sum + size, 0),
      rows: added.reduce((sum, { rows }) => sum + rows, 0),
      leftOut: this.#leftOut,
      givenUp: this.#givenUp,
      stopped,
    };
  }

  /** By date: that with most of them first, since a reader gains most there. */
  async #filesToRewrite(version: number): Promise<Map<string | null, Add[]>> {
    const dates = new Map<string | null, Add[]>();
    let files = 0;
    for await (const batch of liveFiles(this.#ports.log, version)) {
      for (const add of batch) {
        // Of every file: one that is left as it is may be the same as another under a second name.
        const path = objectPath(add.path);
        if (files === this.#limits.filesPerRun) continue;
        if (add.size >= this.#limits.smallBytes && !this.#hasManyDeleted(add)) continue;
        const date = statedDate(add.partitionValues);
        if (this.#options.date !== undefined && date !== this.#options.date) continue;
        if (date !== null && !isCalendarDate(date)) {
          this.#leftOut.push({
            path,
            reason: `its date is not one of the calendar: ${JSON.stringify(date)}`,
          });
        } else {
          const adds = dates.get(date);
          if (adds === undefined) dates.set(date, [add]);
          else adds.push(add);
          files++;
        }
      }
    }
    // In the order of their making, which is nearly that of their times, whatever order the log gives them in.
    const order = (a: Add, b: Add) => a.modificationTime - b.modificationTime || (a.path < b.path ? -1 : 1);
    for (const adds of dates.values()) adds.sort(order);
    return new Map(
      [...dates]
        .filter(([, adds]) => this.#isWorthwhile(adds.map((add) => ({ add }))))
        .sort(([, a], [, b]) => b.length - a.length),
    );
  }

  #hasManyDeleted(add: Add): boolean {
    const rows = statedRows(add);
    return rows !== null && statedDeletedRows(add) > this.#limits.deletedShare * rows;
  }

  /** Whether there is anything to be gained by rewriting the files into one. */
  #isWorthwhile(files: readonly { readonly add: Add }[]): boolean {
    return files.length > 1 || files.some(({ add }) => this.#hasManyDeleted(add));
  }

  /** Gives the reason why it ended early, else null. */
  async #optimizeDates(
    dates: ReadonlyMap<string | null, readonly Add[]>,
    follower: LogFollower,
  ): Promise<string | null> {
    const { deadlineMs = Number.POSITIVE_INFINITY } = this.#options;
    for (const [date, adds] of dates) {
      for await (const group of this.#groups(date, adds)) {
        if (!this.#isWorthwhile(group.files)) continue;
        if (this.#ports.now() >= deadlineMs) return "the time was up; the next run goes on";
        await follower.advance();
        if (follower.changed === null) await this.#rewrite(group, follower);
        if (follower.changed !== null) return `${follower.changed}; the next run goes on`;
      }
    }
    return null;
  }

  /** Files of one date, as many at a time as become one file and fit into memory; opened when they are asked for. */
  async *#groups(date: string | null, adds: readonly Add[]): AsyncGenerator<Group> {
    const { fileBytes, mergeBytes, smallBytes } = this.#limits;
    let files: OpenFile[] = [];
    let bytes = 0;
    let memory = new MergeMemory(this.#columns, mergeBytes);
    const taken = (): OpenFile[] => {
      const group = files;
      files = [];
      bytes = 0;
      memory = new MergeMemory(this.#columns, mergeBytes);
      return group;
    };
    for await (const file of readAhead(adds, READ_AHEAD, async (add) => await this.#open(add))) {
      if (file === null) continue;
      if (!new MergeMemory(this.#columns, mergeBytes).takes(file.reader)) {
        const reason =
          "its row groups are too large to be merged (setting mergeBytes): Spark's OPTIMIZE can write it with smaller ones";
        this.#leftOut.push({ path: file.reader.path, reason });
      } else if (file.add.size >= smallBytes) {
        // Large enough by itself: it is here for its deleted rows.
        yield { date, files: [file] };
      } else {
        if (!memory.takes(file.reader)) {
          yield { date, files: taken() };
          memory.takes(file.reader);
        }
        files.push(file);
        bytes += file.add.size;
        if (bytes >= fileBytes) yield { date, files: taken() };
      }
    }
    yield { date, files: taken() };
  }

  /** Null for a file that cannot be merged. */
  async #open(add: Add): Promise<OpenFile | null> {
    try {
      const { table, decompressors } = this.#ports;
      return { add, reader: await DataFileReader.open(table, add, this.#columns, decompressors) };
    } catch (error) {
      if (!(error instanceof UnreadableFileError)) throw error;
      this.#leftOut.push({ path: error.path, reason: error.message });
      return null;
    }
  }

  /** Writes the group's rows into one file, and commits it in the place of the group's. */
  async #rewrite({ date, files }: Group, follower: LogFollower): Promise<void> {
    const free = files.filter(({ add }) => !follower.isTaken(add));
    if (!this.#isWorthwhile(free)) {
      this.#givenUp += free.length < files.length ? 1 : 0;
      return;
    }
    const merged = await this.#merged(
      date,
      free.map(({ reader }) => reader),
    );
    if (merged === null) {
      const bad = new Set(this.#leftOut.map(({ path }) => path));
      return await this.#rewrite(
        { date, files: free.filter(({ reader }) => !bad.has(reader.path)) },
        follower,
      );
    }
    const { file } = merged;
    const removed = free.map(({ add }) => add);
    const committed = await commitRewrite(this.#ports, follower, () =>
      removed.some((add) => follower.isTaken(add))
        ? null
        : { operation: "OPTIMIZE", predicate: null, removed, added: file === null ? [] : [file] },
    );
    if (committed === null) {
      this.#givenUp++;
      return;
    }
    this.#commits.push({ removed, file });
    if (file === null) return;
    this.#options.onCommit?.({ version: committed.version, removedFiles: removed.length, file });
  }

  /**
   * One file of all rows, or none where all are deleted. Null where one of the files turned out to be unreadable, which is then
   * among those left out.
   */
  async #merged(
    date: string | null,
    readers: readonly DataFileReader[],
  ): Promise<{ readonly file: WrittenFile | null } | null> {
    const rows = readers.reduce((sum, reader) => sum + reader.rows, 0);
    if (rows === 0) return { file: null };
    const path = `${packetFolder(date)}/${this.#ports.newId()}-00000.parquet`;
    const { table, parquet } = this.#ports;
    const output = new ParquetFile(path, date, parquet, (name) => table.create(name), this.#columns);
    try {
      await mergeFiles(readers, this.#columns, this.#limits, output);
      const file = await output.finish();
      if (file.rows !== rows)
        throw new Error(`${path} has ${file.rows} rows, and the files it is made of ${rows}`);
      return { file };
    } catch (error) {
      await output.abort();
      if (!(error instanceof UnreadableFileError)) throw error;
      this.#leftOut.push({ path: error.path, reason: error.message });
      return null;
    }
  }
}

/** Keeps count of what merging some files would take. */
class MergeMemory {
  readonly #columns: readonly ColumnDefinition[];
  readonly #limit: number;
  #inputs: MergeInput[] = [];
  #footers = 0;
  /** At least what the inputs take. */
  #estimate = 0;

  constructor(columns: readonly ColumnDefinition[], limit: number) {
    this.#columns = columns;
    this.#limit = limit;
  }

  /** Adds the file, if the memory suffices for it too. */
  takes(reader: DataFileReader): boolean {
    const inputs = mergeInputs([reader], this.#columns);
    const all = [...this.#inputs, ...inputs];
    const footers = this.#footers + reader.openBytes;
    let estimate = inputs.reduce(
      (sum, { memoryBytes, readingBytes }) => sum + memoryBytes + readingBytes,
      this.#estimate,
    );
    // Looking closely costs a pass over all: only when the sum of everything since the last look is too much.
    if (estimate + footers > this.#limit) estimate = peakMemory(all);
    if (estimate + footers > this.#limit) return false;
    this.#inputs = all;
    this.#footers = footers;
    this.#estimate = estimate;
    return true;
  }
}
