import { DeleteItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { type Action, commitFileName, liveFiles, serializeActions } from "@deltacap/delta";
import type { DynamoDbLogStore } from "@deltacap/delta/aws";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { functionNames } from "../../bundle.ts";
import { deployedTable } from "../../src/aws/deployed-table.ts";
import { createTableBody } from "../../src/commit/commit-body.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import type { FunctionSettings } from "../../src/settings.ts";
import { resourcesOf, templateOf } from "../lib/synthesized.ts";
import { type AlarmProperties, fires } from "../support/aws/alarm-state.ts";
import { BUCKET, Cloud, LOG_TABLE } from "../support/aws/cloud.ts";
import { bundledFunctions, Deployment } from "../support/aws/deployment.ts";
import type { Effect, Fault } from "../support/aws/faults.ts";
import { concatenated, PcapMagic } from "../support/captures/capture-builder.ts";
import { smallPcap } from "../support/captures/capture-fixtures.ts";

type FunctionName = (typeof functionNames)[number];

const CAPTURE = smallPcap("little-endian", PcapMagic.microseconds);
const MINUTE = 60_000;
/** With 20 s in reserve twice, a run of the committer receives for two seconds and a half. */
const SHORT_RUN = 42_500;
/** Receives for eight seconds. */
const LONGER_RUN = 48_000;
/** Runs of the committer within which what waits must be settled: on a busy machine a short one ends before anything came. */
const MAX_RUNS = 10;
const ALWAYS = Number.POSITIVE_INFINITY;
const DENIED: Effect = { kind: "refuse", status: 403, code: "AccessDenied" };

const alarms = new Map(
  resourcesOf(templateOf({ runbookUrl: "https://wiki.example.com/runbook" }), "AWS::CloudWatch::Alarm").map(
    ([, { Properties }]) => [
      String(Properties.AlarmDescription).split("#").at(-1) ?? "",
      Properties as unknown as AlarmProperties,
    ],
  ),
);

let cloud: Cloud;
let assets: Awaited<ReturnType<typeof bundledFunctions>>;
let deployments = 0;
beforeAll(async () => {
  [cloud, assets] = await Promise.all([
    Cloud.start(),
    bundledFunctions(["converter", "committer", "maintenance"]),
  ]);
});
afterAll(async () => {
  await cloud.close();
  assets.remove();
});

interface InvokeOptions {
  readonly fault?: Fault;
  readonly timeoutMs?: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly again?: () => boolean;
}

/** A deployment, and everything that CloudWatch would know of it. */
class World {
  readonly deployment: Deployment;
  readonly #observed = new Map<string, number[]>();

  constructor(deployment: Deployment) {
    this.deployment = deployment;
  }

  static async open(changes: Partial<FunctionSettings> = {}): Promise<World> {
    const deployment = await Deployment.open(cloud, assets.folder, `alarm${++deployments}`, changes);
    onTestFinished(() => deployment.close());
    return new World(deployment);
  }

  note(metric: string, ...values: number[]): void {
    this.#observed.set(metric, [...(this.#observed.get(metric) ?? []), ...values]);
  }

  /**
   * A cold start and invocations while `again` says so, with the function's requests so affected. The committer's metrics
   * count five times, as it is invoked in five minutes: what causes an alarm lasts.
   */
  async invoke(name: FunctionName, event: unknown, options: InvokeOptions = {}): Promise<void> {
    const { fault, timeoutMs = SHORT_RUN, environment = {}, again = () => false } = options;
    const { fn, visitor } = await this.deployment.start(name, environment);
    if (fault !== undefined) visitor.faults.plan({ times: ALWAYS, ...fault });
    const perPeriod = name === "committer" ? 5 : 1;
    for (let run = 1; run === 1 || (again() && run <= MAX_RUNS); run++) {
      const { outcome } = await fn.invoke(event, timeoutMs);
      this.note(`${name} Errors`, ...Array<number>(perPeriod).fill(outcome === "response" ? 0 : 1));
      // Lambda measures the whole of its time: 300 s as deployed.
      if (outcome === "timeout") this.note(`${name} Duration`, 300_000);
    }
    for (let i = 0; i < perPeriod; i++) {
      for (const [metric, values] of fn.metrics()) this.note(`${name} ${metric}`, ...values);
    }
  }

  /** Runs the committer until it has settled every manifest. */
  async settle(): Promise<void> {
    const { settings } = this.deployment;
    const again = () => this.deployment.messages(settings.manifestQueueUrl).length > 0;
    await this.invoke("committer", {}, { again });
  }

  /** What CloudWatch sees of the queues now, too. */
  observed() {
    for (const queue of [
      "captureQueue",
      "captureDeadLetter",
      "manifestQueue",
      "manifestDeadLetter",
    ] as const) {
      const messages = this.deployment.messages(this.deployment.settings[`${queue}Url`]);
      this.note(`${queue} ApproximateNumberOfMessagesVisible`, messages.length);
      const ages = messages.map(({ sentMs }) => (Date.now() - sentMs) / 1_000);
      if (ages.length > 0) this.note(`${queue} ApproximateAgeOfOldestMessage`, Math.max(...ages));
    }
    return this.#observed;
  }

  /** Sends to a queue, so long ago. */
  send(queue: "captureQueue" | "manifestQueue", body: string, ageMs = 0): void {
    const url = this.deployment.settings[`${queue}Url`];
    const sent = cloud.sqs.storage.queue(url.split("/").at(-1) ?? "").send(body);
    Object.assign(sent, { sentMs: sent.sentMs - ageMs });
  }

  async convert(...captures: readonly [key: string, body: Uint8Array][]): Promise<void> {
    const Records = [];
    for (const [key, body] of captures) Records.push(await this.deployment.upload(key, body));
    await this.invoke("converter", { Records });
  }

  get log() {
    return this.#table.then(({ log }) => log);
  }

  get #table() {
    return cloud.enter().then(({ clients }) => deployedTable(clients, this.deployment.settings));
  }

  async createTable(...actions: readonly Action[]): Promise<void> {
    const log = await this.log;
    const identity = { txnId: "0", timestamp: 1, engineInfo: "test" };
    await log.commit(0, createTableBody(packetTable, "t", identity));
    const commitInfo = { txnId: "1" };
    if (actions.length > 0) await log.commit(1, serializeActions([{ commitInfo }, ...actions]));
  }

  key(name: string): string {
    return `${this.deployment.settings.stackName}/_delta_log/${name}`;
  }

  /** An item of a commit whose two files are gone, as `incomplete-log-item` describes it. */
  async loseCommit(version: number): Promise<void> {
    const below = cloud.s3.storage.bucket(BUCKET).current(this.key(commitFileName(version - 1)));
    if (below !== null) Object.assign(below, { modifiedMs: Date.now() - 15 * MINUTE });
    const { clients } = await cloud.enter();
    const item = {
      tablePath: `s3a://${BUCKET}/${this.deployment.settings.stackName}`,
      fileName: commitFileName(version),
      tempPath: ".tmp/lost",
      complete: "false",
    };
    const Item = Object.fromEntries(Object.entries(item).map(([name, value]) => [name, { S: value }]));
    await clients.dynamodb.send(new PutItemCommand({ TableName: LOG_TABLE, Item }));
  }
}

