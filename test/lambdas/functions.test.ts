import { readCommits } from "@deltacap/delta";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { deployedLedger, deployedTable } from "../../src/aws/deployed-table.ts";
import type { Manifest } from "../../src/manifest/manifest.ts";
import type { FunctionSettings } from "../../src/settings.ts";
import { BUCKET, Cloud } from "../support/aws/cloud.ts";
import { bundledFunctions, Deployment } from "../support/aws/deployment.ts";
import type { Invocation, LambdaFunction } from "../support/aws/lambda-function.ts";
import { concatenated, PcapMagic } from "../support/captures/capture-builder.ts";
import { smallPcap } from "../support/captures/capture-fixtures.ts";

/** With 20 s in reserve twice, a run of the committer receives for two seconds and a half. */
const SHORT_RUN = 42_500;
/** Runs within which everything must be settled: on a busy machine a short one may end before anything came. */
const RUNS = 20;
const CAPTURE = smallPcap("little-endian", PcapMagic.microseconds);

let cloud: Cloud;
let assets: Awaited<ReturnType<typeof bundledFunctions>>;
let deployments = 0;
beforeAll(async () => {
  [cloud, assets] = await Promise.all([Cloud.start(), bundledFunctions()]);
});
afterAll(async () => {
  await cloud.close();
  assets.remove();
});
/** Each test has one of its own. */
async function deploy(changes: Partial<FunctionSettings> = {}): Promise<Deployment> {
  const deployment = await Deployment.open(cloud, assets.folder, `t${++deployments}`, changes);
  onTestFinished(() => deployment.close());
  return deployment;
}

/** The table's sources by version, from its log. */
async function committed(deployment: Deployment): Promise<{ version: number; rows: number }[]> {
  const { clients } = await cloud.enter();
  const { log } = deployedTable(clients, deployment.settings);
  const found: { version: number; rows: number }[] = [];
  const versions: number[] = [];
  for await (const { name } of log.list("")) versions.push(Number.parseInt(name, 10));
  for await (const { version, actions } of readCommits(log, versions)) {
    const stats = actions.flatMap(({ add }) => (add?.stats === undefined ? [] : [add.stats]));
    const rows = stats.map((text) => (JSON.parse(text) as { numRecords: number }).numRecords);
    if (rows.length > 0) found.push({ version, rows: rows.reduce((a, b) => a + b) });
  }
  return found;
}

/**
 * Runs the committer again and again, as its schedule does, until no more manifests than `left` are in the queue, or a run does not
 * end well.
 */
async function runCommitter(deployment: Deployment, fn: LambdaFunction, left = 0): Promise<Invocation> {
  for (let run = 1; run <= RUNS; run++) {
    const invocation = await fn.invoke({}, SHORT_RUN);
    if (invocation.outcome !== "response" || manifests(deployment).length <= left) return invocation;
  }
  throw new Error(`manifests wait after ${RUNS} runs`);
}

const response = (...failed: string[]): Invocation => ({
  outcome: "response",
  response: { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) },
});
const killed: Invocation = { outcome: "exit", code: null };
const done: Invocation = { outcome: "response", response: null };
const manifests = (deployment: Deployment) => deployment.messages(deployment.settings.manifestQueueUrl);
const lines = (output: string) =>
  output
    .split("\n")
    .flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as Record<string, unknown>] : []));

