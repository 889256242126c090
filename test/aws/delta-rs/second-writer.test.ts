import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { QueryCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import type { ObjectStore } from "@deltacap/delta";
import {
  CommitInDoubtError,
  ConditionalLogStore,
  commitFileName,
  type LogStore,
  RetryableError,
} from "@deltacap/delta";
import { DynamoDbLogStore, S3ObjectStore } from "@deltacap/delta/aws";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TableLocation, tableLocation } from "../../../src/aws/table-location.ts";
import { openServers, type Servers } from "../../support/aws/servers.ts";

/** Of an environment with deltalake 1.6.0, the last version that keeps Spark's DynamoDB log store. */
const python = process.env.DELTACAP_DELTA_RS_PYTHON;
/** Of an environment with a later one, which commits by conditional puts alone. */
const newestPython = process.env.DELTACAP_DELTA_RS_NEWEST_PYTHON;
const endpoint = process.env.DELTACAP_S3_ENDPOINT;
const COMMITS = Number(process.env.DELTACAP_DELTA_RS_COMMITS ?? "100");

/** Rows of ours begin here. */
const OURS = 1_000_000;

const OPTIMIZED_COMMITS = 40;

type LogStoreKind = "dynamodb" | "conditional";

const AT_ONCE = `at once, ${COMMITS} commits each: every row once, versions contiguous, no item incomplete`;

describe.skipIf(python === undefined || endpoint === undefined)(
  "deltalake 1.6.0 and this log store on one table (skipped without DELTACAP_DELTA_RS_PYTHON and DELTACAP_S3_ENDPOINT)",
  () => {
    let servers: Servers;
    beforeAll(async () => {
      servers = await openServers();
    });
    afterAll(async () => await servers.close());

    test(AT_ONCE, { timeout: 600_000 }, async () => {
      await commitAtOnce(servers, "dynamodb");
    });

    test(`it optimizes while we make ${OPTIMIZED_COMMITS} commits: every row once`, {
      timeout: 600_000,
    }, async () => {
      const table = await createTable(servers, "dynamodb");
      const { log, store, settled } = writer(servers, table, "dynamodb");
      const theirs = deltaRs(servers, table, "dynamodb", "optimize", "0", String(OPTIMIZED_COMMITS));
      let version = 1;
      for (let i = 0; i < OPTIMIZED_COMMITS; i++) {
        const body = await appendOf(store, OURS + i);
        while ((await log.commit(version, body)) === "conflict") version++;
        version++;
        // It gives up whenever we are faster: of eight pauses one is long enough for it.
        await new Promise((resolve) => setTimeout(resolve, i % 8 === 7 ? 2_500 : 150));
      }
      const { version: newest } = await theirs;
      await settled();
      const read = await deltaRs(servers, table, "dynamodb", "read");
      expect(read.ids).toEqual(Array.from({ length: OPTIMIZED_COMMITS }, (_, i) => OURS + i));
      const optimized = newest - OPTIMIZED_COMMITS;
      console.log(`note: ${optimized} of the ${newest} versions are its OPTIMIZE`);
      expect(optimized).toBeGreaterThan(2);
      expect(await incomplete(servers, table)).toEqual([]);
    });

    test("it repairs a commit that we left prepared", async () => {
      const table = await createTable(servers, "dynamodb");
      const { log, store } = writer(servers, table, "dynamodb", "dies");
      const body = await appendOf(store, OURS);
      await expect(log.commit(1, body)).rejects.toThrow(CommitInDoubtError);
      expect(await incomplete(servers, table)).toEqual([commitFileName(1)]);
      await deltaRs(servers, table, "dynamodb", "append", "0", "1");
      await expectWhole(servers, table, "dynamodb", [0, OURS]);
    });

    test("we repair a commit that it left prepared", async () => {
      const table = await createTable(servers, "dynamodb");
      await deltaRs(servers, table, "dynamodb", "append", "0", "1");
      await unprepare(servers, table, 1);
      const { log, store, settled } = writer(servers, table, "dynamodb");
      await log.repair();
      expect(await log.commit(2, await appendOf(store, OURS))).toBe("committed");
      await settled();
      await expectWhole(servers, table, "dynamodb", [0, OURS]);
    });
  },
);

