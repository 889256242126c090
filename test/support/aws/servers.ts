import { randomUUID } from "node:crypto";
import { type AwsClients, createClients } from "../../../src/aws/clients.ts";
import { Cloud, createResources } from "./cloud.ts";
import { quickRetries } from "./quick-retries.ts";

/** Servers to run the conformance suites on. */
export interface Servers {
  readonly name: string;
  readonly clients: AwsClients;
  readonly bucket: string;
  readonly logTable: string;
  /** A fresh, empty ledger table. */
  createLedgerTable(): Promise<string>;
  close(): Promise<void>;
}

/**
 * The servers that the environment names (`DELTACAP_AWS_SERVER`: its name, `DELTACAP_S3_ENDPOINT`, `DELTACAP_SQS_ENDPOINT`,
 * `DELTACAP_DYNAMODB_ENDPOINT`: their URLs), else our own in memory, with dynalite.
 */
export const serverName = process.env.DELTACAP_AWS_SERVER ?? "in memory and dynalite";

export async function openServers(): Promise<Servers> {
  const s3 = process.env.DELTACAP_S3_ENDPOINT;
  if (s3 === undefined) {
    const cloud = await Cloud.start();
    const { clients } = await cloud.enter();
    return await described(clients, () => cloud.close());
  }
  const sqs = process.env.DELTACAP_SQS_ENDPOINT ?? s3;
  const dynamodb = process.env.DELTACAP_DYNAMODB_ENDPOINT ?? s3;
  const clients = createClients({
    region: "eu-central-1",
    endpoints: { s3, sqs, dynamodb },
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
    retryStrategy: quickRetries(),
  });
  return await described(clients, async () => {
    clients.s3.destroy();
    clients.sqs.destroy();
    clients.dynamodb.destroy();
  });
}

async function described(clients: AwsClients, close: () => Promise<void>): Promise<Servers> {
  const run = randomUUID().slice(0, 8);
  const bucket = `lake-${run}`;
  const logTable = `delta_log-${run}`;
  await createResources(clients, { bucket, logTable, ledgerTable: null });
  let tables = 0;
  return {
    name: serverName,
    clients,
    bucket,
    logTable,
    createLedgerTable: async () => {
      const name = `ledger-${run}-${++tables}`;
      await createResources(clients, { bucket: null, logTable: null, ledgerTable: name });
      return name;
    },
    close,
  };
}

/** Names of tests that a server cannot pass, with the reason. */
export function skipped(reasons: Readonly<Record<string, Readonly<Record<string, string>>>>) {
  return reasons[serverName] ?? {};
}
