import { CommitInDoubtError, NothingWrittenError, RetryableError, TableRefusedError } from "../errors.ts";
import { ConditionalLogStore } from "../stores/conditional-log-store.ts";
import { type CommitOutcome, commitFileName, type LogFile, type LogStore } from "../stores/log-store.ts";
import type { ObjectStore } from "../stores/object-store.ts";
import { type CommitItem, versionOf } from "./commit-item.ts";
import { type CommitItemName, CommitItems, type CommitItemsOptions } from "./commit-items.ts";

/** What the log store reaches S3 and DynamoDB through. */
export interface DynamoDbLogStoreOptions extends CommitItemsOptions {
  /** The Delta table's folder. */
  readonly store: ObjectStore;
  /** A fresh UUID. */
  readonly newId: () => string;
}

/** A commit whose item is not complete. */
export interface IncompleteCommit {
  readonly fileName: string;
  /**
   * Milliseconds since 1970 when it was prepared. Where its own files are gone, so that nobody can finish it, the time of the
   * version below it; 0 where that is gone, too.
   */
  readonly sinceMs: number;
  /** Why its item could not be completed; null where that was not tried. */
  readonly reason: string | null;
}

const LOG_FOLDER = "_delta_log/";
/** Newest items that every `repair` reads. Spark reads one; ours may leave the one before incomplete after a crash. */
const ITEMS_LOOKED_AT = 10;

interface Prepared {
  readonly version: number;
  readonly body: Uint8Array;
  readonly tempPath: string;
  readonly put: Promise<void>;
}

/**
 * The commit protocol that Spark's `S3DynamoDBLogStore` speaks, over S3 and a DynamoDB table; its steps are numbered
 * below. In the steady state, one writer that commits version after version, four requests a commit: the
 * temporary file, the item, N.json, and the item's completion, which nobody waits for.
 *
 * Recovery from a crash after each step:
 * - after the temporary file: nothing refers to it, a lifecycle rule removes it;
 * - after the item: whoever comes next (Spark's reader or writer, delta-rs, `repair`) puts the temporary file's bytes at
 *   N.json. The commit is in the table, and its writer finds its own batch there when it runs again;
 * - after N.json: the item is marked complete by whoever comes next. A completion that fails blocks nobody, since the commit is
 *   whole: it is tried again by every repair, and `incompleteCommit` reports it.
 */
export class DynamoDbLogStore implements LogStore {
  readonly #options: DynamoDbLogStoreOptions;
  readonly #files: ConditionalLogStore;
  readonly #items: CommitItems;
  /** The newest version, while this writer knows that its N.json is there; else null. */
  #newest: number | null = null;
  #prepared: Prepared | null = null;
  #repairs = 0;
  readonly #completions = new Set<Promise<boolean>>();

  constructor(options: DynamoDbLogStoreOptions) {
    this.#options = options;
    this.#files = new ConditionalLogStore(options.store);
    this.#items = new CommitItems(options);
  }

  list(from: string): AsyncIterable<LogFile> {
    // A listing would walk over `.tmp/`, a temporary file for each commit of the last month; no file of the log sorts so low.
    return this.#files.list(from === "" ? ".tmp00" : from);
  }

  remains(): Promise<string | null> {
    return this.#files.remains();
  }

  read(name: string, range?: { start: number; length: number }): Promise<Uint8Array | null> {
    return this.#files.read(name, range);
  }

  /**
   * Puts the temporary file of a commit that will follow, while the one before it is under way. Its item is only put by
   * `commit`, which takes the file up when it is called with this very body.
   *
   * For a writer that commits without a pause: it waits for one put less, 25 commits a second instead of 16
   * (`npm run bench:commit`). Our own writers do not call it: the committer looks into each file before its commit, and optimize and
   * forget write files, which takes seconds where this would save milliseconds.
   */
  prepare(version: number, body: Uint8Array): void {
    const tempPath = `.tmp/${commitFileName(version)}.${this.#options.newId()}`;
    const put = this.#options.store.put(LOG_FOLDER + tempPath, body);
    // A failure is seen by the commit, or by nobody.
    put.catch(() => {});
    this.#prepared = { version, body, tempPath, put };
  }

