import { createCipheriv } from "node:crypto";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { CommitInDoubtError, commitFileName, RetryableError, TableRefusedError } from "@deltacap/delta";
import { concatenated, filling, pcap, pcapHeader } from "../captures/capture-builder.ts";
import { LOG_TABLE } from "./cloud.ts";
import type { CommitterRun, ConverterRun, MatrixSite } from "./matrix-site.ts";

/** A kind of request, by the service's operation and what it is about. */
export interface RequestKind {
  readonly request: string;
  readonly operation: string;
  readonly about: RegExp;
}

/** A function, and the requests that a run of it makes. */
export interface Workload {
  readonly name: "converter" | "converter, large file" | "committer" | "maintenance";
  readonly kinds: readonly RequestKind[];
  /** Brings a fresh site to where the function has work to do. */
  readonly prepare: (site: MatrixSite) => Promise<void>;
  /** One run, with the visitor's faults; what became of it in a few words. */
  readonly run: (site: MatrixSite) => Promise<string>;
}

/** A message that nobody can use: it is in every queue, and no fault may come of it. */
export const NONSENSE = "neither an event nor a manifest";

const kind = (request: string, operation: string, about: RegExp): RequestKind => ({
  request,
  operation,
  about,
});

export const CONVERTER: Workload = {
  name: "converter",
  kinds: [
    kind("look sources up in the ledger", "dynamodb:BatchGetItem", /^/),
    kind("read a capture", "s3:GetObject", /\.pcap$/),
    kind("set a source aside in the ledger", "dynamodb:PutItem", /^/),
    kind("put a data file", "s3:PutObject", /^lake\/date=/),
    kind("put a large manifest", "s3:PutObject", /_manifests\//),
    kind("send a manifest", "sqs:SendMessage", /manifest-queue/),
    kind("put a message aside", "sqs:SendMessage", /capture-dead/),
  ],
  prepare: async (site) => {
    await site.upload("car-1/a.pcap", capture(2), 2);
    await site.upload("car-2/b.pcap", capture(3), 3);
    await site.upload("car-2/empty.pcap", capture(0), 0);
    site.announce(NONSENSE);
  },
  run: async (site) => describeConversion(await site.convert(site.faulty)),
};

export const LARGE_CONVERTER: Workload = {
  name: "converter, large file",
  kinds: [
    kind("begin an upload in parts", "s3:CreateMultipartUpload", /^/),
    kind("put a part", "s3:UploadPart", /^/),
    kind("complete an upload in parts", "s3:CompleteMultipartUpload", /^/),
  ],
  prepare: async (site) => {
    await site.upload("car-1/large.pcap", largeCapture(), LARGE_PACKETS);
  },
  run: CONVERTER.run,
};

const COMMITTER: Workload = {
  name: "committer",
  kinds: [
    kind("read the newest log items", "dynamodb:Query", /delta_log/),
    kind("look at a file of the log", "s3:HeadObject", /_delta_log\/0/),
    kind("read a crashed writer's file", "s3:GetObject", /_delta_log\/\.tmp/),
    kind("list the log", "s3:ListObjectsV2", /_delta_log/),
    kind("read a version", "s3:GetObject", /_delta_log\/\d+\.json/),
    kind("look for a checkpoint", "s3:GetObject", /_last_checkpoint/),
    kind("read the ledger's watermark", "dynamodb:GetItem", /watermark/),
    kind("receive manifests", "sqs:ReceiveMessage", /^/),
    kind("read a large manifest", "s3:GetObject", /_manifests\//),
    kind("put a manifest aside", "sqs:SendMessage", /manifest-dead/),
    kind("look sources up in the ledger", "dynamodb:BatchGetItem", /^/),
    kind("look at a data file", "s3:HeadObject", /\.parquet$/),
    kind("read a data file's footer", "s3:GetObject", /date=.*\.parquet$/),
    kind("put a commit's temporary file", "s3:PutObject", /_delta_log\/\.tmp/),
    kind("put a commit's item", "dynamodb:PutItem", /delta_log/),
    kind("put N.json", "s3:PutObject", /_delta_log\/\d+\.json/),
    kind("complete a commit's item", "dynamodb:UpdateItem", /delta_log/),
    kind("write sources into the ledger", "dynamodb:BatchWriteItem", /^/),
    kind("move the ledger's watermark", "dynamodb:UpdateItem", /watermark/),
    kind("look at a capture", "s3:HeadObject", /\.pcap$/),
    kind("send sources back", "sqs:SendMessageBatch", /capture-queue/),
    kind("delete a capture", "s3:DeleteObject", /\.pcap$/),
    kind("acknowledge manifests", "sqs:DeleteMessageBatch", /^/),
  ],
  prepare: async (site) => {
    await site.commit(site.clean);
    await site.upload("car-3/missing.pcap", capture(4), 4);
    await site.convert(site.clean);
    for (const key of site.bucket.keys()) if (key.includes("date=")) site.bucket.remove(key);
    await site.upload("car-1/a.pcap", capture(2), 2);
    await site.upload("car-2/b.pcap", capture(3), 3);
    await site.convert(site.clean);
    site.sendManifest(NONSENSE);
    await crashedCommit(site, 1);
  },
  run: async (site) => describeCommits(await site.commit(site.faulty)),
};

export const MAINTENANCE: Workload = {
  name: "maintenance",
  kinds: [
    kind("list the log", "s3:ListObjectsV2", /_delta_log/),
    kind("look for a checkpoint", "s3:GetObject", /_last_checkpoint/),
    kind("look at a log file", "s3:HeadObject", /_delta_log\//),
    kind("read a version", "s3:GetObject", /_delta_log\/\d+\.json/),
    kind("put a checkpoint", "s3:PutObject", /\.checkpoint\.parquet/),
    kind("read a checkpoint", "s3:GetObject", /\.checkpoint\.parquet/),
    kind("put the checkpoint's hint", "s3:PutObject", /_last_checkpoint/),
    kind("read the newest log items", "dynamodb:Query", /delta_log/),
    kind("read a data file", "s3:GetObject", /date=/),
    kind("put a data file", "s3:PutObject", /date=/),
    kind("put a commit's temporary file", "s3:PutObject", /_delta_log\/\.tmp/),
    kind("put a commit's item", "dynamodb:PutItem", /delta_log/),
    kind("put N.json", "s3:PutObject", /_delta_log\/\d+\.json/),
    kind("complete a commit's item", "dynamodb:UpdateItem", /delta_log/),
    kind("list the table", "s3:ListObjectsV2", /^(?!.*_delta_log)/),
    kind("delete orphans", "s3:DeleteObjects", /^/),
  ],
  prepare: async (site) => {
    for (const [index, packets] of [2, 3].entries()) {
      await site.upload(`car-${index}/a.pcap`, capture(packets), packets);
      await site.convert(site.clean);
      await site.commit(site.clean);
    }
    site.bucket.put("lake/date=2026-03-01/orphan.parquet", new Uint8Array(10), {});
  },
  run: async (site) => {
    const report = await site.maintain(site.faulty);
    const failed = Object.entries(report).flatMap(([step, outcome]) =>
      outcome !== null && typeof outcome === "object" && "error" in outcome
        ? [`${step === "smallFiles" ? "count" : step}: ${errorOutcome(outcome.error)}`]
        : [],
    );
    return failed.length === 0 ? "done" : failed.join(", ");
  },
};

export const workloads: readonly Workload[] = [CONVERTER, LARGE_CONVERTER, COMMITTER, MAINTENANCE];

function describeConversion(run: ConverterRun | null): string {
  if (run === null) return "nothing to do";
  if ("thrown" in run) return `run failed: ${errorOutcome(run.thrown)}`;
  const { failed, results } = run;
  const lost = results.flatMap(({ outcome }) =>
    ["gone", "superseded", "rejected"].includes(outcome) ? [outcome] : [],
  );
  if (lost.length > 0) return lost.join(", ");
  if (failed.size === 0) return "done";
  if (results.some(({ outcome }) => outcome === "failed")) return "capture retried";
  return failed.size === 1 ? "message retried" : "batch retried";
}

function describeCommits({ results, thrown }: CommitterRun): string {
  if (thrown !== null) return errorOutcome(thrown);
  const outcomes = results.map(({ outcome }) => outcome);
  const expected = ["committed", "sent back"];
  return JSON.stringify([...outcomes].sort()) === JSON.stringify(expected)
    ? "done"
    : [...outcomes].sort().join(", ") || "nothing";
}

function errorOutcome(error: unknown): string {
  if (error instanceof CommitInDoubtError) return "in doubt";
  if (error instanceof TableRefusedError) return "refused";
  if (error instanceof RetryableError) return "failed";
  return `bug: ${String(error)}`;
}

/** A commit of another writer that died after its item. */
async function crashedCommit(site: MatrixSite, version: number): Promise<void> {
  const tempPath = ".tmp/crashed";
  const body = `${JSON.stringify({ commitInfo: { timestamp: 1, operation: "crashed", txnId: "crashed" } })}\n`;
  site.bucket.put(`lake/_delta_log/${tempPath}`, new TextEncoder().encode(body), {});
  const { tablePath } = site.table().location;
  const item = { tablePath, fileName: commitFileName(version), tempPath, complete: "false" };
  const Item = Object.fromEntries(Object.entries(item).map(([name, value]) => [name, { S: value }]));
  await site.clean.clients.dynamodb.send(new PutItemCommand({ TableName: LOG_TABLE, Item }));
}

const SECONDS = 1_772_352_000;

function capture(packets: number): Uint8Array {
  return pcap(
    {},
    Array.from({ length: packets }, (_, i) => ({ seconds: SECONDS + i, bytes: filling(60, i) })),
  );
}

const LARGE_PACKETS = 40;

/** 9 MB that do not compress: more than one part of an upload. */
function largeCapture(): Uint8Array {
  const bytes = 230_000;
  const cipher = createCipheriv("aes-128-ctr", new Uint8Array(16), new Uint8Array(16));
  const records = Array.from({ length: LARGE_PACKETS }, (_, i) => {
    const header = new Uint8Array(Uint32Array.of(SECONDS + i, 0, bytes, bytes).buffer);
    return concatenated(header, cipher.update(new Uint8Array(bytes)));
  });
  return concatenated(pcapHeader({}), ...records);
}