describe.skipIf(newestPython === undefined || endpoint === undefined)(
  "the newest deltalake and the conditional log store on one table (skipped without DELTACAP_DELTA_RS_NEWEST_PYTHON and DELTACAP_S3_ENDPOINT)",
  () => {
    test(AT_ONCE, { timeout: 600_000 }, async () => {
      const servers = await openServers();
      await commitAtOnce(servers, "conditional");
      await servers.close();
    });
  },
);

/** Both append to one table until each has made its commits. */
async function commitAtOnce(servers: Servers, kind: LogStoreKind): Promise<void> {
  const table = await createTable(servers, kind);
  const { log, store, settled } = writer(servers, table, kind);
  const theirs = deltaRs(servers, table, kind, "append", "0", String(COMMITS));
  let version = 1;
  let conflicts = 0;
  for (let i = 0; i < COMMITS; i++) {
    // Ours is faster: it waits for the other one, not always as long, so that both meet again and again.
    await untilVersion(store, 2 * i - (i % 3));
    const body = await appendOf(store, OURS + i);
    while ((await log.commit(version, body)) === "conflict") {
      conflicts++;
      version++;
    }
    version++;
  }
  await theirs;
  await settled();
  const expected = [0, OURS].flatMap((first) => Array.from({ length: COMMITS }, (_, i) => first + i));
  await expectWhole(servers, table, kind, expected);
  const writers = await Promise.all(
    Array.from({ length: 2 * COMMITS }, async (_, i) => {
      const text = new TextDecoder().decode((await log.read(commitFileName(i + 1))) ?? new Uint8Array());
      return text.includes("ours-") ? "ours" : "theirs";
    }),
  );
  const turns = writers.filter((who, i) => who !== writers[i + 1]).length;
  console.log(`note: ${conflicts} of our commits met a conflict, the writers took ${turns} turns`);
  expect(turns).toBeGreaterThan(COMMITS / 4);
}

async function createTable(servers: Servers, kind: LogStoreKind): Promise<TableLocation> {
  const table = tableLocation(`s3://${servers.bucket}/lake/shared-${randomUUID()}`);
  await deltaRs(servers, table, kind, "create");
  return table;
}

/** The program's last line. It prints the table's newest version, and for `read` the rows' ids. */
async function deltaRs(
  servers: Servers,
  { tablePath }: TableLocation,
  kind: LogStoreKind,
  action: string,
  ...numbers: string[]
) {
  const script = join(import.meta.dirname, "second_writer.py");
  const logTable = kind === "dynamodb" ? servers.logTable : "-";
  const values = [script, action, tablePath, endpoint ?? "", logTable, ...numbers];
  const program = (kind === "dynamodb" ? python : newestPython) ?? "";
  const { stdout } = await promisify(execFile)(program, values, { maxBuffer: 2 ** 26 });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { version: number; ids?: number[] };
}

/** A writer of ours. One that "dies" never gets to put N.json. */
function writer(
  servers: Servers,
  table: TableLocation,
  kind: LogStoreKind,
  fate: "lives" | "dies" = "lives",
): { log: LogStore; store: S3ObjectStore; settled: () => Promise<void> } {
  const store = new S3ObjectStore(servers.clients.s3, table);
  if (kind === "conditional") return { log: new ConditionalLogStore(store), store, settled: async () => {} };
  const log = new DynamoDbLogStore({
    dynamodb: servers.clients.dynamodb,
    logTable: servers.logTable,
    store: fate === "dies" ? withoutConditionalPuts(store) : store,
    tablePath: table.tablePath,
    now: Date.now,
    newId: randomUUID,
  });
  return { log, store, settled: () => log.settled() };
}

