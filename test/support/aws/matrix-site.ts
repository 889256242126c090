import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { readCommits } from "@deltacap/delta";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { convertBatch } from "../../../lambdas/converter/convert-batch.ts";
import type { AwsClients } from "../../../src/aws/clients.ts";
import { deployedLedger, deployedTable } from "../../../src/aws/deployed-table.ts";
import { S3CaptureStore } from "../../../src/aws/s3-capture-store.ts";
import { SqsCaptureQueue } from "../../../src/aws/sqs-capture-queue.ts";
import { sendDeadLetter } from "../../../src/aws/sqs-dead-letter.ts";
import { SqsManifestQueue } from "../../../src/aws/sqs-manifest-queue.ts";
import type { ManifestResult } from "../../../src/commit/commit-manifests.ts";
import { readCommitTags } from "../../../src/commit/commit-tags.ts";
import { runCommitter } from "../../../src/commit/committer-run.ts";
import { parquetFileCheck } from "../../../src/commit/file-schema.ts";
import { KeyPattern } from "../../../src/ingest/key-pattern.ts";
import { manifestProblem } from "../../../src/manifest/verify-manifest.ts";
import { nodeDecompressors } from "../../../src/node/compression.ts";
import { sha256 } from "../../../src/node/hash.ts";
import { maintenancePorts } from "../../../src/node/maintenance-ports.ts";
import { nodeParquetWriter } from "../../../src/node/parquet.ts";
import { packetTable } from "../../../src/packets/packet-table.ts";
import { converterDefaults, engineInfo, optimizeDefaults } from "../../../src/settings.ts";
import { type MaintenanceReport, maintainTable } from "../../../src/upkeep/maintain-table.ts";
import { livePaths } from "../tables/live-paths.ts";
import { BUCKET, type Cloud, LOG_TABLE, quickClients, type Visitor } from "./cloud.ts";
import { Deployment } from "./deployment.ts";
import { readItems, TableItems } from "./table-items.ts";

/** Bytes of a message: a manifest of any file is larger, so that it travels by reference. */
const MESSAGE_BYTES = 2_000;
/** Milliseconds from one day to the end of every retention. */
const LATER = 40 * 86_400_000;
const MINUTE = 60_000;

/** What one client does: with its faults, or without any. */
export interface Actor {
  readonly clients: AwsClients;
  readonly urls: Visitor["urls"];
}

export type ConverterRun = Awaited<ReturnType<typeof convertBatch>> | { readonly thrown: unknown };

export interface CommitterRun {
  /** By batch; in the order of their settling. */
  readonly results: readonly ManifestResult[];
  readonly thrown: unknown;
}

/** A deployment whose content can be put back as it was; its functions' work is done in this process. */
export class MatrixSite {
  readonly cloud: Cloud;
  readonly deployment: Deployment;
  /** Has no faults. */
  readonly clean: Actor;
  readonly visitor: Visitor;
  /** Whether the faulty client gives a stalled request up at once; else it is as patient as the deployed one. */
  impatient = false;
  readonly #impatientClients: AwsClients;
  /** Packets of each capture that was uploaded, by its key. */
  readonly packets = new Map<string, number>();

  private constructor(cloud: Cloud, deployment: Deployment, owner: Visitor, visitor: Visitor) {
    this.cloud = cloud;
    this.deployment = deployment;
    this.clean = owner;
    this.visitor = visitor;
    this.#impatientClients = quickClients(visitor.urls, { firstReply: 250 });
  }

  static async open(cloud: Cloud, name: string): Promise<MatrixSite> {
    const deployment = await Deployment.open(cloud, "", name, {
      tableUri: `s3://captures-${name}/lake`,
      messageBytes: MESSAGE_BYTES,
    });
    return new MatrixSite(cloud, deployment, await cloud.enter(), await cloud.enter());
  }

