import {
  type AttributeValue,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandInput,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { RetryableError } from "../errors.ts";
import { type CommitItem, expireTime, incompleteItem, parseCommitItem } from "./commit-item.ts";
import { isConditionalCheckFailed, translated, writeFailure } from "./errors.ts";

/** Where the items of one table's commits lie in DynamoDB. */
export interface CommitItemsOptions {
  readonly dynamodb: DynamoDBClient;
  /** The DynamoDB table; Spark's `spark.io.delta.storage.S3DynamoDBLogStore.ddb.tableName`. */
  readonly logTable: string;
  /** See `TableLocation.tablePath`. */
  readonly tablePath: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Names an item, and the commit that it must still belong to. */
export type CommitItemName = Pick<CommitItem, "fileName" | "tempPath">;

/** An item that could not be completed, and why. */
export interface Uncompleted {
  readonly item: CommitItemName;
  readonly reason: string;
}

/**
 * Milliseconds between two searches of the whole table for incomplete items. Complete items live for one to three days, some
 * 20,000 of them: a search reads about 6 MB.
 */
const SEARCH_INTERVAL = 3_600_000;

/** The items of one Delta table in the log store's DynamoDB table. All reads are consistent. */
export class CommitItems {
  readonly #options: CommitItemsOptions;
  #uncompleted: Uncompleted | null = null;
  /** Milliseconds since 1970. */
  #searchedMs = Number.NEGATIVE_INFINITY;

  constructor(options: CommitItemsOptions) {
    this.#options = options;
  }

  /** The oldest item that could not be completed since {@link forgetUncompleted}. Its N.json is there. */
  get uncompleted(): Uncompleted | null {
    return this.#uncompleted;
  }

  /** Called before another attempt to complete them. The next search is then due at once where there was one. */
  forgetUncompleted(): void {
    if (this.#uncompleted !== null) this.#searchedMs = Number.NEGATIVE_INFINITY;
    this.#uncompleted = null;
  }

  /**
   * Puts a new item. Null when it is there; else the item that has the version already. Throws `NothingWrittenError` where it is
   * certain that the item was not put, another `RetryableError` where it may have been.
   */
  async put(fileName: string, tempPath: string): Promise<CommitItem | null> {
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
      if (!isConditionalCheckFailed(error)) throw writeFailure(error, what);
    }
    const existing = await this.#get(fileName);
    if (existing === null) throw new RetryableError(`${what}: it was there, and is gone`);
    // The reply to our own put was lost, and the SDK put it again.
    return existing.tempPath === tempPath ? null : existing;
  }

  /** Newest first. */
  async newest(limit: number): Promise<CommitItem[]> {
    const { items } = await this.#query({ Limit: limit, ScanIndexForward: false });
    return items.map(parseCommitItem);
  }

  /**
   * Marks an item complete. False, and noted, where it stays incomplete: its commit is whole, so that nobody needs to wait for it.
   * Does nothing where the item has expired, or belongs to a table made anew since.
   */
  async complete(item: CommitItemName): Promise<boolean> {
    try {
      await this.#complete(item);
      return true;
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      const oldest = this.#uncompleted?.item.fileName;
      if (oldest === undefined || item.fileName < oldest) this.#uncompleted = { item, reason: error.message };
      return false;
    }
  }

  /**
   * Completes incomplete items below `fileName`, once an hour. A later version was put after each of them, so that its N.json was
   * there: only the item is left. Stops at the first that cannot be completed.
   */
  async completeBelow(fileName: string): Promise<void> {
    const now = this.#options.now();
    if (now - this.#searchedMs < SEARCH_INTERVAL) return;
    for (const item of await this.#incompleteBelow(fileName)) {
      if (!(await this.complete(item))) return;
    }
    this.#searchedMs = now;
  }

  async #complete({ fileName, tempPath }: CommitItemName): Promise<void> {
    const { dynamodb, logTable, tablePath, now } = this.#options;
    try {
      await dynamodb.send(
        new UpdateItemCommand({
          TableName: logTable,
          Key: { tablePath: { S: tablePath }, fileName: { S: fileName } },
          UpdateExpression: "SET complete = :true, expireTime = :expireTime",
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

  async #get(fileName: string): Promise<CommitItem | null> {
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

  /** Oldest first. Items in another form are left out: nobody reads an item below the newest ones. */
  async #incompleteBelow(fileName: string): Promise<CommitItemName[]> {
    const found: CommitItemName[] = [];
    let start: Record<string, AttributeValue> | undefined;
    do {
      const { items, next } = await this.#query({
        KeyConditionExpression: "tablePath = :tablePath AND fileName < :below",
        FilterExpression: "complete = :false",
        ExpressionAttributeValues: { ":below": { S: fileName }, ":false": { S: "false" } },
        ...(start === undefined ? {} : { ExclusiveStartKey: start }),
      });
      for (const { fileName: name, tempPath } of items) {
        if (name?.S !== undefined && tempPath?.S !== undefined)
          found.push({ fileName: name.S, tempPath: tempPath.S });
      }
      start = next;
    } while (start !== undefined);
    return found;
  }

  /** One page. */
  async #query(input: Partial<QueryCommandInput>): Promise<{
    readonly items: Record<string, AttributeValue>[];
    readonly next: Record<string, AttributeValue> | undefined;
  }> {
    const { dynamodb, logTable, tablePath } = this.#options;
    try {
      const { Items, LastEvaluatedKey } = await dynamodb.send(
        new QueryCommand({
          TableName: logTable,
          KeyConditionExpression: "tablePath = :tablePath",
          ConsistentRead: true,
          ...input,
          ExpressionAttributeValues: { ":tablePath": { S: tablePath }, ...input.ExpressionAttributeValues },
        }),
      );
      return { items: Items ?? [], next: LastEvaluatedKey };
    } catch (error) {
      throw translated(error, `cannot read commits from the DynamoDB table ${logTable}`);
    }
  }
}
