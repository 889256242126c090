import { type ChildProcess, execFile, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { DynamoDbLogStore, S3ObjectStore } from "@deltacap/delta/aws";
import { type AwsClients, createClients } from "../src/aws/clients.ts";
import { tableLocation } from "../src/aws/table-location.ts";
import { appendBody, createTableBody } from "../src/commit/commit-body.ts";
import type { Manifest } from "../src/manifest/manifest.ts";
import { packetTable } from "../src/packets/packet-table.ts";
import { type Answer, DYNAMODB, HEAD, type Order, PUT } from "./commit-servers.ts";
import { commitByNineRequests, type Place } from "./nine-requests.ts";

/**
 * `npm run bench:commit`: commits and files a second of one writer through the DynamoDB log store, at servers on this
 * machine (our S3, dynalite, in a process of their own), bare and with the latencies of a region injected; beside it a commit of nine
 * requests. With `--delta-rs PYTHON`, an environment with deltalake 1.6.0, the same servers are asked by that writer, too. Numbers of one run compare with each other only.
 */
const COALESCED = [1, 100, 1000];
/** Before anything is measured: connections, compiled code, in the writer and in the servers. */
const WARM_UP = 40;

type Way = "in sequence" | "next file ahead" | "nine requests";

/** The servers' process, and a writer's clients of it. */
class Servers {
  readonly #process: ChildProcess;
  readonly clients: AwsClients;
  readonly where: Answer;

  private constructor(process: ChildProcess, where: Answer) {
    this.#process = process;
    this.where = where;
    this.clients = createClients({
      region: "eu-central-1",
      endpoints: where.urls,
      credentials: { accessKeyId: "test", secretAccessKey: "test" },
    });
  }

  static async start(): Promise<Servers> {
    const process = fork(fileURLToPath(new URL("commit-servers.ts", import.meta.url)));
    return new Servers(process, await answerOf(process));
  }

  /** Latencies from now on, or none; requests since the last call. */
  async counted(latency: boolean): Promise<number> {
    const answer = answerOf(this.#process);
    const order: Order = { latency };
    this.#process.send(order);
    return (await answer).requests;
  }

  close(): void {
    for (const client of [this.clients.s3, this.clients.sqs, this.clients.dynamodb]) client.destroy();
    this.#process.disconnect();
  }
}

function answerOf(process: ChildProcess): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error("the servers ended"));
    process.once("exit", ended);
    process.once("message", (answer) => {
      process.off("exit", ended);
      resolve(answer as Answer);
    });
  });
}

async function commitsOf(servers: Servers, latency: boolean, way: Way, files: number, commits: number) {
  const { bucket, logTable } = servers.where;
  const table = tableLocation(`s3://${bucket}/bench/${randomUUID()}`);
  const place: Place = {
    dynamodb: servers.clients.dynamodb,
    logTable,
    store: new S3ObjectStore(servers.clients.s3, table),
    tablePath: table.tablePath,
  };
  const log = new DynamoDbLogStore({ ...place, now: Date.now, newId: randomUUID });
  await log.commit(0, createTableBody(packetTable, randomUUID(), identity()));
  await servers.counted(false);
  await commitAll(log, place, 1, way, bodiesOf(WARM_UP, files));
  await servers.counted(latency);
  const bodies = bodiesOf(commits, files);
  const started = performance.now();
  await commitAll(log, place, 1 + WARM_UP, way, bodies);
  const seconds = (performance.now() - started) / 1000;
  return { rate: commits / seconds, requests: (await servers.counted(false)) / commits };
}

async function commitAll(
  log: DynamoDbLogStore,
  place: Place,
  first: number,
  way: Way,
  bodies: readonly Uint8Array[],
): Promise<void> {
  for (const [i, body] of bodies.entries()) {
    if (way === "nine requests") {
      await commitByNineRequests(place, first + i, body);
      continue;
    }
    const commit = log.commit(first + i, body);
    const next = bodies[i + 1];
    if (way === "next file ahead" && next !== undefined) log.prepare(first + i + 1, next);
    if ((await commit) !== "committed") throw new Error(`version ${first + i} was taken by somebody else`);
  }
  await log.settled();
}

/** Loading, committing, and all that lies between: as its users call it, one row a commit. */
async function deltaRsRate(servers: Servers, python: string, latency: boolean, commits: number) {
  const { bucket, logTable, urls } = servers.where;
  const uri = tableLocation(`s3://${bucket}/bench/${randomUUID()}`).tablePath;
  const script = fileURLToPath(new URL("../test/aws/delta-rs/second_writer.py", import.meta.url));
  const run = async (action: string, ...numbers: string[]) => {
    const env = { ...process.env, DELTACAP_DYNAMODB_ENDPOINT: urls.dynamodb };
    const args = [script, action, uri, urls.s3, logTable, ...numbers];
    const { stdout } = await promisify(execFile)(python, args, { env });
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { seconds: number };
  };
  await servers.counted(false);
  await run("create");
  await run("append", "0", "1");
  await servers.counted(latency);
  const { seconds } = await run("append", "1", String(commits));
  return { rate: commits / seconds, requests: (await servers.counted(false)) / commits };
}

function bodiesOf(commits: number, files: number): Uint8Array[] {
  return Array.from({ length: commits }, () => bodyOf(files));
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
  const options = {
    "delta-rs": { type: "string" },
    commits: { type: "string", default: "60" },
    files: { type: "string", default: COALESCED.join() },
  } as const;
  const { values } = parseArgs({ options });
  const commits = Number(values.commits);
  const servers = await Servers.start();
  const print = (writer: string, files: number, { rate, requests }: { rate: number; requests: number }) => {
    const perSecond = `${rate.toFixed(1).padStart(7)} commits/s ${(rate * files).toFixed(0).padStart(8)} files/s`;
    console.log(`  ${writer.padEnd(34)} ${perSecond}   ${requests.toFixed(2)} requests a commit`);
  };
  try {
    for (const latency of [false, true]) {
      console.log(
        latency ? `\nput ${PUT} ms, head ${HEAD} ms, DynamoDB ${DYNAMODB} ms` : "no latency injected",
      );
      for (const files of values.files.split(",").map(Number)) {
        for (const way of ["in sequence", "next file ahead"] as const) {
          const measured = await commitsOf(servers, latency, way, files, commits);
          print(`${way}, ${files} file${files === 1 ? "" : "s"} a commit`, files, measured);
        }
      }
      print(
        "nine requests, 1 file a commit",
        1,
        await commitsOf(servers, latency, "nine requests", 1, commits),
      );
      const python = values["delta-rs"];
      if (python === undefined) console.log("  deltalake 1.6.0: skipped, --delta-rs PYTHON not given");
      else print("deltalake 1.6.0, 1 file a commit", 1, await deltaRsRate(servers, python, latency, commits));
    }
  } finally {
    servers.close();
  }
}

await main();