  /** Has the visitor's faults. */
  get faulty(): Actor {
    const { clients, urls } = this.visitor;
    return { clients: this.impatient ? this.#impatientClients : clients, urls };
  }

  get settings() {
    return this.deployment.settings;
  }

  get bucket() {
    return this.cloud.s3.storage.bucket(this.settings.captureBuckets[0] ?? BUCKET);
  }

  table({ clients }: Actor = this.clean) {
    return deployedTable(clients, this.settings);
  }

  messages(queue: "capture" | "captureDeadLetter" | "manifest" | "manifestDeadLetter") {
    return this.deployment.messages(
      this.settings[`${queue}${queue.endsWith("r") ? "" : "Queue"}Url` as "captureQueueUrl"],
    );
  }

  /** Uploads and announces a capture of so many packets. */
  async upload(key: string, body: Uint8Array, packets: number): Promise<void> {
    const message = await this.deployment.upload(key, body);
    this.announce(message.body);
    if (packets > 0) this.packets.set(key, packets);
  }

  /** As `deltacap retry --dead-letters` does: what was put aside is tried again, except this body. */
  retryManifests(except: string): number {
    const letters = this.messages("manifestDeadLetter");
    const again = letters.filter(({ body }) => body !== except);
    letters.splice(0, letters.length, ...letters.filter(({ body }) => body === except));
    for (const { body } of again) this.sendManifest(body);
    return again.length;
  }

  announce(body: string): void {
    this.#queue(this.settings.captureQueueUrl).send(body);
  }

  sendManifest(body: string): void {
    this.#queue(this.settings.manifestQueueUrl).send(body);
  }

  /** Puts everything back as it is now, when the result is called. */
  async snapshot(): Promise<() => Promise<void>> {
    const restoreBucket = this.bucket.snapshot();
    const packets = new Map(this.packets);
    const urls = Object.entries(this.settings).flatMap(([name, url]) =>
      name.endsWith("Url") ? [String(url)] : [],
    );
    const queues = urls.map(
      (url) => [this.#queue(url), this.#queue(url).messages.map((m) => ({ ...m }))] as const,
    );
    const { dynamodb } = this.clean.clients;
    const { tablePath } = this.table().location;
    // The log store's table is shared with other sites.
    const items = [
      await TableItems.read(dynamodb, this.settings.ledgerTable),
      await TableItems.read(dynamodb, LOG_TABLE, (item) => item.tablePath?.S === tablePath),
    ];
    return async () => {
      this.visitor.faults.forget();
      restoreBucket();
      this.packets.clear();
      for (const [key, count] of packets) this.packets.set(key, count);
      for (const [queue, messages] of queues) {
        queue.messages.splice(0, queue.messages.length, ...messages.map((m) => ({ ...m, visibleAtMs: 0 })));
      }
      for (const table of items) await table.restore();
    };
  }

  /** One invocation of the converter, with all that waits; acknowledges as Lambda does. Null where nothing waits. */
  async convert(actor: Actor): Promise<ConverterRun | null> {
    const { clients } = actor;
    const { settings } = this;
    const { store, location } = this.table(actor);
    const waiting = [...this.messages("capture")];
    if (waiting.length === 0) return null;
    const ports = {
      captures: new S3CaptureStore(clients.s3, { idleTimeout: 250 }),
      table: store,
      ledger: deployedLedger(clients, settings),
      decompressors: nodeDecompressors,
      parquet: nodeParquetWriter,
      sha256,
      now: Date.now,
      newBatchId: randomUUID,
      manifestQueue: this.#manifestQueue(actor),
      isBeyondLedger: async () => false,
      deadLetter: (body: string, reason: string) =>
        sendDeadLetter(
          clients.sqs,
          { queueUrl: urlFor(actor, settings.captureDeadLetterUrl), limit: MESSAGE_BYTES },
          body,
          reason,
        ),
    };
    const rules = {
      buckets: new Set(settings.captureBuckets),
      table: location,
      keyPattern: new KeyPattern(settings.keyPattern),
    };
    try {
      const outcome = await convertBatch(
        waiting.map(({ id, body }) => ({ messageId: id, body })),
        rules,
        ports,
        converterDefaults,
      );
      const messages = this.messages("capture");
      for (const { id } of waiting) {
        if (!outcome.failed.has(id))
          messages.splice(
            messages.findIndex((m) => m.id === id),
            1,
          );
      }
      return outcome;
    } catch (thrown) {
      return { thrown };
    }
  }

  /** One run of the committer, in a fresh process, until no manifest comes. */
  async commit(actor: Actor): Promise<CommitterRun> {
    const { clients } = actor;
    const { settings } = this;
    const { log, store, sharedLog, location } = this.table(actor);
    const captures = new S3CaptureStore(clients.s3, { idleTimeout: 250 });
    const queue = this.#manifestQueue(actor);
    for (const message of this.messages("manifest")) message.visibleAtMs = 0;
    const results: ManifestResult[] = [];
    // Nothing comes any more once a poll is empty: then the time to receive is over at once.
    let skewMs = 0;
    const receive = async () => {
      const deliveries = await queue.receive(0);
      if (deliveries.length === 0) skewMs += MINUTE;
      return deliveries;
    };
    const now = () => Date.now() + skewMs;
    const rules = {
      buckets: new Set(settings.captureBuckets),
      table: location,
      hashContent: settings.hashContent,
      sha256,
    };
    let thrown: unknown = null;
    try {
      await runCommitter(
        {
          log,
          ledger: deployedLedger(clients, settings),
          table: store,
          captures,
          captureQueue: new SqsCaptureQueue(clients.sqs, urlFor(actor, settings.captureQueueUrl)),
          verify: (manifest) => manifestProblem(manifest, rules),
          checkFile: parquetFileCheck(store, packetTable),
          now,
          newId: randomUUID,
          random: Math.random,
          sleep: setTimeout,
          engineInfo,
          manifestQueue: Object.assign(Object.create(queue) as SqsManifestQueue, {
            receive,
            send: queue.send.bind(queue),
            acknowledge: queue.acknowledge.bind(queue),
            release: queue.release.bind(queue),
            deadLetter: queue.deadLetter.bind(queue),
          }),
          removeCaptures: (sources) => captures.remove(sources),
          onRound: (round) => void results.push(...round.results),
        },
        {
          commitIntervalMs: 1,
          filesPerCommit: 100,
          receiveMs: 5_000,
          receiveUntilMs: Number.POSITIVE_INFINITY,
          deadlineMs: now() + 10 * MINUTE,
          pollers: 1,
        },
      );
    } catch (error) {
      thrown = error;
    }
    await sharedLog?.settled();
    return { results, thrown };
  }

  /** One run of maintenance, after every retention: a checkpoint, small files into one, orphans deleted. */
  async maintain(actor: Actor): Promise<MaintenanceReport> {
    const { log, store, sharedLog } = this.table(actor);
    const ports = { ...maintenancePorts(log, store), now: () => Date.now() + LATER };
    const report = await maintainTable(ports, {
      checkpointInterval: 1,
      optimize: optimizeDefaults,
      vacuumMs: 0,
      smallBytes: optimizeDefaults.smallBytes,
      deadlineMs: ports.now() + 10 * MINUTE,
    });
    await sharedLog?.settled();
    return report;
  }

  /** What is wrong with the table, its ledger and the queues once everything has been settled. */
  async problems(): Promise<string[]> {
    const found: string[] = [];
    const { log, sharedLog } = this.table();
    const versions: number[] = [];
    for await (const { name } of log.list("")) {
      if (/^\d{20}\.json$/.test(name)) versions.push(Number.parseInt(name, 10));
    }
    if (versions.some((version, i) => version !== i)) found.push(`versions ${versions.join(", ")}`);
    const added = new Map<string, number>();
    for await (const { version, actions } of readCommits(log, versions)) {
      for (const { commitInfo } of actions) {
        for (const { id } of readCommitTags(commitInfo?.tags)?.sources ?? []) {
          if (added.has(id)) found.push(`source ${id} in versions ${added.get(id)} and ${version}`);
          added.set(id, version);
        }
      }
    }
    found.push(...(await this.#wrongEntries(added)), ...(await this.#wrongRows()));
    const incomplete = await sharedLog?.incompleteCommit();
    if (incomplete) found.push(`${incomplete.fileName} is incomplete`);
    for (const queue of ["capture", "manifest"] as const) {
      if (this.messages(queue).length > 0)
        found.push(`${this.messages(queue).length} messages wait in the ${queue} queue`);
    }
    return found;
  }

  async #wrongEntries(added: ReadonlyMap<string, number>): Promise<string[]> {
    const entries = await deployedLedger(this.clean.clients, this.settings).lookup([...added.keys()]);
    const found = [...added].flatMap(([id, version]) => {
      const entry = entries.get(id);
      return entry?.status === "committed" && entry.version === version
        ? []
        : [`the ledger has ${JSON.stringify(entry)} of source ${id}, which version ${version} added`];
    });
    const committed = (await readItems(this.clean.clients.dynamodb, this.settings.ledgerTable)).filter(
      ({ status }) => status?.S === "committed",
    );
    if (committed.length !== added.size) {
      found.push(`the ledger has ${committed.length} committed sources, the log ${added.size}`);
    }
    return found;
  }

  /** Each packet of each capture must be one row. */
  async #wrongRows(): Promise<string[]> {
    const rows = new Map<string, number>();
    for (const path of await livePaths(this.table().log)) {
      const body = this.bucket.current(`lake/${path}`)?.body;
      if (body === undefined) return [`the file ${path} is missing`];
      const file = body.buffer.slice(body.byteOffset, body.byteOffset + body.length) as ArrayBuffer;
      const columns = ["capture", "packet_number"];
      for (const { capture, packet_number } of await parquetReadObjects({ file, columns, compressors })) {
        const row = `${String(capture).split("/").slice(3).join("/")} ${packet_number}`;
        rows.set(row, (rows.get(row) ?? 0) + 1);
      }
    }
    const expected = [...this.packets].flatMap(([key, count]) =>
      Array.from({ length: count }, (_, i) => `${key} ${i + 1}`),
    );
    const found = expected.flatMap((row) =>
      rows.get(row) === 1 ? [] : [`${rows.get(row) ?? 0} rows of packet ${row}`],
    );
    if (rows.size !== expected.length)
      found.push(`${rows.size} packets have rows, ${expected.length} were uploaded`);
    return found;
  }

  close(): void {
    for (const client of Object.values(this.#impatientClients)) client.destroy();
  }

  #manifestQueue(actor: Actor): SqsManifestQueue {
    const { settings } = this;
    return new SqsManifestQueue({
      sqs: actor.clients.sqs,
      queueUrl: urlFor(actor, settings.manifestQueueUrl),
      deadLetterUrl: urlFor(actor, settings.manifestDeadLetterUrl),
      store: this.table(actor).store,
      messageBytes: MESSAGE_BYTES,
    });
  }

  #queue(url: string) {
    return this.cloud.sqs.storage.queue(url.split("/").at(-1) ?? "");
  }
}

/** The SDK sends to the host that a queue's URL names: for each client its own door. */
function urlFor({ urls }: Actor, url: string): string {
  return urls.sqs + new URL(url).pathname;
}
