import { randomUUID } from "node:crypto";
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { tableLocation } from "../../../../src/aws/table-location.ts";
import { commitBody } from "../../../../test/conformance/log-store.ts";
import { BUCKET, Cloud, LOG_TABLE, type Visitor } from "../../../../test/support/aws/cloud.ts";
import { DynamoDbLogStore } from "../../src/aws/dynamodb-log-store.ts";
import { S3ObjectStore } from "../../src/aws/s3-object-store.ts";

/*
 * What Spark's log store writes, read from its source: github.com/delta-io/delta, commit
 * bb1057f4367f555b01e299fd1690d85aafc0ac4c, folder storage-s3-dynamodb/src/main/java/io/delta/storage. Lines:
 *
 * - S3DynamoDBLogStore.java 97-101: the attributes tablePath, fileName, tempPath, complete, expireTime, and no others
 *   (234-249, createPutItemRequest; the class comment's commitTime, 70, is no longer written);
 * - S3DynamoDBLogStore.java 236-239, 242, 247: all strings but expireTime, a number; `complete` is
 *   Boolean.toString, "true" or "false", as a string;
 * - S3DynamoDBLogStore.java 244-249: no expireTime while it is null; BaseExternalLogStore.java 240-246: it is null while
 *   incomplete;
 * - S3DynamoDBLogStore.java 253-257: the condition is that `fileName` does not exist;
 * - BaseExternalLogStore.java 302-305: tempPath is ".tmp/%s.%s" of the file's name and a UUID; ExternalCommitEntry.java 91-93:
 *   it lies below _delta_log;
 * - BaseExternalLogStore.java 311-313: tablePath is the parent of _delta_log, a Hadoop Path: no slash at its end;
 *   S3DynamoDBLogStore.java 236: written with its scheme, by Path.toString;
 * - ExternalCommitEntry.java 70-78 with BaseExternalLogStore.java 103-104: completion keeps the other attributes, and sets
 *   complete = true and expireTime = now in whole seconds (milliseconds / 1000, integer division) + 1 day;
 * - S3DynamoDBLogStore.java 287-291: HASH tablePath, RANGE fileName;
 * - S3DynamoDBLogStore.java 188-190, 205-211: GetItem and Query are consistent, the newest item is the first one backwards;
 * - BaseExternalLogStore.java 285-297: a commit's file is its lines in UTF-8, each ended by \n, and 438-453: N.json has the
 *   temporary file's bytes.
 */
const NOW = 1_767_323_045_999;
const UUID = "0b36c96d-3f2e-4b44-a0a0-5a9c2f1f7a11";
const FILE = "00000000000000000000.json";