const smallFile = (index: number): Action => ({
  add: {
    path: `date=2026-01-01/${index}.parquet`,
    partitionValues: { date: "2026-01-01" },
    size: 1,
    modificationTime: 1,
    dataChange: true,
  },
});

/** What makes each alarm fire, by the alarm's id. */
const causes: Readonly<Record<string, () => Promise<World>>> = {
  "capture-dead-letters": async () => {
    const world = await World.open();
    await world.invoke("converter", { Records: [{ messageId: "broken", body: "{" }] });
    return world;
  },
  "manifest-dead-letters": async () => {
    const world = await World.open();
    world.send("manifestQueue", "no manifest");
    await world.settle();
    return world;
  },
  "capture-queue-age": async () => {
    const world = await World.open();
    world.send("captureQueue", "{}", 16 * MINUTE);
    return world;
  },
  "manifest-queue-age": async () => {
    const world = await World.open();
    world.send("manifestQueue", "{}", 11 * MINUTE);
    return world;
  },
  "converter-errors": async () => {
    const world = await World.open();
    await world.invoke("converter", { Records: [] }, { environment: { DELTACAP_MESSAGE_BYTES: "many" } });
    return world;
  },
  "converter-throttles": async () => {
    const world = await World.open();
    // Lambda itself refuses the invocation: nothing of ours runs.
    world.note("converter Throttles", 1);
    return world;
  },
  "converter-time": async () => {
    const world = await World.open();
    const Records = [await world.deployment.upload("car-1/a.pcap", CAPTURE)];
    const fault: Fault = { operation: "dynamodb:BatchGetItem", effect: { kind: "silence" } };
    await world.invoke("converter", { Records }, { fault, timeoutMs: 5_000 });
    return world;
  },
  "rejected-captures": async () => {
    const world = await World.open();
    await world.convert(["car-1/notes.txt", new TextEncoder().encode("not a capture")]);
    return world;
  },
  "captures-gone": async () => {
    const world = await World.open();
    const Records = [await world.deployment.upload("car-1/a.pcap", CAPTURE)];
    cloud.s3.storage.bucket(world.deployment.settings.captureBuckets[0] ?? "").remove("car-1/a.pcap");
    await world.invoke("converter", { Records });
    return world;
  },
  "damaged-share": async () => {
    const world = await World.open();
    const cut = concatenated(CAPTURE, Uint8Array.of(1, 2, 3));
    const whole = Array.from({ length: 18 }, (_, i) => [`car-1/${i}.pcap`, CAPTURE] as [string, Uint8Array]);
    await world.convert(...whole, ["car-2/a.pcap", cut], ["car-2/b.pcap", cut]);
    return world;
  },
  "committer-errors": async () => {
    const world = await World.open();
    await world.invoke("committer", {}, { fault: { operation: "s3:PutObject", effect: DENIED } });
    return world;
  },
  "committer-heartbeat": () => World.open(),
  "commit-staleness": async () => {
    const world = await World.open();
    await world.createTable();
    await world.convert(["car-1/a.pcap", CAPTURE]);
    const fault: Fault = { operation: "s3:PutObject", about: "/.tmp/", effect: DENIED };
    await world.invoke("committer", {}, { fault });
    return world;
  },
  "newer-manifests": async () => {
    const world = await World.open();
    world.send("manifestQueue", JSON.stringify({ manifestVersion: 1_000 }));
    await world.invoke("committer", {}, { timeoutMs: LONGER_RUN });
    return world;
  },
  "manifest-failures": async () => {
    const world = await World.open();
    await world.createTable();
    await world.convert(["car-1/a.pcap", CAPTURE], ["car-2/b.pcap", CAPTURE]);
    const fault: Fault = { operation: "s3:HeadObject", about: "date=", effect: DENIED };
    await world.invoke("committer", {}, { fault, timeoutMs: LONGER_RUN });
    return world;
  },
  "incomplete-log-item": async () => {
    const world = await World.open();
    await world.createTable();
    await world.loseCommit(1);
    await world.invoke("committer", {});
    return world;
  },
  "commit-conflicts": async () => {
    const world = await World.open();
    await world.createTable();
    await world.convert(["car-1/a.pcap", CAPTURE]);
    let version = 0;
    const run = async () => {
      const body = serializeActions([{ commitInfo: { txnId: `other ${++version}` } }]);
      cloud.s3.storage.bucket(BUCKET).put(world.key(commitFileName(version)), body, {});
    };
    // Another writer takes each version just before the committer.
    const fault: Fault = {
      operation: "s3:PutObject",
      about: /_delta_log\/\d+\.json$/,
      effect: { kind: "meanwhile", run },
    };
    await world.invoke("committer", {}, { fault, again: () => version === 0 });
    return world;
  },
  "maintenance-errors": async () => {
    const world = await World.open({ optimize: true });
    await world.createTable(smallFile(1), smallFile(2));
    const fault: Fault = { operation: "s3:GetObject", about: "_last_checkpoint", effect: DENIED };
    // With time for more than the checkpoint.
    await world.invoke("maintenance", {}, { fault, timeoutMs: 300_000 });
    return world;
  },
  "checkpoint-failures": async () => {
    const world = await World.open({ checkpointInterval: 1 });
    await world.createTable(smallFile(1));
    const fault: Fault = { operation: "s3:PutObject", about: ".checkpoint.", effect: DENIED };
    await world.invoke("maintenance", {}, { fault });
    return world;
  },
  "small-files": async () => {
    const world = await World.open();
    await world.createTable(...Array.from({ length: 20_001 }, (_, i) => smallFile(i)));
    await world.invoke("maintenance", {});
    return world;
  },
  "dynamodb-throttles": async () => {
    const world = await World.open();
    const Records = [await world.deployment.upload("car-1/a.pcap", CAPTURE)];
    const effect: Effect = { kind: "refuse", status: 400, code: "ProvisionedThroughputExceededException" };
    await world.invoke(
      "converter",
      { Records },
      { fault: { operation: "dynamodb:BatchGetItem", effect, times: 1 } },
    );
    // DynamoDB itself counts what it refuses.
    world.note("ledgerTable ReadThrottleEvents", 1);
    return world;
  },
};

