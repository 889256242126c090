import { type AttributeValue, type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import { translated } from "@deltacap/delta/aws";
import { NOTICED_KEY, TROUBLE_INDEX, TROUBLE_KEY, type Trouble } from "./ledger-item.ts";

/** A capture that was rejected, or damaged part way, as the ledger holds it. */
export interface TroubledCapture {
  /** Null in an entry that was made from the log alone. */
  readonly capture: string | null;
  readonly reason: string;
  /** Byte position in the decompressed capture where it became clear. */
  readonly offset: number;
  /** Epoch milliseconds. */
  readonly noticedMs: number;
}

/**
 * Returns the newest rejected or damaged captures that the ledger still holds, at most `limit`, in one or a few requests; null
 * where the ledger has no index of them, because an older Deltacap made it. Throws `RetryableError` when DynamoDB fails.
 */
export async function troubledCaptures(
  dynamodb: DynamoDBClient,
  ledgerTable: string,
  trouble: Trouble,
  limit: number,
): Promise<TroubledCapture[] | null> {
  const found: TroubledCapture[] = [];
  let from: Record<string, AttributeValue> | undefined;
  do {
    try {
      const page = await dynamodb.send(
        new QueryCommand({
          TableName: ledgerTable,
          IndexName: TROUBLE_INDEX,
          KeyConditionExpression: "#trouble = :trouble",
          ExpressionAttributeNames: { "#trouble": TROUBLE_KEY },
          ExpressionAttributeValues: { ":trouble": { S: trouble } },
          ScanIndexForward: false,
          Limit: limit - found.length,
          ExclusiveStartKey: from,
        }),
      );
      for (const item of page.Items ?? []) found.push(fromIndexed(item));
      from = page.LastEvaluatedKey;
    } catch (error) {
      if (isMissingIndex(error)) return null;
      throw translated(error, `cannot list ${trouble} captures in the ledger`);
    }
  } while (from !== undefined && found.length < limit);
  return found;
}

function fromIndexed(item: Record<string, AttributeValue>): TroubledCapture {
  return {
    capture: item.capture?.S ?? null,
    reason: item.reason?.S ?? "",
    offset: Number(item.offset?.N ?? 0),
    noticedMs: Number(item[NOTICED_KEY]?.N ?? 0),
  };
}

function isMissingIndex(error: unknown): boolean {
  return (
    error instanceof Error && error.name === "ValidationException" && /specified index/.test(error.message)
  );
}
