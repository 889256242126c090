import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { DynamoDbLogStore } from "../src/aws/dynamodb-log-store.ts";
import { S3ObjectStore } from "../src/aws/s3-object-store.ts";
import { tableLocation } from "../src/aws/table-location.ts";
import { packetTable } from "../src/columns/packet-table.ts";
import { appendBody, createTableBody } from "../src/delta/commit-body.ts";
import type { Manifest } from "../src/manifest/manifest.ts";
import { BUCKET, Cloud, LOG_TABLE, type Visitor } from "../test/support/aws/cloud.ts";

/**
 * `npm run bench:commit`: commits and files a second of one writer through the DynamoDB log store, at servers on this
 * machine (our S3, dynalite), bare and with the latencies of a region injected. With `--delta-rs PYTHON`, an environment with
 * deltalake 1.6.0, the same server is asked by that writer, too. Numbers of one run compare with each other only.
 */
const COALESCED = [1, 100, 1000];
/** Milliseconds. */
const PUT = 25;
const HEAD = 12;
const DYNAMODB = 5;

type Way = "in sequence" | "next file ahead";

function injectLatency({ faults }: Visitor): void {
  for (const operation of ["PutObject", "UploadPartCopy", "CompleteMultipartUpload"]) {
    faults.latency.set(`s3:${operation}`, PUT);
  }
  for (const operation of [
    "HeadObject",
    "GetObject",
    "ListObjectsV2",
    "CreateMultipartUpload",
    "DeleteObject",
  ]) {
    faults.latency.set(`s3:${operation}`, HEAD);
  }
  for (const operation of ["PutItem", "UpdateItem", "GetItem", "Query"]) {
    faults.latency.set(`dynamodb:${operation}`, DYNAMODB);
  }
}

async function commitsOf(cloud: Cloud, latency: boolean, way: Way, files: number, commits: number) {
  const visitor = await cloud.enter();
  const table = tableLocation(`s3://${BUCKET}/bench/${randomUUID()}`);
  const log = new DynamoDbLogStore({
    dynamodb: visitor.clients.dynamodb,
    logTable: LOG_TABLE,
    store: new S3ObjectStore(visitor.clients.s3, table),
    tablePath: table.tablePath,
    now: Date.now,
    newId: randomUUID,
  });
  await log.commit(0, createTableBody(packetTable, randomUUID(), identity()));
  // The first commit looks for the newest version, opens connections and warms up the server.
  await log.commit(1, bodyOf(files));
  await log.settled();
  visitor.faults.forget();
  if (latency) injectLatency(visitor);
  const bodies = Array.from({ length: commits }, () => bodyOf(files));
  const started = performance.now();
  for (const [i, body] of bodies.entries()) {
    const commit = log.commit(2 + i, body);
    const next = bodies[i + 1];
    if (way === "next file ahead" && next !== undefined) log.prepare(3 + i, next);
    if ((await commit) !== "committed") throw new Error(`version ${2 + i} was taken by somebody else`);
  }
  await log.settled();
  const seconds = (performance.now() - started) / 1000;
  const requests = visitor.faults.requests.length / commits;
  cloud.everybodyOut();
  return { rate: commits / seconds, requests };
}

/** Loading, committing, and all that lies between: as its users call it, one row a commit. */
async function deltaRsRate(cloud: Cloud, python: string, latency: boolean, commits: number) {
  const visitor = await cloud.enter();
  const { s3, dynamodb } = visitor.urls;
  const uri = tableLocation(`s3://${BUCKET}/bench/${randomUUID()}`).tablePath;
  const script = fileURLToPath(new URL("../test/aws/delta-rs/second_writer.py", import.meta.url));
  const run = async (action: string, ...numbers: string[]) => {
    const env = { ...process.env, DELTACAP_DYNAMODB_ENDPOINT: dynamodb };
    const { stdout } = await promisify(execFile)(python, [script, action, uri, s3, LOG_TABLE, ...numbers], {
      env,
    });
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { seconds: number };
  };
  await run("create");
  await run("append", "0", "1");
  visitor.faults.forget();
  if (latency) injectLatency(visitor);
  const { seconds } = await run("append", "1", String(commits));
  const requests = visitor.faults.requests.length / commits;
  cloud.everybodyOut();
  return { rate: commits / seconds, requests };
}

function identity() {
  return { txnId: randomUUID(), timestamp: Date.now(), engineInfo: "deltacap/bench" };
}

/** Manifests of one file and ten captures each. */
function bodyOf(files: number): Uint8Array {
  const manifests = Array.from({ length: files }, (_, i): Manifest => {
    const batchId = randomUUID();
    const stats = JSON.stringify({
      numRecords: 131_072,
      minValues: { ts: "2026-01-02T00:00:00.000Z", ip_src: "10.0.0.1", can_id: 1 },
      maxValues: { ts: "2026-01-02T00:00:59.999Z", ip_src: "10.0.0.9", can_id: 2047 },
      nullCount: { ts: 0, ip_src: 12, can_id: 131_060 },
    });
    const path = `date=2026-01-02/${batchId}-00000.parquet`;
    const file = { path, size: 67_108_864, partitionValues: { date: "2026-01-02" }, rows: 131_072, stats };
    const sources = Array.from({ length: 10 }, (_, j) => {
      const id = randomUUID().replaceAll("-", "");
      const key = `car-${i}/${j}.pcap`;
      return { id, capture: `s3://captures/${key}`, bucket: "captures", key, eTag: id, size: 1, packets: 1 };
    });
    return { manifestVersion: 1, batchId, createdMs: Date.now(), files: [file], sources };
  });
  return appendBody(manifests, null, ["date"], identity());
}

async function main(): Promise<void> {
  const options = { "delta-rs": { type: "string" }, commits: { type: "string", default: "60" } } as const;
  const { values } = parseArgs({ options });
  const commits = Number(values.commits);
  const cloud = await Cloud.start();
  const print = (writer: string, files: number, { rate, requests }: { rate: number; requests: number }) => {
    const perSecond = `${rate.toFixed(1).padStart(7)} commits/s ${(rate * files).toFixed(0).padStart(8)} files/s`;
    console.log(`  ${writer.padEnd(34)} ${perSecond}   ${requests.toFixed(2)} requests a commit`);
  };
  try {
    for (const latency of [false, true]) {
      console.log(
        latency ? `\nput ${PUT} ms, head ${HEAD} ms, DynamoDB ${DYNAMODB} ms` : "no latency injected",
      );
      for (const files of COALESCED) {
        for (const way of ["in sequence", "next file ahead"] as const) {
          const measured = await commitsOf(cloud, latency, way, files, commits);
          print(`${way}, ${files} file${files === 1 ? "" : "s"} a commit`, files, measured);
        }
      }
      const python = values["delta-rs"];
      if (python === undefined) console.log("  deltalake 1.6.0: skipped, --delta-rs PYTHON not given");
      else print("deltalake 1.6.0, 1 file a commit", 1, await deltaRsRate(cloud, python, latency, commits));
    }
  } finally {
    await cloud.close();
  }
}

await main();
