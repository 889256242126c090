import { parseActions } from "../actions/actions.ts";
import { CommitInDoubtError, NothingWrittenError, RetryableError } from "../errors.ts";
import { type CommitOutcome, commitFileName, type LogFile, type LogStore } from "./log-store.ts";
import type { ObjectStore } from "./object-store.ts";

const LOG_FOLDER = "_delta_log/";
/** Temporary files of commits by Spark's log store. A crash before the first commit leaves nothing else. */
const TEMPORARY = ".tmp/";
/** Sorts behind all that lies in the folder of temporary files. */
const BEHIND_TEMPORARY = ".tmp0";
/** Hidden files are nobody's, but for the checksums that Hadoop keeps beside a log's files. */
const HADOOP_CHECKSUM = /^\.(?:\d{20}\.|_last_checkpoint)/;

/**
 * The log store that needs nothing but put-if-absent: a folder, or S3 with `If-None-Match`. Not
 * for tables that Spark writes to on S3, whose log store does not look whether a version is there.
 */
export class ConditionalLogStore implements LogStore {
  readonly #store: ObjectStore;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** A put is whole or not there: there is nothing to repair. */
  async repair(): Promise<void> {}

  async *list(from: string): AsyncIterable<LogFile> {
    // `startAfter` excludes: begin just before `from`, and leave out what sorts below it.
    const before = from === "" ? "" : LOG_FOLDER + from.slice(0, -1);
    for await (const { path, size, modifiedMs } of this.#store.list(LOG_FOLDER, before)) {
      const name = path.slice(LOG_FOLDER.length);
      if (name >= from && !name.includes("/")) yield { name, size, modifiedMs };
    }
  }

  async remains(): Promise<string | null> {
    let after = "";
    for (;;) {
      let isTemporary = false;
      for await (const { path } of this.#store.list(LOG_FOLDER, after)) {
        const name = path.slice(LOG_FOLDER.length);
        isTemporary = name.startsWith(TEMPORARY);
        // There may be a temporary file for each commit of a month: the listing goes on behind them.
        if (isTemporary) break;
        if (isLogFile(name)) return name;
      }
      if (!isTemporary) return null;
      after = LOG_FOLDER + BEHIND_TEMPORARY;
    }
  }

  read(name: string, range?: { start: number; length: number }): Promise<Uint8Array | null> {
    return this.#store.read(LOG_FOLDER + name, range);
  }

  async commit(version: number, body: Uint8Array): Promise<CommitOutcome> {
    const name = commitFileName(version);
    const own = txnIdOf(body, name);
    if (own === null) throw new Error(`the body of version ${version} has no txnId in its commitInfo`);
    let failure: RetryableError | null = null;
    try {
      // The commit point.
      if ((await this.#store.putIfAbsent(LOG_FOLDER + name, body)) === "created") return "committed";
    } catch (error) {
      if (!(error instanceof RetryableError) || error instanceof NothingWrittenError) throw error;
      failure = error;
    }
    // A put whose answer was lost, and one that was sent again and then found its own file, have succeeded.
    const existing = await this.#readIfPossible(name);
    if (existing !== null) return txnIdOf(existing, name) === own ? "committed" : "conflict";
    throw inDoubt(version, failure);
  }

  async #readIfPossible(name: string): Promise<Uint8Array | null> {
    try {
      return await this.read(name);
    } catch (error) {
      if (error instanceof RetryableError) return null;
      throw error;
    }
  }
}

/** S3's consoles keep folders as objects whose name is empty or ends in a slash. */
function isLogFile(name: string): boolean {
  if (name === "" || name.endsWith("/")) return false;
  return !name.startsWith(".") || HADOOP_CHECKSUM.test(name);
}

/** A put without an answer may still arrive, so that a file that is missing now proves nothing. */
function inDoubt(version: number, failure: RetryableError | null): CommitInDoubtError {
  const reason = failure?.message ?? "it exists, and cannot be read";
  return new CommitInDoubtError(
    `version ${version} may have been written or not (${reason}). Nothing was acknowledged; the next run finds out`,
    { cause: failure },
  );
}

/** Unique to a commit of ours, whose first line has it; null for other writers' commits. */
function txnIdOf(body: Uint8Array, file: string): string | null {
  const end = body.indexOf(10);
  const [first] = parseActions(end < 0 ? body : body.subarray(0, end), file);
  return first?.commitInfo?.txnId ?? null;
}
