import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { bundleFunction, type functionNames } from "../../../bundle.ts";
import { environmentOf, type FunctionSettings, functionDefaults } from "../../../src/settings.ts";
import {
  BUCKET,
  type Cloud,
  createQueue,
  createResources,
  LEDGER_TABLE,
  LOG_TABLE,
  type Visitor,
} from "./cloud.ts";
import { LambdaFunction } from "./lambda-function.ts";

const CAPTURES = "captures";

type FunctionName = (typeof functionNames)[number];

/** The functions' assets, bundled as they are deployed, in a temporary folder. */
export async function bundledFunctions(
  names: readonly FunctionName[] = ["converter", "committer"],
): Promise<{ readonly folder: string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), "functions-"));
  await Promise.all(names.map((name) => bundleFunction(name, join(folder, name))));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Queues, buckets and tables as the stack makes them, and functions that use them. */
export class Deployment {
  readonly settings: FunctionSettings;
  readonly #cloud: Cloud;
  readonly #owner: Visitor;
  readonly #assets: string;
  readonly #functions: LambdaFunction[] = [];

  private constructor(cloud: Cloud, owner: Visitor, assets: string, settings: FunctionSettings) {
    this.#cloud = cloud;
    this.#owner = owner;
    this.#assets = assets;
    this.settings = settings;
  }

  static async open(
    cloud: Cloud,
    assets: string,
    name: string,
    changes: Partial<FunctionSettings> = {},
  ): Promise<Deployment> {
    const owner = await cloud.enter();
    const { clients } = owner;
    const ledgerTable = `${LEDGER_TABLE}-${name}`;
    await createResources(clients, { bucket: `${CAPTURES}-${name}`, logTable: null, ledgerTable });
    const queue = (of: string) => createQueue(clients, `${of}-${name}`);
    return new Deployment(cloud, owner, assets, {
      ...functionDefaults,
      stackName: name,
      tableUri: `s3://${BUCKET}/${name}`,
      logTable: LOG_TABLE,
      ledgerTable,
      captureBuckets: [`${CAPTURES}-${name}`],
      captureQueueUrl: await queue("capture-queue"),
      captureDeadLetterUrl: await queue("capture-dead"),
      manifestQueueUrl: await queue("manifest-queue"),
      manifestDeadLetterUrl: await queue("manifest-dead"),
      ...changes,
    });
  }

  /** A function in a process of its own, with the faults and counts of the visitor by whose doors it comes in. */
  async start(
    name: FunctionName,
    changes: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly fn: LambdaFunction; readonly visitor: Visitor }> {
    const visitor = await this.#cloud.enter();
    // The SDK sends to the host that a queue's URL names: for each visitor its own.
    const queues = Object.entries(this.settings).flatMap(([setting, value]) =>
      setting.endsWith("Url") ? [[setting, visitor.urls.sqs + new URL(String(value)).pathname]] : [],
    );
    const fn = await LambdaFunction.open(join(this.#assets, name), {
      ...environmentOf({ ...this.settings, ...Object.fromEntries(queues) }),
      AWS_REGION: "eu-central-1",
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_ENDPOINT_URL_S3: visitor.urls.s3,
      AWS_ENDPOINT_URL_SQS: visitor.urls.sqs,
      AWS_ENDPOINT_URL_DYNAMODB: visitor.urls.dynamodb,
      ...changes,
    });
    this.#functions.push(fn);
    return { fn, visitor };
  }

  /** Uploads a capture; the message that announces it. */
  async upload(key: string, body: Uint8Array): Promise<{ messageId: string; body: string }> {
    const bucket = this.settings.captureBuckets[0] ?? "";
    const { ETag = "" } = await this.#owner.clients.s3.send(
      new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }),
    );
    const object = { key: encodeURIComponent(key), size: body.length, eTag: ETag.replaceAll('"', "") };
    const record = {
      eventVersion: "2.1",
      eventSource: "aws:s3",
      eventName: "ObjectCreated:Put",
      eventTime: new Date().toISOString(),
      s3: { s3SchemaVersion: "1.0", bucket: { name: bucket }, object },
    };
    return { messageId: `message-${key}`, body: JSON.stringify({ Records: [record] }) };
  }

  /** All that is in one of the deployment's queues, in flight or not. */
  messages(queueUrl: string) {
    return this.#cloud.sqs.storage.queue(queueUrl.split("/").at(-1) ?? "").messages;
  }

  async close(): Promise<void> {
    await Promise.all(this.#functions.map((fn) => fn.close()));
  }
}