test("every alarm has a test that causes it", () => {
  expect(Object.keys(causes).sort()).toEqual([...alarms.keys()].sort());
});

test.each(Object.keys(causes))("%s fires when its cause occurs", async (id) => {
  const world = await causes[id]!();
  expect(fires(alarms.get(id)!, world.observed())).toBe(true);
});

test("none fires while all goes well", async () => {
  const world = await World.open({ checkpointInterval: 1 });
  await world.convert(["car-1/a.pcap", CAPTURE]);
  await world.settle();
  await world.invoke("maintenance", {});
  const observed = world.observed();
  expect([...alarms].filter(([, alarm]) => fires(alarm, observed)).map(([id]) => id)).toEqual([]);
});

/** The runbook's advice for incomplete-log-item, followed: the rows that were uploaded are in the table, once. */
async function rowsAfter(advice: (world: World) => Promise<void>): Promise<number> {
  const world = await World.open();
  await world.createTable();
  await world.convert(["car-1/a.pcap", CAPTURE]);
  await world.loseCommit(1);
  await world.invoke("committer", {});
  await advice(world);
  await world.settle();
  let rows = 0;
  for await (const adds of liveFiles(await world.log)) {
    for (const { stats } of adds) rows += (JSON.parse(stats ?? "{}") as { numRecords: number }).numRecords;
  }
  expect(await world.log.then((log) => (log as DynamoDbLogStore).incompleteCommit())).toBeNull();
  return rows;
}

test("incomplete-log-item: the temporary file, brought back, is put by the next run, and waiting rows follow", async () => {
  const rows = await rowsAfter(async (world) => {
    const body = serializeActions([{ commitInfo: { txnId: "lost" } }]);
    cloud.s3.storage.bucket(BUCKET).put(world.key(".tmp/lost"), body, {});
  });
  expect(rows).toBe(4);
});

test("incomplete-log-item: the item of a commit that nobody can finish, removed, lets waiting rows in", async () => {
  const rows = await rowsAfter(async (world) => {
    const { clients } = await cloud.enter();
    const tablePath = { S: `s3a://${BUCKET}/${world.deployment.settings.stackName}` };
    const Key = { tablePath, fileName: { S: commitFileName(1) } };
    await clients.dynamodb.send(new DeleteItemCommand({ TableName: LOG_TABLE, Key }));
  });
  expect(rows).toBe(4);
});
