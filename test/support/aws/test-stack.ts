import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { main } from "../../../cli/deltacap.ts";
import type { DeployedStack } from "../../../cli/stack/stack.ts";
import { convertBatch } from "../../../lambdas/converter/convert-batch.ts";
import { deployedLedger, deployedTable } from "../../../src/aws/deployed-table.ts";
import type { PipelineState } from "../../../src/aws/pipeline-switch.ts";
import { S3CaptureStore } from "../../../src/aws/s3-capture-store.ts";
import { SqsCaptureQueue } from "../../../src/aws/sqs-capture-queue.ts";
import { Committer } from "../../../src/commit/commit-manifests.ts";
import { KeyPattern } from "../../../src/ingest/key-pattern.ts";
import type { Manifest } from "../../../src/manifest/manifest.ts";
import { nodeDecompressors } from "../../../src/node/compression.ts";
import { contentHash, sha256 } from "../../../src/node/hash.ts";
import { nodeParquetWriter } from "../../../src/node/parquet.ts";
import {
  converterDefaults,
  engineInfo,
  type FunctionSettings,
  optimizeDefaults,
} from "../../../src/settings.ts";
import type { RewritePorts } from "../../../src/upkeep/commit-rewrite.ts";
import { forgetVehicle } from "../../../src/upkeep/forget-vehicle.ts";
import { optimizeTable } from "../../../src/upkeep/optimize-table.ts";
import { RecordingTerminal } from "../command-line.ts";
import type { Cloud } from "./cloud.ts";
import { Deployment } from "./deployment.ts";

/** A stack in the test's cloud, with its functions' work done in this process, and the command line that looks at it. */
export class TestStack {
  readonly deployment: Deployment;
  readonly stack: DeployedStack;
  /** Added to the clock that commands look at. */
  laterMs = 0;

  private constructor(deployment: Deployment, stack: Omit<DeployedStack, "now">) {
    this.deployment = deployment;
    this.stack = { ...stack, now: () => Date.now() + this.laterMs };
  }

  static async open(cloud: Cloud, name: string, changes: Partial<FunctionSettings> = {}): Promise<TestStack> {
    const { clients } = await cloud.enter();
    const deployment = await Deployment.open(cloud, "", name, changes);
    const { settings } = deployment;
    return new TestStack(deployment, { name, settings, clients, pipeline: memorySwitch() });
  }

  get bucket(): string {
    return this.deployment.settings.captureBuckets[0] ?? "";
  }

  get table() {
    return deployedTable(this.stack.clients, this.stack.settings);
  }

  get ledger() {
    return deployedLedger(this.stack.clients, this.stack.settings);
  }

  /** Runs the command line on this stack. */
  async deltacap(...argv: string[]) {
    const terminal = new RecordingTerminal();
    const code = await main(argv, terminal, () => Promise.resolve(this.stack));
    return { code, out: terminal.written, err: terminal.watched };
  }

  /** Uploads captures and does what converter and committer would; the version in which they are. */
  async ingest(captures: Readonly<Record<string, Uint8Array>>): Promise<number> {
    const messages = [];
    for (const [key, body] of Object.entries(captures)) {
      messages.push(await this.deployment.upload(key, body));
    }
    return await this.ingestAnnounced(messages);
  }

  /** The same for captures whose messages are given. */
  async ingestAnnounced(messages: readonly { messageId: string; body: string }[]): Promise<number> {
    const { clients, settings } = this.stack;
    const { log, store, location } = this.table;
    const captures = new S3CaptureStore(clients.s3);
    const manifests: Manifest[] = [];
    const shared = { ledger: this.ledger, table: store, captures, now: Date.now };
    const rules = {
      buckets: new Set(settings.captureBuckets),
      table: location,
      keyPattern: new KeyPattern(settings.keyPattern),
    };
    await convertBatch(
      messages,
      rules,
      {
        ...shared,
        decompressors: nodeDecompressors,
        parquet: nodeParquetWriter,
        sha256,
        contentHash,
        newBatchId: randomUUID,
        manifestQueue: { send: async (manifest) => void manifests.push(manifest) },
        isBeyondLedger: async () => false,
        deadLetter: () => Promise.resolve(),
      },
      converterDefaults,
    );
    const committer = await Committer.start({
      ...shared,
      log,
      captureQueue: new SqsCaptureQueue(clients.sqs, settings.captureQueueUrl),
      newId: randomUUID,
      random: Math.random,
      sleep: setTimeout,
      engineInfo,
    });
    await committer.commit(manifests, Number.POSITIVE_INFINITY);
    await this.table.sharedLog?.settled();
    return committer.snapshot.version;
  }

  /** Small files become one. */
  async optimize(): Promise<void> {
    await optimizeTable(this.#rewriter(), optimizeDefaults);
  }

  /** Removes a vehicle's rows. */
  async forget(vehicleId: string): Promise<void> {
    await forgetVehicle(vehicleId, this.#rewriter(), optimizeDefaults);
  }

  #rewriter(): RewritePorts {
    const { log, store } = this.table;
    return {
      log,
      table: store,
      parquet: nodeParquetWriter,
      now: Date.now,
      newId: randomUUID,
      random: Math.random,
      sleep: setTimeout,
      engineInfo,
    };
  }

  /** Keys that the capture queue's messages announce, sorted. */
  announced(): string[] {
    const bodies = this.deployment.messages(this.stack.settings.captureQueueUrl).map(({ body }) => body);
    return bodies
      .flatMap((body) => (JSON.parse(body) as { Records: { s3: { object: { key: string } } }[] }).Records)
      .map(({ s3 }) => decodeURIComponent(s3.object.key.replaceAll("+", " ")))
      .sort();
  }
}

function memorySwitch(): DeployedStack["pipeline"] {
  let state: PipelineState = { converter: "on", committer: "on" };
  const text = (on: boolean) => (on ? "on" : "off");
  return {
    state: () => Promise.resolve(state),
    switchConverter: async (on) => {
      state = { ...state, converter: text(on) };
    },
    switchCommitter: async (on) => {
      state = { ...state, committer: text(on) };
    },
  };
}

/** The objects of a text of JSON lines. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