describe("the bundles, in an empty folder through the Runtime API", () => {
  test("turn uploads into one version, once, however often they are announced", async () => {
    const deployment = await deploy();
    const converter = await deployment.start("converter");
    const committer = await deployment.start("committer");
    const Records = [
      await deployment.upload("car-1/a.pcap", CAPTURE),
      await deployment.upload("car 2/b+c ü%.pcap", CAPTURE),
      await deployment.upload("car-3/notes.txt", new TextEncoder().encode("no capture at all")),
    ];
    expect(await converter.fn.invoke({ Records })).toEqual(response());
    expect(manifests(deployment)).toHaveLength(1);
    expect(await runCommitter(deployment, committer.fn)).toEqual(done);
    expect(await committed(deployment)).toEqual([{ version: 1, rows: 8 }]);
    expect(manifests(deployment)).toEqual([]);

    expect(await converter.fn.invoke({ Records })).toEqual(response());
    expect(manifests(deployment)).toEqual([]);
    expect(Object.fromEntries(converter.fn.metrics())).toMatchObject({
      Captures: [3, 3],
      Packets: [8, 0],
      Rejected: [1, 1],
      Duplicates: [0, 2],
    });
    const metrics = committer.fn.metrics();
    expect(metrics.get("Commits")).toEqual([1]);
    // A file for each date.
    expect(metrics.get("FilesPerCommit")).toEqual([3]);
    expect(metrics.get("Runs")!.every((runs) => runs === 1)).toBe(true);
    expect(metrics.get("IncompleteItemAge")).toContain(0);
    expect(metrics.get("UploadToCommitAge")![0]).toBeGreaterThan(0);
  });

  test("log each capture that is no row, and each version; no message, no payload", async () => {
    const deployment = await deploy();
    const converter = await deployment.start("converter");
    const committer = await deployment.start("committer");
    const cut = concatenated(CAPTURE, Uint8Array.of(1, 2, 3));
    const Records = [
      await deployment.upload("car-1/cut.pcap", cut),
      await deployment.upload("car-3/notes.txt", new TextEncoder().encode("SECRET WORDS")),
    ];
    await converter.fn.invoke({ Records });
    await runCommitter(deployment, committer.fn);
    const bucket = deployment.settings.captureBuckets[0];
    expect(lines(converter.fn.output)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ message: "damaged", capture: `s3://${bucket}/car-1/cut.pcap`, packets: 4 }),
        expect.objectContaining({
          message: "rejected",
          capture: `s3://${bucket}/car-3/notes.txt`,
          offset: 0,
        }),
      ]),
    );
    expect(lines(committer.fn.output)).toEqual(
      expect.arrayContaining([expect.objectContaining({ message: "committed", versions: [1], files: 3 })]),
    );
    expect(converter.fn.output + committer.fn.output).not.toMatch(/SECRET|s3SchemaVersion|receiptHandle/);
  });

  test("put aside what is no event, and name messages to be delivered again", async () => {
    const deployment = await deploy();
    const { fn, visitor } = await deployment.start("converter");
    visitor.faults.plan({
      operation: "s3:GetObject",
      about: "car-2",
      times: 99,
      effect: { kind: "refuse", status: 503, code: "SlowDown" },
    });
    const again = await deployment.upload("car-2/b.pcap", CAPTURE);
    const Records = [
      await deployment.upload("car-1/a.pcap", CAPTURE),
      again,
      { messageId: "broken", body: "{" },
      // Another delivery of the same upload stands and falls with it.
      { ...again, messageId: "twice" },
    ];
    expect(await fn.invoke({ Records })).toEqual(response(again.messageId, "twice"));
    const dead = deployment.messages(deployment.settings.captureDeadLetterUrl);
    expect(dead.map(({ body, attributes }) => ({ body, ...attributes }))).toEqual([
      { body: "{", reason: expect.stringContaining("is no JSON") },
    ]);
    expect(manifests(deployment)).toHaveLength(1);
  });

  test("fail at their start, by name, without a setting", async () => {
    const deployment = await deploy();
    const { fn } = await deployment.start("committer", { DELTACAP_LOG_STORE: "sqlite" });
    expect(await fn.invoke({})).toMatchObject({
      outcome: "error",
      errorMessage: expect.stringContaining("DELTACAP_LOG_STORE"),
    });
  });

  test("delete captures that are in the table, where they are told to", async () => {
    const deployment = await deploy({ deleteCaptures: true });
    const converter = await deployment.start("converter");
    const committer = await deployment.start("committer");
    const Records = [
      await deployment.upload("car-1/a.pcap", CAPTURE),
      await deployment.upload("car-1/x", CAPTURE.slice(0, 9)),
    ];
    await converter.fn.invoke({ Records });
    await runCommitter(deployment, committer.fn);
    expect(cloud.s3.storage.bucket(deployment.settings.captureBuckets[0]!).keys()).toEqual(["car-1/x"]);
  });

  test("commit beside a forged manifest, a newer one and one that may not be read, which alarms count", async () => {
    const deployment = await deploy({ deleteCaptures: true });
    const { settings } = deployment;
    const converter = await deployment.start("converter");
    const { fn, visitor } = await deployment.start("committer");
    const keys = ["car-1/a.pcap", "car-1/b.pcap"];
    for (const key of keys) await converter.fn.invoke({ Records: [await deployment.upload(key, CAPTURE)] });
    const [good, bad] = manifests(deployment).map(({ body }) => JSON.parse(body) as Manifest);
    const victim = await deployment.upload("car-2/victim.pcap", CAPTURE);
    const bucket = settings.captureBuckets[0]!;
    const key = "car-2/victim.pcap";
    const forged = { ...good!.sources[0]!, key, capture: `s3://${bucket}/${key}` };
    const queue = cloud.sqs.storage.queue(settings.manifestQueueUrl.split("/").at(-1)!);
    queue.send(JSON.stringify({ ...good, sources: [forged] }));
    queue.send(JSON.stringify({ ...good, manifestVersion: 2 }));
    const about = bad!.files[0]!.path;
    const effect = { kind: "refuse", status: 403, code: "AccessDenied" } as const;
    visitor.faults.plan({ operation: "s3:HeadObject", about, times: 99, effect });
    expect(await runCommitter(deployment, fn, 2)).toEqual(done);

    expect(await committed(deployment)).toEqual([{ version: 1, rows: 4 }]);
    // The alarms newer-manifests and manifest-failures, and the one of the dead-letter queue, read these.
    expect(Object.fromEntries(fn.metrics())).toMatchObject({
      NewerManifests: [1],
      ManifestFailures: [1],
      Refused: [1],
    });
    expect(deployment.messages(settings.manifestDeadLetterUrl)).toHaveLength(1);
    expect(manifests(deployment)).toHaveLength(2);
    expect(victim.messageId).toContain(key);
    expect(cloud.s3.storage.bucket(bucket).keys()).toEqual(["car-1/b.pcap", key]);
  });

  test("count a deleted capture as gone, and a replaced one as superseded, each with both readings", async () => {
    const deployment = await deploy();
    const { fn } = await deployment.start("converter");
    const bucket = cloud.s3.storage.bucket(deployment.settings.captureBuckets[0]!);
    const Records = [
      await deployment.upload("car-1/deleted.pcap", CAPTURE),
      await deployment.upload("car-1/replaced.pcap", CAPTURE),
    ];
    bucket.remove("car-1/deleted.pcap");
    bucket.put("car-1/replaced.pcap", concatenated(CAPTURE, CAPTURE), {});
    expect(await fn.invoke({ Records })).toEqual(response());
    // The alarm captures-gone reads this metric.
    expect(Object.fromEntries(fn.metrics())).toMatchObject({ Gone: [1], Superseded: [1] });
    const readings = expect.stringMatching(/GET found .* and HEAD found /) as string;
    expect(lines(fn.output)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ message: "gone", level: "ERROR", reason: readings }),
        expect.objectContaining({ message: "superseded", reason: readings }),
      ]),
    );
  });

  test("know a capture by its content where eTags say nothing", async () => {
    const deployment = await deploy({ hashContent: true });
    const converter = await deployment.start("converter");
    const committer = await deployment.start("committer");
    const message = await deployment.upload("car-1/a.pcap", CAPTURE);
    await converter.fn.invoke({ Records: [message] });
    await runCommitter(deployment, committer.fn);
    // As if it had been encrypted anew: the same bytes under another eTag.
    const bucket = cloud.s3.storage.bucket(deployment.settings.captureBuckets[0]!);
    const stored = bucket.current("car-1/a.pcap")!;
    const body = message.body.replace(stored.eTag.replaceAll('"', ""), "another-etag");
    Object.assign(stored, { eTag: '"another-etag"' });
    expect(await converter.fn.invoke({ Records: [{ ...message, body }] })).toEqual(response());
    expect(converter.fn.metrics().get("Duplicates")).toEqual([0, 1]);
    expect(manifests(deployment)).toEqual([]);
  });
});

