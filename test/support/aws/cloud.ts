import { CreateTableCommand } from "@aws-sdk/client-dynamodb";
import { CreateBucketCommand } from "@aws-sdk/client-s3";
import { CreateQueueCommand } from "@aws-sdk/client-sqs";
import { type AwsClients, createClients } from "../../../src/aws/clients.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type Door, openDoor } from "./door.ts";
import { DynamoDbServer } from "./dynamodb-server.ts";
import { Faults } from "./faults.ts";
import { quickRetries } from "./quick-retries.ts";
import { S3Server } from "./s3-server.ts";
import { SqsServer } from "./sqs-server.ts";

export const BUCKET = "lake";
export const LOG_TABLE = "delta_log";
export const LEDGER_TABLE = "ledger";

/** One process' clients, with the faults and counts that are its own. */
export interface Visitor {
  readonly clients: AwsClients;
  readonly faults: Faults;
  /** For programs that bring clients of their own. */
  readonly urls: { readonly s3: string; readonly sqs: string; readonly dynamodb: string };
}

/** Clients of a visitor's doors that send again at once. `firstReply` as in `ClientSettings`. */
export function quickClients(
  urls: Visitor["urls"],
  settings: { readonly firstReply?: number } = {},
): AwsClients {
  return createClients({
    region: "eu-central-1",
    endpoints: urls,
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
    retryStrategy: quickRetries(),
    ...settings,
  });
}

/** S3, SQS and DynamoDB on this machine. Each visitor comes in by doors of its own. */
export class Cloud {
  readonly s3: S3Server;
  readonly sqs: SqsServer;
  readonly dynamodb: DynamoDbServer;
  readonly #doors: Door[] = [];
  readonly #visitors: Visitor[] = [];
  #inside = 0;

  private constructor(clock: Clock, dynamodb: DynamoDbServer) {
    this.s3 = new S3Server(clock);
    this.sqs = new SqsServer(clock);
    this.dynamodb = dynamodb;
  }

  /** With the bucket and the two DynamoDB tables. */
  static async start(clock: Clock = systemClock): Promise<Cloud> {
    const cloud = new Cloud(clock, await DynamoDbServer.start());
    const { clients } = await cloud.enter();
    await createResources(clients, { bucket: BUCKET, logTable: LOG_TABLE, ledgerTable: LEDGER_TABLE });
    return cloud;
  }

  /** A client of its own until everybody is sent out; clients are used again, since making one takes long. */
  async enter(): Promise<Visitor> {
    const visitor = this.#visitors[this.#inside] ?? (await this.#newVisitor());
    this.#visitors[this.#inside++] = visitor;
    return visitor;
  }

  /** Ends all visits; what they planned is forgotten. */
  everybodyOut(): void {
    this.#inside = 0;
    for (const { faults } of this.#visitors) faults.forget();
  }

  async #newVisitor(): Promise<Visitor> {
    const faults = new Faults();
    const doors = await Promise.all(
      [this.s3, this.sqs, this.dynamodb].map((service) => openDoor(service, faults)),
    );
    this.#doors.push(...doors);
    const [s3, sqs, dynamodb] = doors.map((door) => door.url) as [string, string, string];
    const urls = { s3, sqs, dynamodb };
    return { clients: quickClients(urls), faults, urls };
  }

  async close(): Promise<void> {
    for (const { s3, sqs, dynamodb } of this.#visitors.map(({ clients }) => clients)) {
      s3.destroy();
      sqs.destroy();
      dynamodb.destroy();
    }
    await Promise.all(this.#doors.map((door) => door.close()));
    await this.dynamodb.close();
  }
}

/** Names of what {@link createResources} makes; null leaves one out. */
export interface ResourceNames {
  readonly bucket: string | null;
  readonly logTable: string | null;
  readonly ledgerTable: string | null;
}

/** Bucket and tables as the stack makes them. */
export async function createResources(clients: AwsClients, names: ResourceNames): Promise<void> {
  const { bucket, logTable, ledgerTable } = names;
  if (bucket !== null) {
    const CreateBucketConfiguration = { LocationConstraint: "eu-central-1" } as const;
    await clients.s3.send(new CreateBucketCommand({ Bucket: bucket, CreateBucketConfiguration }));
  }
  if (logTable !== null) await createTable(clients, logTable, { tablePath: "S", fileName: "S" });
  if (ledgerTable !== null) {
    await createTable(clients, ledgerTable, { sourceId: "S" }, { trouble: "S", noticedAt: "N" });
  }
}

/** Attributes of a key by their types: the hash key, then perhaps the range key. */
type Keys = Readonly<Record<string, "S" | "N">>;

/** `indexKeys` are those of a global secondary index, which is named after its hash key. */
export async function createTable(
  clients: AwsClients,
  TableName: string,
  keys: Keys,
  indexKeys: Keys | null = null,
): Promise<void> {
  const schemaOf = (of: Keys) =>
    Object.keys(of).map(
      (AttributeName, i) => ({ AttributeName, KeyType: i === 0 ? "HASH" : "RANGE" }) as const,
    );
  const attributes = Object.entries({ ...keys, ...indexKeys });
  await clients.dynamodb.send(
    new CreateTableCommand({
      TableName,
      AttributeDefinitions: attributes.map(([AttributeName, AttributeType]) => ({
        AttributeName,
        AttributeType,
      })),
      KeySchema: schemaOf(keys),
      BillingMode: "PAY_PER_REQUEST",
      ...(indexKeys !== null && {
        GlobalSecondaryIndexes: [
          {
            IndexName: Object.keys(indexKeys)[0],
            KeySchema: schemaOf(indexKeys),
            Projection: { ProjectionType: "ALL" },
          },
        ],
      }),
    }),
  );
}

/** The queue's URL for these clients. */
export async function createQueue(
  clients: AwsClients,
  name: string,
  Attributes: Record<string, string> = {},
): Promise<string> {
  const { QueueUrl } = await clients.sqs.send(new CreateQueueCommand({ QueueName: name, Attributes }));
  if (QueueUrl === undefined) throw new Error(`no URL came for the queue ${name}`);
  return QueueUrl;
}
