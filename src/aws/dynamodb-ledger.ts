import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import { RetryableError, readAhead } from "@deltacap/delta";
import { isConditionalCheckFailed, translated } from "@deltacap/delta/aws";
import type { AsideEntry, Ledger, LedgerEntry, Watermark } from "../manifest/ledger.ts";
import type { SourceId } from "../manifest/source-id.ts";
import { fromItem, type ItemTimes, KEY, toItem, WATERMARK_KEY } from "./ledger-item.ts";

/** Where the ledger's items lie, and how long they are kept. */
export interface DynamoDbLedgerOptions {
  readonly dynamodb: DynamoDBClient;
  /** HASH `sourceId` (S), TTL attribute `expireTime`. One for each Delta table. */
  readonly ledgerTable: string;
  /** Seconds that an entry is kept: longer than anybody may deliver its capture again. */
  readonly keepSeconds: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
}

/** DynamoDB's limits of a batch call. */
const GET_BATCH = 100;
const WRITE_BATCH = 25;
/** Calls under way at once: 50,000 sources take 2,000 calls, each some milliseconds. */
const PARALLEL = 16;
/** Calls for one batch until nothing of it is left, the first one included. */
const ROUNDS = 12;
/** Milliseconds before what was left is sent again; doubled each time, up to a limit. */
const FIRST_DELAY = 20;
const LONGEST_DELAY = 2_000;

/** The ledger in DynamoDB. */
export class DynamoDbLedger implements Ledger {
  readonly remake: string;
  readonly #options: DynamoDbLedgerOptions;

  constructor(options: DynamoDbLedgerOptions) {
    this.#options = options;
    this.remake = `Remove all items of the DynamoDB table ${options.ledgerTable}, that of the sourceId "${WATERMARK_KEY}" last: the next run makes them anew from the log`;
  }

  async lookup(ids: readonly SourceId[]): Promise<Map<SourceId, LedgerEntry>> {
    const found = new Map<SourceId, LedgerEntry>();
    const batches = batchesOf([...new Set(ids)], GET_BATCH);
    for await (const items of readAhead(batches, PARALLEL, (batch) => this.#get(batch))) {
      for (const item of items) found.set(...fromItem(item));
    }
    return found;
  }

  async putCommitted(entries: ReadonlyMap<SourceId, LedgerEntry & { status: "committed" }>): Promise<void> {
    const times = this.#times();
    const puts = [...entries].map(([id, entry]) => ({ PutRequest: { Item: toItem(id, entry, times) } }));
    const batches = batchesOf(puts, WRITE_BATCH);
    for await (const _ of readAhead(batches, PARALLEL, (batch) => this.#write(batch)));
  }

  async putSetAside(entries: ReadonlyMap<SourceId, AsideEntry>): Promise<void> {
    const times = this.#times();
    const put = ([id, entry]: [SourceId, LedgerEntry]) => this.#putUnlessCommitted(toItem(id, entry, times));
    for await (const _ of readAhead([...entries], PARALLEL, put));
  }

  async watermark(): Promise<Watermark | null> {
    try {
      const { Item } = await this.#options.dynamodb.send(
        new GetItemCommand({ ...this.#watermarkItem(), ConsistentRead: true }),
      );
      if (Item?.version?.N === undefined) return null;
      const version = Number(Item.version.N);
      return Item.commit?.S === undefined ? { version } : { version, commit: Item.commit.S };
    } catch (error) {
      throw translated(error, "cannot read the ledger's watermark");
    }
  }

  async advanceWatermark({ version, commit }: Watermark): Promise<void> {
    const values: Record<string, AttributeValue> = { ":version": { N: String(version) } };
    if (commit !== undefined) values[":commit"] = { S: commit };
    try {
      await this.#options.dynamodb.send(
        new UpdateItemCommand({
          ...this.#watermarkItem(),
          // Both at once: a commit of another version must never stay beside this one.
          UpdateExpression:
            commit === undefined
              ? "SET #version = :version REMOVE #commit"
              : "SET #version = :version, #commit = :commit",
          ConditionExpression: "attribute_not_exists(#version) OR #version < :version",
          ExpressionAttributeNames: { "#version": "version", "#commit": "commit" },
          ExpressionAttributeValues: values,
        }),
      );
    } catch (error) {
      // Another committer is further already.
      if (!isConditionalCheckFailed(error)) throw translated(error, "cannot move the ledger's watermark");
    }
  }

  /** All items of the batch that there are: keys that a reply leaves unprocessed are asked for again. */
  async #get(ids: readonly SourceId[]): Promise<Record<string, AttributeValue>[]> {
    const { dynamodb, ledgerTable } = this.#options;
    const items: Record<string, AttributeValue>[] = [];
    let keys: Record<string, AttributeValue>[] = ids.map((id) => ({ [KEY]: { S: id } }));
    for (let round = 1; keys.length > 0; round++) {
      await this.#beforeRound(round, keys.length, "read");
      try {
        const { Responses, UnprocessedKeys } = await dynamodb.send(
          new BatchGetItemCommand({ RequestItems: { [ledgerTable]: { Keys: keys, ConsistentRead: true } } }),
        );
        items.push(...(Responses?.[ledgerTable] ?? []));
        keys = UnprocessedKeys?.[ledgerTable]?.Keys ?? [];
      } catch (error) {
        throw translated(error, `cannot look up ${ids.length} sources in the ledger`);
      }
    }
    return items;
  }

  async #write(batch: readonly WriteRequest[]): Promise<void> {
    const { dynamodb, ledgerTable } = this.#options;
    let requests = [...batch];
    for (let round = 1; requests.length > 0; round++) {
      await this.#beforeRound(round, requests.length, "written");
      try {
        const { UnprocessedItems } = await dynamodb.send(
          new BatchWriteItemCommand({ RequestItems: { [ledgerTable]: requests } }),
        );
        requests = UnprocessedItems?.[ledgerTable] ?? [];
      } catch (error) {
        throw translated(error, `cannot write ${batch.length} sources into the ledger`);
      }
    }
  }

  async #putUnlessCommitted(item: Record<string, AttributeValue>): Promise<void> {
    try {
      await this.#options.dynamodb.send(
        new PutItemCommand({
          TableName: this.#options.ledgerTable,
          Item: item,
          ConditionExpression: "attribute_not_exists(sourceId) OR #status <> :committed",
          ExpressionAttributeNames: { "#status": "status" },
          ExpressionAttributeValues: { ":committed": { S: "committed" } },
        }),
      );
    } catch (error) {
      if (!isConditionalCheckFailed(error))
        throw translated(error, "cannot set a source aside in the ledger");
    }
  }

  async #beforeRound(round: number, left: number, verb: string): Promise<void> {
    if (round === 1) return;
    if (round > ROUNDS) {
      throw new RetryableError(
        `${left} of the ledger's items were not ${verb} in ${ROUNDS} rounds: DynamoDB is throttling; it is tried again by the next run`,
      );
    }
    await this.#options.sleep(Math.min(FIRST_DELAY * 2 ** (round - 2), LONGEST_DELAY));
  }

  #watermarkItem() {
    return { TableName: this.#options.ledgerTable, Key: { [KEY]: { S: WATERMARK_KEY } } };
  }

  #times(): ItemTimes {
    const nowMs = this.#options.now();
    return { nowMs, expires: Math.floor(nowMs / 1000) + this.#options.keepSeconds };
  }
}

function batchesOf<T>(items: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let at = 0; at < items.length; at += size) batches.push(items.slice(at, at + size));
  return batches;
}
