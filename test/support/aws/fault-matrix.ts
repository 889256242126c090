import { createCipheriv } from "node:crypto";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { commitFileName } from "../../../src/delta/log-store.ts";
import { CommitInDoubtError, RetryableError, TableRefusedError } from "../../../src/errors.ts";
import { concatenated, filling, pcap, pcapHeader } from "../capture-builder.ts";
import { Cloud, LOG_TABLE } from "./cloud.ts";
import type { Effect, RecordedRequest } from "./faults.ts";
import { type CommitterRun, type ConverterRun, MatrixSite } from "./matrix-site.ts";
import type { Reply } from "./reply.ts";

/** A kind of request, by the service's operation and what it is about. */
interface RequestKind {
  readonly request: string;
  readonly operation: string;
  readonly about: RegExp;
}

/** A function, and the requests that a run of it makes. */
interface Workload {
  readonly name: "converter" | "converter, large file" | "committer" | "maintenance";
  readonly kinds: readonly RequestKind[];
  /** Brings a fresh site to where the function has work to do. */
  readonly prepare: (site: MatrixSite) => Promise<void>;
  /** One run, with the visitor's faults; what became of it in a few words. */
  readonly run: (site: MatrixSite) => Promise<string>;
}

export interface FaultColumn {
  readonly fault: string;
  /** Null where the request cannot have this fault. */
  readonly effect: (kind: RequestKind) => { readonly effect: Effect; readonly times: number } | null;
}

/** One cell of the table. */
export interface Cell {
  readonly workload: string;
  readonly request: string;
  readonly fault: string;
  /** What happened in the faulty run; "-" where the fault does not exist. */
  readonly outcome: string;
  /** What was wrong after the clean run. */
  readonly problems: readonly string[];
}

const ALWAYS = Number.POSITIVE_INFINITY;
const NONSENSE = "neither an event nor a manifest";

const kind = (request: string, operation: string, about: RegExp): RequestKind => ({
  request,
  operation,
  about,
});

