import { randomUUID } from "node:crypto";
import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { ConditionalLogStore } from "@deltacap/delta";
import { DynamoDbLogStore, S3ObjectStore } from "@deltacap/delta/aws";
import { afterAll, beforeAll } from "vitest";
import { DynamoDbLedger } from "../../src/aws/dynamodb-ledger.ts";
import { SqsManifestQueue } from "../../src/aws/sqs-manifest-queue.ts";
import { tableLocation } from "../../src/aws/table-location.ts";
import { ledgerConformance } from "../conformance/ledger.ts";
import { logStoreConformance } from "../conformance/log-store.ts";
import { manifestQueueConformance } from "../conformance/manifest-queue.ts";
import { objectStoreConformance } from "../conformance/object-store.ts";
import { createQueue } from "../support/aws/cloud.ts";
import { openServers, type Servers, serverName, skipped } from "../support/aws/servers.ts";

let servers: Servers;
beforeAll(async () => {
  servers = await openServers();
});
afterAll(async () => await servers.close());

/** A folder of its own for each test. */
function freshTable() {
  return tableLocation(`s3://${servers.bucket}/lake/packets-${randomUUID()}`);
}

const close = async () => {};

objectStoreConformance(
  `S3, ${serverName}`,
  async () => {
    const table = freshTable();
    const open = () => new S3ObjectStore(servers.clients.s3, table);
    return { store: open(), another: open, close };
  },
  { largeObject: 20 * 1024 * 1024, skip: skipped({}) },
);

logStoreConformance(
  `conditional, on S3, ${serverName}`,
  async () => {
    const table = freshTable();
    const store = new S3ObjectStore(servers.clients.s3, table);
    return {
      log: new ConditionalLogStore(store),
      another: () => new ConditionalLogStore(new S3ObjectStore(servers.clients.s3, table)),
      putFile: async (name, body) => await store.put(`_delta_log/${name}`, body),
      close,
    };
  },
  skipped({}),
);

logStoreConformance(
  `DynamoDB, ${serverName}`,
  async () => {
    const table = freshTable();
    const store = new S3ObjectStore(servers.clients.s3, table);
    const opened: DynamoDbLogStore[] = [];
    const open = () => {
      const log = new DynamoDbLogStore({
        dynamodb: servers.clients.dynamodb,
        logTable: servers.logTable,
        store,
        tablePath: table.tablePath,
        now: Date.now,
        newId: randomUUID,
      });
      opened.push(log);
      return log;
    };
    return {
      log: open(),
      another: open,
      putFile: async (name, body) => await store.put(`_delta_log/${name}`, body),
      close: async () => void (await Promise.all(opened.map((log) => log.settled()))),
    };
  },
  skipped({}),
);

ledgerConformance(
  `DynamoDB, ${serverName}`,
  async () => {
    const ledgerTable = await servers.createLedgerTable();
    const open = () =>
      new DynamoDbLedger({
        dynamodb: servers.clients.dynamodb,
        ledgerTable,
        keepSeconds: 90 * 86_400,
        now: Date.now,
        sleep: async () => {},
      });
    return { ledger: open(), another: open, close };
  },
  skipped({}),
);

manifestQueueConformance(
  `SQS, ${serverName}`,
  async () => {
    const { sqs, s3 } = servers.clients;
    const id = randomUUID();
    const queueUrl = await createQueue(servers.clients, `manifests-${id}`);
    const deadLetterUrl = await createQueue(servers.clients, `dead-${id}`);
    const store = new S3ObjectStore(s3, freshTable());
    const open = () => new SqsManifestQueue({ sqs, queueUrl, deadLetterUrl, store });
    return {
      queue: open(),
      another: open,
      deadLetters: async () => {
        const { Messages = [] } = await sqs.send(
          new ReceiveMessageCommand({ QueueUrl: deadLetterUrl, MessageAttributeNames: ["All"] }),
        );
        return Messages.map(({ Body = "", MessageAttributes }) => ({
          text: Body,
          reason: MessageAttributes?.reason?.StringValue ?? "",
        }));
      },
      close,
    };
  },
  skipped({
    ministack: {
      "acknowledging nothing, and twice, is no error":
        "ministack refuses the receipt of a deleted message, where SQS calls that success",
    },
  }),
);