/** The store, killed at the commit point. */
function withoutConditionalPuts(store: S3ObjectStore): ObjectStore {
  return {
    create: store.create.bind(store),
    put: store.put.bind(store),
    head: store.head.bind(store),
    read: store.read.bind(store),
    list: store.list.bind(store),
    remove: store.remove.bind(store),
    putIfAbsent: async () => {
      throw new RetryableError("killed");
    },
  };
}

/** Resolves when the log has this version. */
async function untilVersion(store: S3ObjectStore, version: number): Promise<void> {
  while (version > 0 && (await store.head(`_delta_log/${commitFileName(version)}`)) === null) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Puts a file with one row, and makes the commit that adds it. */
async function appendOf(store: S3ObjectStore, id: number): Promise<Uint8Array> {
  const body = new Uint8Array(
    parquetWriteBuffer({ columnData: [{ name: "id", data: [BigInt(id)], type: "INT64", nullable: true }] }),
  );
  const path = `ours-${id}.parquet`;
  await store.putIfAbsent(path, body);
  const commitInfo = {
    timestamp: Date.now(),
    operation: "WRITE",
    operationParameters: { mode: "Append", partitionBy: "[]" },
    isBlindAppend: true,
    txnId: randomUUID(),
  };
  const add = {
    path,
    partitionValues: {},
    size: body.length,
    modificationTime: Date.now(),
    dataChange: true,
  };
  return new TextEncoder().encode(`${JSON.stringify({ commitInfo })}\n${JSON.stringify({ add })}\n`);
}

/** Undoes what followed preparation: as if the writer had died there. */
async function unprepare(servers: Servers, table: TableLocation, version: number): Promise<void> {
  const store = new S3ObjectStore(servers.clients.s3, table);
  const name = `_delta_log/${commitFileName(version)}`;
  const body = (await store.read(name)) ?? new Uint8Array();
  const item = (await items(servers, table)).find(({ fileName }) => fileName === commitFileName(version));
  await store.put(`_delta_log/${item?.tempPath}`, body);
  await store.remove([name]);
  await servers.clients.dynamodb.send(
    new UpdateItemCommand({
      TableName: servers.logTable,
      Key: { tablePath: { S: table.tablePath }, fileName: { S: commitFileName(version) } },
      UpdateExpression: "SET complete = :false REMOVE expireTime",
      ExpressionAttributeValues: { ":false": { S: "false" } },
    }),
  );
}

async function expectWhole(
  servers: Servers,
  table: TableLocation,
  kind: LogStoreKind,
  ids: readonly number[],
): Promise<void> {
  const read = await deltaRs(servers, table, kind, "read");
  expect(read.ids).toEqual(ids);
  expect(read.version).toBe(ids.length);
  const store = new S3ObjectStore(servers.clients.s3, table);
  const names: string[] = [];
  for await (const { path } of store.list("_delta_log/0")) if (path.endsWith(".json")) names.push(path);
  expect(names).toEqual(Array.from({ length: ids.length + 1 }, (_, i) => `_delta_log/${commitFileName(i)}`));
  expect(await incomplete(servers, table)).toEqual([]);
}

async function incomplete(servers: Servers, table: TableLocation): Promise<(string | undefined)[]> {
  const all = await items(servers, table);
  return all.filter(({ complete }) => complete !== "true").map(({ fileName }) => fileName);
}

async function items(servers: Servers, table: TableLocation): Promise<Record<string, string | undefined>[]> {
  const { Items } = await servers.clients.dynamodb.send(
    new QueryCommand({
      TableName: servers.logTable,
      ConsistentRead: true,
      KeyConditionExpression: "tablePath = :tablePath",
      ExpressionAttributeValues: { ":tablePath": { S: table.tablePath } },
    }),
  );
  return (Items ?? []).map((item) =>
    Object.fromEntries(Object.entries(item).map(([name, value]) => [name, value.S])),
  );
}