  async commit(version: number, body: Uint8Array): Promise<CommitOutcome> {
    const fileName = commitFileName(version);
    // Step 1. After a commit of its own, or one that it looked at, this writer knows all that the step finds out.
    if (this.#newest !== version - 1 && !(await this.#isNext(version)))
      return await this.#compare(version, body);
    this.#newest = null;
    // Step 2: the temporary file. Nothing refers to it yet, a failure here is nothing but a failure.
    const tempPath = await this.#putTemporaryFile(version, body);
    // Step 2: the item. Once it is there, anybody may carry the commit out.
    const taken = await this.#putItem(version, tempPath);
    if (taken !== null) {
      await this.#settle(taken);
      this.#newest = version;
      return "conflict";
    }
    try {
      // Step 3, the commit point.
      const outcome = await this.#options.store.putIfAbsent(LOG_FOLDER + fileName, body);
      // Step 4. Nobody waits for it, and a failure costs nothing: the next repair does it.
      this.#completeLater({ fileName, tempPath });
      this.#newest = version;
      // 412: a repairer was faster with our bytes, or a writer outside of the log store with its own.
      return outcome === "created" ? "committed" : await this.#compare(version, body);
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      this.#newest = null;
      // Also where S3 refused N.json for certain: the item makes every repairer put it.
      throw inDoubt(version, error);
    }
  }

  async repair(): Promise<void> {
    this.#items.forgetUncompleted();
    const items = await this.#items.newest(ITEMS_LOOKED_AT);
    // Oldest first: a version is never put before the one below it.
    for (const [i, item] of [...items.entries()].reverse()) {
      if (i === 0 || !item.complete) await this.#settle(item);
    }
    const oldest = items.at(-1);
    if (oldest !== undefined) await this.#items.completeBelow(oldest.fileName);
  }

  /** Versions of others that this instance put in their place, after a crash or while their writer was slow. */
  get repairs(): number {
    return this.#repairs;
  }

  /**
   * The oldest commit that is not complete, among the newest items and those that the last repair could not complete; null when
   * there is none. Nobody reads past the newest one until somebody repairs it.
   */
  async incompleteCommit(): Promise<IncompleteCommit | null> {
    const newest = await this.#items.newest(ITEMS_LOOKED_AT);
    const { uncompleted } = this.#items;
    const incomplete: CommitItemName[] = newest.filter(({ complete }) => !complete);
    if (uncompleted !== null) incomplete.push(uncompleted.item);
    const [oldest] = incomplete.sort((a, b) => (a.fileName < b.fileName ? -1 : 1));
    if (oldest === undefined) return null;
    const reason = uncompleted?.item.fileName === oldest.fileName ? uncompleted.reason : null;
    return { fileName: oldest.fileName, sinceMs: await this.#preparedMs(oldest), reason };
  }

  /** Resolves when the completions under way have ended, well or not. Call it before the process freezes. */
  async settled(): Promise<void> {
    await Promise.all(this.#completions);
  }

  /** See `IncompleteCommit.sinceMs`. */
  async #preparedMs({ fileName, tempPath }: CommitItemName): Promise<number> {
    const version = versionOf(fileName);
    const below = version === null || version === 0 ? [] : [commitFileName(version - 1)];
    for (const name of [tempPath, fileName, ...below]) {
      const info = await this.#options.store.head(LOG_FOLDER + name);
      if (info !== null) return info.modifiedMs;
    }
    return 0;
  }

  /** Step 1: whether `version` is the one after the newest, which is made whole if need be. */
  async #isNext(version: number): Promise<boolean> {
    const [newest] = await this.#items.newest(1);
    if (newest !== undefined) await this.#settle(newest);
    const below = version === 0 ? "" : commitFileName(version - 1);
    let found = version === 0;
    // In name order, so that the version below comes first, whether or not its item has expired.
    for await (const { name } of this.list(below)) {
      const listed = versionOf(name);
      if (listed === version - 1) found = true;
      if (listed !== null && listed >= version) return false;
    }
    if (!found) {
      throw new TableRefusedError(
        `version ${version - 1} is not in the log of ${this.#options.tablePath}: version ${version} would leave a hole. Nothing was written`,
      );
    }
    return true;
  }

  /** The version exists: is it this very body? A reply that was lost, or a repairer, may have made it so. */
  async #compare(version: number, body: Uint8Array): Promise<CommitOutcome> {
    const existing = await this.#files.read(commitFileName(version));
    // Bodies hold a unique txnId: equal bytes are the same commit.
    return existing !== null && Buffer.compare(existing, body) === 0 ? "committed" : "conflict";
  }

