import {
  type AttributeValue,
  BatchWriteItemCommand,
  type DynamoDBClient,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";

export type Item = Record<string, AttributeValue>;

/** Some of a DynamoDB table's items as they were at one time. */
export class TableItems {
  readonly #dynamodb: DynamoDBClient;
  readonly #table: string;
  readonly #isOurs: (item: Item) => boolean;
  readonly #items: readonly Item[];

  private constructor(
    dynamodb: DynamoDBClient,
    table: string,
    isOurs: (item: Item) => boolean,
    items: readonly Item[],
  ) {
    this.#dynamodb = dynamodb;
    this.#table = table;
    this.#isOurs = isOurs;
    this.#items = items;
  }

  static async read(
    dynamodb: DynamoDBClient,
    table: string,
    isOurs: (item: Item) => boolean = () => true,
  ): Promise<TableItems> {
    return new TableItems(dynamodb, table, isOurs, await readItems(dynamodb, table, isOurs));
  }

  /** Puts these items back, and removes those that came since. */
  async restore(): Promise<void> {
    const kept = new Set(this.#items.map((item) => JSON.stringify(keyOf(item))));
    const deletes = (await readItems(this.#dynamodb, this.#table, this.#isOurs))
      .map(keyOf)
      .filter((Key) => !kept.has(JSON.stringify(Key)))
      .map((Key) => ({ DeleteRequest: { Key } }));
    const requests = [...deletes, ...this.#items.map((Item) => ({ PutRequest: { Item } }))];
    for (let at = 0; at < requests.length; at += 25) {
      const RequestItems = { [this.#table]: requests.slice(at, at + 25) };
      await this.#dynamodb.send(new BatchWriteItemCommand({ RequestItems }));
    }
  }
}

/** All items of a table that `isOurs` says yes to. */
export async function readItems(
  dynamodb: DynamoDBClient,
  TableName: string,
  isOurs: (item: Item) => boolean = () => true,
): Promise<Item[]> {
  const { Items = [] } = await dynamodb.send(new ScanCommand({ TableName, ConsistentRead: true }));
  return Items.filter(isOurs);
}

/** The ledger's key, or the log store's. */
function keyOf({ sourceId, tablePath, fileName }: Item): Item {
  return (sourceId === undefined ? { tablePath, fileName } : { sourceId }) as Item;
}