describe("killed or out of time, the next run finds everything once", () => {
  test("a converter without time gives its messages back", async () => {
    const deployment = await deploy();
    const { fn } = await deployment.start("converter");
    const Records = [await deployment.upload("car-1/a.pcap", CAPTURE)];
    expect(await fn.invoke({ Records }, 29_000)).toEqual(response("message-car-1/a.pcap"));
    expect(manifests(deployment)).toEqual([]);
  });

  test("a converter that is still waiting at its time-out leaves nothing behind", async () => {
    const deployment = await deploy();
    const { fn, visitor } = await deployment.start("converter");
    visitor.faults.plan({
      operation: "dynamodb:BatchGetItem",
      times: 99,
      effect: { kind: "stall", bytes: 5 },
    });
    const Records = [await deployment.upload("car-1/a.pcap", CAPTURE)];
    expect(await fn.invoke({ Records }, 2_500)).toEqual({ outcome: "timeout" });
    visitor.faults.forget();
    expect(manifests(deployment)).toEqual([]);
    expect(await fn.invoke({ Records })).toEqual(response());
    expect(manifests(deployment)).toHaveLength(1);
  });

  test.each([
    ["the ledger's look-up", "dynamodb:BatchGetItem"],
    ["the file's put", "s3:PutObject"],
    ["the manifest's sending", "sqs:SendMessage"],
  ])("a converter killed at %s", async (_, operation) => {
    const deployment = await deploy();
    const converter = await deployment.start("converter");
    const Records = [await deployment.upload("car-1/a.pcap", CAPTURE)];
    converter.visitor.faults.plan({
      operation,
      effect: { kind: "meanwhile", run: async () => converter.fn.kill() },
    });
    expect(await converter.fn.invoke({ Records })).toEqual(killed);
    expect(await converter.fn.invoke({ Records })).toEqual(response());
    const committer = await deployment.start("committer");
    expect(await runCommitter(deployment, committer.fn)).toEqual(done);
    expect(await committed(deployment)).toEqual([{ version: 1, rows: 4 }]);
    expect(manifests(deployment)).toEqual([]);
  });

  test.each([
    ["the temporary file's put", "s3:PutObject", ".tmp/00000000000000000001.json"],
    ["the item's put", "dynamodb:PutItem", "00000000000000000001.json"],
    ["N.json's put", "s3:PutObject", "_delta_log/00000000000000000001.json"],
    ["the ledger's entries", "dynamodb:BatchWriteItem", ""],
    ["the watermark", "dynamodb:UpdateItem", '{"N":"1"}'],
    ["the acknowledgement", "sqs:DeleteMessageBatch", ""],
  ])("a committer killed at %s", async (_, operation, about) => {
    const deployment = await deploy();
    const converter = await deployment.start("converter");
    const committer = await deployment.start("committer");
    await converter.fn.invoke({ Records: [await deployment.upload("car-1/a.pcap", CAPTURE)] });
    committer.visitor.faults.plan({
      operation,
      about,
      effect: { kind: "meanwhile", run: async () => committer.fn.kill() },
    });
    expect(await runCommitter(deployment, committer.fn)).toEqual(killed);
    for (const message of manifests(deployment)) message.visibleAtMs = 0;
    expect(await runCommitter(deployment, committer.fn)).toEqual(done);
    expect(await committed(deployment)).toEqual([{ version: 1, rows: 4 }]);
    expect(manifests(deployment)).toEqual([]);
    const { clients } = await cloud.enter();
    expect(await deployedLedger(clients, deployment.settings).watermark()).toMatchObject({ version: 1 });
    const { sharedLog } = deployedTable(clients, deployment.settings);
    expect(await sharedLog!.incompleteCommit()).toBeNull();
    expect(
      cloud.s3.storage
        .bucket(BUCKET)
        .keys()
        .filter((key) => key.includes("00000000000000000002")),
    ).toEqual([]);
  });
});