  async #putTemporaryFile(version: number, body: Uint8Array): Promise<string> {
    const prepared = this.#prepared;
    this.#prepared = null;
    if (prepared?.version === version && prepared.body === body) {
      try {
        await prepared.put;
        return prepared.tempPath;
      } catch (error) {
        if (!(error instanceof RetryableError)) throw error;
      }
    }
    const tempPath = `.tmp/${commitFileName(version)}.${this.#options.newId()}`;
    await this.#options.store.put(LOG_FOLDER + tempPath, body);
    return tempPath;
  }

  /** Null when the item is ours; else the item that has the version already. In doubt where ours may be there or not. */
  async #putItem(version: number, tempPath: string): Promise<CommitItem | null> {
    try {
      return await this.#items.put(commitFileName(version), tempPath);
    } catch (error) {
      if (!(error instanceof RetryableError) || error instanceof NothingWrittenError) throw error;
      throw inDoubt(version, error);
    }
  }

  /** Makes sure that the file of an item is there and, if it was not complete, tries to mark it so. */
  async #settle(item: CommitItem): Promise<void> {
    const path = LOG_FOLDER + item.fileName;
    const { store, tablePath, logTable } = this.#options;
    if (await this.#isThere(path)) {
      if (!item.complete) await this.#items.complete(item);
      return;
    }
    if (item.complete) {
      throw new TableRefusedError(
        `the log store says that ${item.fileName} of ${tablePath} is complete, and the file is missing: items of a table that was deleted and made anew, or a log that lost files. Nothing was written. For a new table remove every item with tablePath "${tablePath}" from the DynamoDB table ${logTable}`,
      );
    }
    const body = await store.read(LOG_FOLDER + item.tempPath);
    if (body !== null) {
      if ((await store.putIfAbsent(path, body)) === "created") this.#repairs++;
    } else if (!(await this.#isThere(path))) {
      // Else somebody else has put it, and the temporary file is gone since.
      throw new TableRefusedError(
        `${item.fileName} of ${tablePath} was prepared and never put, and its temporary file ${item.tempPath} is gone: whether it was committed cannot be known. Nothing was changed. Restore one of the two from the bucket's old versions; the runbook's section incomplete-log-item says how`,
      );
    }
    await this.#items.complete(item);
  }

  async #isThere(path: string): Promise<boolean> {
    // An error of HEAD is thrown, not taken for an answer: "exists" in its stead would leave a hole in the log.
    return (await this.#options.store.head(path)) !== null;
  }

  /** Step 4, in the background. */
  #completeLater(item: CommitItemName): void {
    const completion = this.#items.complete(item);
    this.#completions.add(completion);
    const forget = () => void this.#completions.delete(completion);
    completion.then(forget, forget);
  }
}

function inDoubt(version: number, cause: RetryableError): CommitInDoubtError {
  return new CommitInDoubtError(
    `version ${version} was prepared and its outcome is unknown (${cause.message}): acknowledge nothing, the next run repairs the log and finds out`,
    { cause },
  );
}