describe("items equal those of S3DynamoDBLogStore, attribute for attribute", () => {
  let cloud: Cloud;
  let visitor: Visitor;
  let log: DynamoDbLogStore;
  let store: S3ObjectStore;
  const location = tableLocation("s3://lake/some folder/packets/");
  beforeAll(async () => {
    cloud = await Cloud.start();
  });
  afterAll(async () => await cloud.close());
  beforeEach(async () => {
    visitor = await cloud.enter();
    store = new S3ObjectStore(visitor.clients.s3, location);
    log = new DynamoDbLogStore({
      dynamodb: visitor.clients.dynamodb,
      logTable: LOG_TABLE,
      store,
      tablePath: location.tablePath,
      now: () => NOW,
      newId: () => UUID,
    });
  });

  const items = async () =>
    (await visitor.clients.dynamodb.send(new ScanCommand({ TableName: LOG_TABLE }))).Items;

  test("incomplete, as a writer that died after putting it leaves it", async () => {
    visitor.faults.plan({ operation: "dynamodb:PutItem", effect: { kind: "kill after" } });
    await expect(log.commit(0, commitBody("golden"))).rejects.toThrow("outcome is unknown");
    visitor.faults.dead = false;
    expect(await items()).toEqual([
      {
        tablePath: { S: "s3a://lake/some folder/packets" },
        fileName: { S: FILE },
        tempPath: { S: `.tmp/${FILE}.${UUID}` },
        complete: { S: "false" },
      },
    ]);
    const temporary = cloud.s3.storage
      .bucket(BUCKET)
      .current(`some folder/packets/_delta_log/.tmp/${FILE}.${UUID}`);
    expect(temporary?.body.toString()).toBe(Buffer.from(commitBody("golden")).toString());
  });

  test("complete, by repair and by its own writer alike", async () => {
    await log.repair();
    const complete = {
      tablePath: { S: "s3a://lake/some folder/packets" },
      fileName: { S: FILE },
      tempPath: { S: `.tmp/${FILE}.${UUID}` },
      complete: { S: "true" },
      // 1767323045 + 86400: the milliseconds are cut off, not rounded.
      expireTime: { N: "1767409445" },
    };
    expect(await items()).toEqual([complete]);
    await log.commit(1, commitBody("second"));
    await log.settled();
    const second = "00000000000000000001.json";
    expect(await items()).toEqual([
      complete,
      { ...complete, fileName: { S: second }, tempPath: { S: `.tmp/${second}.${UUID}` } },
    ]);
    const bucket = cloud.s3.storage.bucket(BUCKET);
    expect(bucket.current(`some folder/packets/_delta_log/${FILE}`)?.body.toString()).toBe(
      Buffer.from(commitBody("golden")).toString(),
    );
  });

  test("all reads are consistent, and the newest item is asked for backwards", async () => {
    const other = new DynamoDbLogStore({
      dynamodb: visitor.clients.dynamodb,
      logTable: LOG_TABLE,
      store,
      tablePath: location.tablePath,
      now: () => NOW,
      newId: randomUUID,
    });
    await other.commit(1, commitBody("refused"));
    await other.repair();
    const reads = visitor.faults.requests.filter(({ operation }) =>
      ["dynamodb:GetItem", "dynamodb:Query"].includes(operation),
    );
    expect(reads.length).toBeGreaterThan(0);
    for (const { subject } of reads) expect(JSON.parse(subject)).toMatchObject({ ConsistentRead: true });
    const queries = reads.filter(({ operation }) => operation === "dynamodb:Query");
    // One with a filter looks for incomplete items of any version.
    const newest = queries
      .map(({ subject }) => JSON.parse(subject))
      .filter((query) => !query.FilterExpression);
    expect(newest.length).toBeGreaterThan(0);
    for (const query of newest) expect(query).toMatchObject({ ScanIndexForward: false });
  });

  test("the condition of the put is that fileName does not exist", async () => {
    visitor.faults.forget();
    await log.repair();
    await log.commit(2, commitBody("third"));
    const [put] = visitor.faults.requests.filter(({ operation }) => operation === "dynamodb:PutItem");
    expect(JSON.parse(put?.subject ?? "")).toMatchObject({
      ConditionExpression: "attribute_not_exists(fileName)",
    });
  });
});

describe("the table's path is the one that Spark's Path gives, or is refused", () => {
  test.each([
    ["s3://b-1/t", { bucket: "b-1", prefix: "t", tablePath: "s3a://b-1/t" }],
    ["s3a://b-1/t/", { bucket: "b-1", prefix: "t", tablePath: "s3a://b-1/t" }],
    ["s3://b-1/a b/t%20ü", { bucket: "b-1", prefix: "a b/t%20ü", tablePath: "s3a://b-1/a b/t%20ü" }],
  ])("%s", (uri, location) => {
    expect(tableLocation(uri)).toEqual(location);
  });

  test("the scheme is a setting, not the URI's", () => {
    expect(tableLocation("s3a://b-1/t", "s3").tablePath).toBe("s3://b-1/t");
  });

  test.each([
    ["s3://bucket", "root"],
    ["s3://bucket/", "root"],
    ["s3://bucket//t", "segment"],
    ["s3://bucket/a//t", "segment"],
    ["s3://bucket/a/../t", "segment"],
    ["s3://bucket/./t", "segment"],
    ["s3://bucket/t//", "segment"],
    ["file:///t", "no table's URI"],
    ["s3://BUCKET/t", "no table's URI"],
    ["s3://key:secret@bucket/t", "no table's URI"],
  ])("%s is refused", (uri, reason) => {
    expect(() => tableLocation(uri)).toThrow(reason);
  });
});
