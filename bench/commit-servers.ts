/**
 * The servers of `bench/commit.ts`, in a process of their own, so that they take no time from the writer that is measured: our S3
 * and dynalite. Started by fork; says where they are, and answers each {@link Order}. Ends when its parent does.
 */
import { setImmediate, setTimeout } from "node:timers/promises";
import { createClients } from "../src/aws/clients.ts";
import { systemClock } from "../test/support/aws/clock.ts";
import { BUCKET, createResources, LOG_TABLE } from "../test/support/aws/cloud.ts";
import { openDoor, type Service } from "../test/support/aws/door.ts";
import { DynamoDbServer } from "../test/support/aws/dynamodb-server.ts";
import { Faults } from "../test/support/aws/faults.ts";
import { S3Server } from "../test/support/aws/s3-server.ts";

/** Milliseconds. */
export const PUT = 25;
export const HEAD = 12;
export const DYNAMODB = 5;

/** By operation; a reply comes no sooner, and no later either unless the server's own work takes longer. */
const LATENCIES = new Map([
  ["s3:PutObject", PUT],
  ["s3:UploadPartCopy", PUT],
  ["s3:CompleteMultipartUpload", PUT],
  ["s3:HeadObject", HEAD],
  ["s3:GetObject", HEAD],
  ["s3:ListObjectsV2", HEAD],
  ["s3:CreateMultipartUpload", HEAD],
  ["s3:DeleteObject", HEAD],
  ["s3:DeleteObjects", HEAD],
  ["dynamodb:PutItem", DYNAMODB],
  ["dynamodb:UpdateItem", DYNAMODB],
  ["dynamodb:GetItem", DYNAMODB],
  ["dynamodb:Query", DYNAMODB],
]);
/** Milliseconds that a timer may be late: the last ones are waited for awake. */
const TIMER_LATENESS = 2;

/** Forget the requests so far; from now on with latencies, or bare. */
export interface Order {
  readonly latency: boolean;
}

export interface Answer {
  readonly urls: { readonly s3: string; readonly dynamodb: string };
  readonly bucket: string;
  readonly logTable: string;
  /** Since the order before. */
  readonly requests: number;
}

class SlowService implements Service {
  readonly #service: Service;
  latency = false;

  constructor(service: Service) {
    this.#service = service;
  }

  describe(...exchange: Parameters<Service["describe"]>) {
    return this.#service.describe(...exchange);
  }

  refusal(...reply: Parameters<Service["refusal"]>) {
    return this.#service.refusal(...reply);
  }

  async handle(...exchange: Parameters<Service["handle"]>) {
    const arrived = performance.now();
    const reply = await this.#service.handle(...exchange);
    if (!this.latency) return reply;
    const due = arrived + (LATENCIES.get(this.describe(...exchange).operation) ?? 0);
    const left = due - performance.now() - TIMER_LATENESS;
    if (left > 0) await setTimeout(left);
    while (performance.now() < due) await setImmediate();
    return reply;
  }
}

async function serve(): Promise<void> {
  const faults = new Faults();
  const dynalite = await DynamoDbServer.start();
  const services = [new SlowService(new S3Server(systemClock)), new SlowService(dynalite)];
  const doors = await Promise.all(services.map((service) => openDoor(service, faults)));
  const [s3, dynamodb] = doors.map(({ url }) => url) as [string, string];
  const clients = createClients({
    region: "eu-central-1",
    endpoints: { s3, dynamodb },
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });
  await createResources(clients, { bucket: BUCKET, logTable: LOG_TABLE, ledgerTable: null });
  clients.s3.destroy();
  clients.dynamodb.destroy();
  const answer = () => {
    const said: Answer = {
      urls: { s3, dynamodb },
      bucket: BUCKET,
      logTable: LOG_TABLE,
      requests: faults.requests.length,
    };
    faults.forget();
    process.send?.(said);
  };
  process.on("message", ({ latency }: Order) => {
    for (const service of services) service.latency = latency;
    answer();
  });
  process.on("disconnect", async () => {
    await Promise.all(doors.map((door) => door.close()));
    await dynalite.close();
  });
  answer();
}

if (process.send !== undefined) await serve();
