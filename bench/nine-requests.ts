import { randomUUID } from "node:crypto";
import { type DynamoDBClient, GetItemCommand, PutItemCommand, QueryCommand } from "@aws-sdk/client-dynamodb";
import type { ObjectStore } from "@deltacap/delta";
import { commitFileName } from "@deltacap/delta";
import { expireTime, incompleteItem } from "@deltacap/delta/aws";

/** Where {@link commitByNineRequests} commits. */
export interface Place {
  readonly dynamodb: DynamoDBClient;
  readonly store: ObjectStore;
  readonly logTable: string;
  readonly tablePath: string;
}

/**
 * The same commit as writers make it that know nothing from the commit before and wait for each request, the Go connector among
 * them. The copy from the temporary file is a put here, and takes as long as one.
 */
export async function commitByNineRequests(place: Place, version: number, body: Uint8Array): Promise<void> {
  const { dynamodb, store, logTable: TableName, tablePath } = place;
  const fileName = commitFileName(version);
  const path = `_delta_log/${fileName}`;
  const tempPath = `.tmp/${fileName}.${randomUUID()}`;
  const item = incompleteItem(tablePath, fileName, tempPath);
  await dynamodb.send(
    new QueryCommand({
      TableName,
      KeyConditionExpression: "tablePath = :tablePath",
      ExpressionAttributeValues: { ":tablePath": { S: tablePath } },
      ScanIndexForward: false,
      Limit: 1,
      ConsistentRead: true,
    }),
  );
  if ((await store.head(path)) !== null) throw new Error(`version ${version} was taken by somebody else`);
  const Key = { tablePath: { S: tablePath }, fileName: { S: commitFileName(version - 1) } };
  await dynamodb.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
  await store.put(`_delta_log/${tempPath}`, body);
  await dynamodb.send(
    new PutItemCommand({
      TableName,
      Item: item,
      ConditionExpression: "attribute_not_exists(fileName)",
    }),
  );
  await store.head(path);
  await store.put(path, body);
  await store.remove([`_delta_log/${tempPath}`]);
  const complete = { ...item, complete: { S: "true" }, expireTime: expireTime(Date.now()) };
  await dynamodb.send(new PutItemCommand({ TableName, Item: complete }));
}