const CONVERTER: Workload = {
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

const LARGE_CONVERTER: Workload = {
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

const MAINTENANCE: Workload = {
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

const serviceOf = ({ operation }: RequestKind) => operation.split(":")[0] as "s3" | "sqs" | "dynamodb";

/** The service's own code for an error, by service. */
function refusal(
  codes: Partial<Record<"s3" | "sqs" | "dynamodb", readonly [status: number, code: string]>>,
  times = ALWAYS,
) {
  return (of: RequestKind) => {
    const found = codes[serviceOf(of)];
    if (found === undefined) return null;
    const [status, code] = found;
    return { effect: { kind: "refuse", status, code } as const, times };
  };
}

const always =
  (effect: Effect, times = 1) =>
  () => ({ effect, times });

/** Alters replies of S3's that have a length. */
function lengths(by: number) {
  return ({ operation }: RequestKind) => {
    if (operation !== "s3:GetObject" && operation !== "s3:HeadObject") return null;
    const alter = (reply: Reply): Reply => ({
      ...reply,
      contentLength: Math.max(0, (reply.contentLength ?? reply.body?.length ?? 0) + by),
    });
    return { effect: { kind: "alter", alter } as const, times: 1 };
  };
}

/** A listing without its newest entry, as in the time before S3 was consistent. */
function staleList({ operation }: RequestKind) {
  if (operation !== "s3:ListObjectsV2") return null;
  const alter = (reply: Reply): Reply => {
    const entries = String(reply.body).match(/<Contents>.*?<\/Contents>/g) ?? [];
    return { ...reply, body: String(reply.body).replace(entries.at(-1) ?? "", "") };
  };
  return { effect: { kind: "alter", alter } as const, times: ALWAYS };
}

/** Only these requests have conditions. */
const CONDITIONAL = ["s3:PutObject", "s3:CompleteMultipartUpload", "s3:GetObject", "s3:DeleteObject"];

export const faultColumns: readonly FaultColumn[] = [
  {
    fault: "503 once",
    effect: refusal(
      {
        s3: [503, "ServiceUnavailable"],
        sqs: [503, "ServiceUnavailable"],
        dynamodb: [503, "ServiceUnavailable"],
      },
      1,
    ),
  },
  {
    fault: "503",
    effect: refusal({
      s3: [503, "ServiceUnavailable"],
      sqs: [503, "ServiceUnavailable"],
      dynamodb: [503, "ServiceUnavailable"],
    }),
  },
  {
    fault: "500",
    effect: refusal({
      s3: [500, "InternalError"],
      sqs: [500, "InternalFailure"],
      dynamodb: [500, "InternalServerError"],
    }),
  },
  { fault: "lost reply", effect: always({ kind: "lose reply" }) },
  { fault: "dropped", effect: always({ kind: "disconnect" }, ALWAYS) },
  { fault: "stalled", effect: always({ kind: "silence" }) },
  {
    fault: "denied",
    effect: refusal({
      s3: [403, "AccessDenied"],
      sqs: [403, "AccessDenied"],
      dynamodb: [400, "AccessDeniedException"],
    }),
  },
  {
    fault: "throttled",
    effect: refusal({
      s3: [503, "SlowDown"],
      sqs: [400, "RequestThrottled"],
      dynamodb: [400, "ProvisionedThroughputExceededException"],
    }),
  },
  {
    fault: "404",
    effect: refusal({
      s3: [404, "NoSuchKey"],
      sqs: [400, "AWS.SimpleQueueService.NonExistentQueue"],
      dynamodb: [400, "ResourceNotFoundException"],
    }),
  },
  {
    fault: "412",
    effect: (of) => {
      if (of.operation === "dynamodb:PutItem" || of.operation === "dynamodb:UpdateItem")
        return {
          effect: { kind: "refuse", status: 400, code: "ConditionalCheckFailedException" },
          times: ALWAYS,
        };
      return CONDITIONAL.includes(of.operation) ? refusal({ s3: [412, "PreconditionFailed"] })(of) : null;
    },
  },
  {
    fault: "409",
    effect: (of) =>
      CONDITIONAL.includes(of.operation) && of.operation !== "s3:GetObject"
        ? refusal({ s3: [409, "ConditionalRequestConflict"] })(of)
        : null,
  },
  { fault: "short length", effect: lengths(-1) },
  { fault: "long length", effect: lengths(1) },
  { fault: "stale list", effect: staleList },
];

/**
 * Runs every cell: a fresh site, the function once with the fault, then the pipeline without one. `lanes` cells at a time. `only` picks cells.
 */
export async function runMatrix({
  lanes = 4,
  only = () => true,
}: {
  readonly lanes?: number;
  readonly only?: (of: string) => boolean;
} = {}): Promise<Cell[]> {
  const cloud = await Cloud.start();
  const cells: Cell[] = [];
  try {
    for (const workload of workloads) {
      const all = workload.kinds.flatMap((of) => faultColumns.map((column) => ({ of, column })));
      const wanted = ({ of, column }: (typeof all)[number]) =>
        only(`${workload.name}: ${of.request}: ${column.fault}`);
      if (!all.some(wanted)) continue;
      const results: (Cell | undefined)[] = [];
      let next = 0;
      const lane = async (number: number) => {
        const site = await MatrixSite.open(cloud, `${workload.name.replace(/\W+/g, "-")}-${number}`);
        await workload.prepare(site);
        const restore = await site.snapshot();
        if (number === 0) await requireKinds(site, workload);
        for (let at = next++; at < all.length; at = next++) {
          const { of, column } = all[at]!;
          if (!wanted({ of, column })) continue;
          await restore();
          results[at] = await runCell(site, workload, of, column);
        }
        site.close();
      };
      await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
      cells.push(...results.filter((cell) => cell !== undefined));
    }
  } finally {
    await cloud.close();
  }
  return cells;
}

/** Every request of a clean run must be of one of the kinds, and each kind must occur. */
async function requireKinds(site: MatrixSite, workload: Workload): Promise<void> {
  const { faults } = site.visitor;
  faults.forget();
  const outcome = await workload.run(site);
  if (outcome !== "done")
    throw new Error(`a run of the ${workload.name} without faults ended as: ${outcome}`);
  const isOf = (of: RequestKind, { operation, subject }: RecordedRequest) =>
    of.operation === operation && of.about.test(subject);
  const everyKind = workload === LARGE_CONVERTER ? [...workload.kinds, ...CONVERTER.kinds] : workload.kinds;
  for (const request of faults.requests) {
    const kinds = everyKind.filter((of) => isOf(of, request)).length;
    if (kinds !== 1)
      throw new Error(`the ${workload.name}'s request ${JSON.stringify(request)} is of ${kinds} kinds`);
  }
  const missing = workload.kinds.filter((of) => !faults.requests.some((request) => isOf(of, request)));
  if (missing.length > 0) {
    throw new Error(`the ${workload.name} made no request "${missing.map((of) => of.request).join('", "')}"`);
  }
}

/** Cells in which a manifest is put aside, since two requests agree that it can never be committed. */
const DEAD_LETTERED = new Set(["committer: look at a capture: 404", "committer: read a large manifest: 404"]);

async function runCell(
  site: MatrixSite,
  workload: Workload,
  of: RequestKind,
  column: FaultColumn,
): Promise<Cell> {
  const cell = { workload: workload.name, request: of.request, fault: column.fault };
  const fault = column.effect(of);
  if (fault === null) return { ...cell, outcome: "-", problems: [] };
  const { faults } = site.visitor;
  faults.plan({ operation: of.operation, about: of.about, ...fault });
  site.impatient = fault.effect.kind === "silence";
  let outcome = await workload.run(site);
  const problems = faults.unused.length > 0 ? ["the fault did not hit"] : [];
  faults.forget();
  const lettersBefore =
    site.messages("captureDeadLetter").length + site.messages("manifestDeadLetter").length;
  const waited = site.messages("capture").length + site.messages("manifest").length;
  await cleanRun(site, workload);
  if (DEAD_LETTERED.has(`${workload.name}: ${of.request}: ${column.fault}`)) {
    // The runbook's advice: once the cause is gone, try again what was put aside.
    if (site.retryManifests(NONSENSE) === 0) problems.push("nothing was dead-lettered");
    outcome = "dead-lettered";
    await cleanRun(site, workload);
  }
  problems.push(...(await site.problems()), ...wrongDeadLetters(site));
  if (outcome === "done" && waited === 0 && lettersBefore > 1) outcome = "done, two dead letters";
  return { ...cell, outcome, problems };
}

/** The functions once more, without faults: as often as one gives another something to do. */
async function cleanRun(site: MatrixSite, workload: Workload): Promise<void> {
  if (workload === MAINTENANCE) await site.maintain(site.clean);
  for (let round = 1; round <= 3; round++) {
    await site.convert(site.clean);
    const { thrown } = await site.commit(site.clean);
    if (thrown !== null) throw thrown;
    if (site.messages("capture").length === 0 && site.messages("manifest").length === 0) break;
  }
}

/** Nothing but what makes no sense may be in a dead-letter queue. */
function wrongDeadLetters(site: MatrixSite): string[] {
  const letters = [...site.messages("captureDeadLetter"), ...site.messages("manifestDeadLetter")];
  return letters
    .filter(({ body }) => body !== NONSENSE)
    .map(({ attributes }) => `dead-lettered: ${attributes.reason ?? "without a reason"}`);
}

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
