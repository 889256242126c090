import { DeleteItemCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { isConditionalCheckFailed, translated } from "@deltacap/delta/aws";
import type { SourceId } from "../manifest/source-id.ts";
import { KEY } from "./ledger-item.ts";

/**
 * Makes a source unknown to the ledger again, on condition that its entry is still the one of this version: the next delivery
 * of its capture is then ingested. Only for sources of which no row is left in the table; the log's tags still name the version, and a
 * ledger that is filled anew from the log (its watermark was lost) knows the source again. Needs `dynamodb:DeleteItem`. False when
 * the entry is another by now.
 */
export async function forgetSource(
  dynamodb: DynamoDBClient,
  ledgerTable: string,
  id: SourceId,
  version: number,
): Promise<boolean> {
  try {
    await dynamodb.send(
      new DeleteItemCommand({
        TableName: ledgerTable,
        Key: { [KEY]: { S: id } },
        ConditionExpression: "#version = :version",
        ExpressionAttributeNames: { "#version": "version" },
        ExpressionAttributeValues: { ":version": { N: String(version) } },
      }),
    );
    return true;
  } catch (error) {
    if (isConditionalCheckFailed(error)) return false;
    throw translated(error, `cannot remove the ledger's entry of ${id}, which needs dynamodb:DeleteItem`);
  }
}
