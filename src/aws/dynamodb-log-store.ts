import {
  type AttributeValue,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { ConditionalLogStore } from "../delta/conditional-log-store.ts";
import { type CommitOutcome, commitFileName, type LogFile, type LogStore } from "../delta/log-store.ts";
import { CommitInDoubtError, RetryableError, TableRefusedError } from "../errors.ts";
import type { ObjectStore } from "../manifest/object-store.ts";
import { type CommitItem, expireTime, incompleteItem, parseCommitItem, versionOf } from "./commit-item.ts";
import { isConditionalCheckFailed, translated } from "./errors.ts";

export interface DynamoDbLogStoreOptions {
  readonly dynamodb: DynamoDBClient;
  /** The DynamoDB table; Spark's `spark.io.delta.storage.S3DynamoDBLogStore.ddb.tableName`. */
  readonly logTable: string;
  /** The Delta table's folder. */
  readonly store: ObjectStore;
  /** See `TableLocation.tablePath`. */
  readonly tablePath: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A fresh UUID. */
  readonly newId: () => string;
}

const LOG_FOLDER = "_delta_log/";
/** Newest items that `repair` looks at. Spark looks at one; ours may leave the one before incomplete after a crash. */
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
 * - after N.json: the item is marked complete by whoever comes next.
 */
export class DynamoDbLogStore implements LogStore {
  readonly #options: DynamoDbLogStoreOptions;
  readonly #files: ConditionalLogStore;
  /** The newest version, while this writer knows that its N.json is there; else null. */
  #newest: number | null = null;
  #prepared: Prepared | null = null;
  #repairs = 0;
  readonly #completions = new Set<Promise<void>>();

  constructor(options: DynamoDbLogStoreOptions) {
    this.#options = options;
    this.#files = new ConditionalLogStore(options.store);
  }

  list(from: string): AsyncIterable<LogFile> {
    // A listing would walk over `.tmp/`, a temporary file for each commit of the last month; no file of the log sorts so low.
    return this.#files.list(from === "" ? ".tmp00" : from);
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
    // Step 2: the item. From here on anybody may carry the commit out, so that whatever fails leaves it in doubt.
    try {
      const taken = await this.#putItem(fileName, tempPath);
      if (taken !== null) {
        await this.#settle(taken);
        this.#newest = version;
        return await this.#compare(version, body);
      }
      // Step 3, the commit point.
      const outcome = await this.#options.store.putIfAbsent(LOG_FOLDER + fileName, body);
      // Step 4. Failing there costs nothing: the next writer or reader does it.
      this.#completeLater(fileName, tempPath);
      this.#newest = version;
      // 412: a repairer was faster with our bytes, or a writer outside of the log store with its own.
      return outcome === "created" ? "committed" : await this.#compare(version, body);
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      this.#newest = null;
      throw new CommitInDoubtError(
        `version ${version} was prepared and its outcome is unknown (${error.message}): acknowledge nothing, the next run repairs the log and finds out`,
      );
    }
  }

  async repair(): Promise<void> {
    const items = await this.#newestItems(ITEMS_LOOKED_AT);
    // Oldest first: a version is never put before the one below it.
    for (const [i, item] of [...items.entries()].reverse()) {
      if (i === 0 || !item.complete) await this.#settle(item);
    }
  }

  /** Versions of others that this instance put in their place, after a crash or while their writer was slow. */
  get repairs(): number {
    return this.#repairs;
  }

  /**
   * When the oldest commit that is not complete was prepared, in milliseconds since 1970; null when all are complete. Nobody
   * reads past it until somebody repairs it.
   */
  async incompleteSince(): Promise<number | null> {
    const oldest = (await this.#newestItems(ITEMS_LOOKED_AT)).findLast(({ complete }) => !complete);
    if (oldest === undefined) return null;
    return (await this.#options.store.head(LOG_FOLDER + oldest.tempPath))?.modifiedMs ?? null;
  }

  /** Resolves when the completions under way have ended, well or not. Call it before the process freezes. */
  async settled(): Promise<void> {
    await Promise.all(this.#completions);
  }

  /** Step 1: whether `version` is the one after the newest, which is made whole if need be. */
  async #isNext(version: number): Promise<boolean> {
    const [newest] = await this.#newestItems(1);
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

  /** Null when the item is ours; else the item that has the version already. */
  async #putItem(fileName: string, tempPath: string): Promise<CommitItem | null> {
    const { dynamodb, logTable, tablePath } = this.#options;
    const what = `cannot put the item of ${fileName}`;
    try {
      await dynamodb.send(
        new PutItemCommand({
          TableName: logTable,
          Item: incompleteItem(tablePath, fileName, tempPath),
          ConditionExpression: "attribute_not_exists(fileName)",
        }),
      );
      return null;
    } catch (error) {
      if (!isConditionalCheckFailed(error)) throw translated(error, what);
    }
    const existing = await this.#item(fileName);
    if (existing === null) throw new RetryableError(`${what}: it was there, and is gone`);
    // The reply to our own put was lost, and the SDK put it again.
    return existing.tempPath === tempPath ? null : existing;
  }

  /** Makes sure that the file of an item is there and, if it was not complete, marks it so. */
  async #settle(item: CommitItem): Promise<void> {
    const path = LOG_FOLDER + item.fileName;
    const { store, tablePath, logTable } = this.#options;
    if (await this.#isThere(path)) {
      if (!item.complete) await this.#complete(item.fileName, item.tempPath);
      return;
    }
    if (item.complete) {
      throw new TableRefusedError(
        `the log store says that ${item.fileName} of ${tablePath} is complete, and the file is missing: items of a table that was deleted and made anew, or a log that lost files. Nothing was written. For a new table remove every item with tablePath "${tablePath}" from the DynamoDB table ${logTable}`,
      );
    }
    const body = await store.read(LOG_FOLDER + item.tempPath);
    if (body === null) {
      // Somebody else may have put it, and the temporary file be gone since.
      if (await this.#isThere(path)) return await this.#complete(item.fileName, item.tempPath);
      throw new TableRefusedError(
        `${item.fileName} of ${tablePath} was prepared and never put, and its temporary file ${item.tempPath} is gone: whether it was committed cannot be known. Nothing was changed`,
      );
    }
    if ((await store.putIfAbsent(path, body)) === "created") this.#repairs++;
    await this.#complete(item.fileName, item.tempPath);
  }

  async #isThere(path: string): Promise<boolean> {
    // An error of HEAD is thrown, not taken for an answer: "exists" in its stead would leave a hole in the log.
    return (await this.#options.store.head(path)) !== null;
  }

  /** Step 4, in the background. */
  #completeLater(fileName: string, tempPath: string): void {
    const completion = this.#complete(fileName, tempPath).catch((error: unknown) => {
      if (!(error instanceof RetryableError)) throw error;
    });
    this.#completions.add(completion);
    const forget = () => void this.#completions.delete(completion);
    completion.then(forget, forget);
  }

  async #complete(fileName: string, tempPath: string): Promise<void> {
    const { dynamodb, logTable, tablePath, now } = this.#options;
    try {
      await dynamodb.send(
        new UpdateItemCommand({
          TableName: logTable,
          Key: { tablePath: { S: tablePath }, fileName: { S: fileName } },
          UpdateExpression: "SET complete = :true, expireTime = :expireTime",
          // Not where the item has expired, or belongs to a table made anew since.
          ConditionExpression: "tempPath = :tempPath",
          ExpressionAttributeValues: {
            ":true": { S: "true" },
            ":expireTime": expireTime(now()),
            ":tempPath": { S: tempPath },
          },
        }),
      );
    } catch (error) {
      if (!isConditionalCheckFailed(error))
        throw translated(error, `cannot complete the item of ${fileName}`);
    }
  }

  async #item(fileName: string): Promise<CommitItem | null> {
    const { dynamodb, logTable, tablePath } = this.#options;
    try {
      const { Item } = await dynamodb.send(
        new GetItemCommand({
          TableName: logTable,
          Key: { tablePath: { S: tablePath }, fileName: { S: fileName } },
          ConsistentRead: true,
        }),
      );
      return Item === undefined ? null : parseCommitItem(Item);
    } catch (error) {
      throw translated(error, `cannot read the item of ${fileName}`);
    }
  }

  /** Newest first. */
  async #newestItems(limit: number): Promise<CommitItem[]> {
    const { dynamodb, logTable, tablePath } = this.#options;
    let items: Record<string, AttributeValue>[];
    try {
      const { Items } = await dynamodb.send(
        new QueryCommand({
          TableName: logTable,
          KeyConditionExpression: "tablePath = :tablePath",
          ExpressionAttributeValues: { ":tablePath": { S: tablePath } },
          ScanIndexForward: false,
          Limit: limit,
          ConsistentRead: true,
        }),
      );
      items = Items ?? [];
    } catch (error) {
      throw translated(error, `cannot read the newest commits from the DynamoDB table ${logTable}`);
    }
    return items.map(parseCommitItem);
  }
}
