import {
  loggedVersions,
  RetryableError,
  readSnapshot,
  requireWritable,
  TableRefusedError,
} from "@deltacap/delta";
import type { AccountResources, DynamoTableFacts } from "../../src/aws/account-resources.ts";
import { deployedLedger, deployedTable } from "../../src/aws/deployed-table.ts";
import { queueDepth } from "../../src/aws/queue-depth.ts";
import { contradiction } from "../../src/commit/ledger-watermark.ts";
import { requireIdentity } from "../../src/commit/table-identity.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import { committerRun } from "../../src/settings.ts";
import { duration, newestCommit } from "./newest-commit.ts";
import type { DeployedStack } from "./stack.ts";

/** What a check found. `unknown`: it could not be carried out. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "problem" | "unknown";
  readonly found: string;
  /** What to do; absent where nothing is to be done. */
  readonly advice?: string;
}

/** What checks ask AWS for. */
export type Resources = Pick<AccountResources, "bucket" | "notifications" | "queue" | "table" | "hasCommits">;

type Found = Omit<Finding, "check">;
type Check = (stack: DeployedStack, resources: Resources) => Promise<Found>;

const DAY_SECONDS = 86_400;
/** Milliseconds: what waits longer than this without a commit is stuck. */
const STALE = 15 * 60_000;
/** Deliveries before a capture's message is given up, and a manifest's: fewer, and an hour without S3 is enough to fill the dead letter queue. */
const LEAST_RECEIVES = { captures: 5, manifests: 100 };
/** Seconds: six times the shortest time-out that the converter may be given. */
const LEAST_CAPTURE_VISIBILITY = 180;

/** Looks at everything, changes nothing. Checks that cannot be carried out are findings, too. */
export async function diagnose(stack: DeployedStack, resources: Resources): Promise<Finding[]> {
  return await Promise.all(
    checksOf(stack).map(async ([check, look]): Promise<Finding> => {
      try {
        return { check, ...(await look(stack, resources)) };
      } catch (error) {
        if (error instanceof TableRefusedError)
          return { check, ...problem(error.message, "see docs/runbook.md") };
        if (!(error instanceof RetryableError)) throw error;
        return { check, state: "unknown", found: error.message };
      }
    }),
  );
}

function checksOf({ settings }: DeployedStack): [string, Check][] {
  return [
    ...settings.captureBuckets.flatMap((bucket): [string, Check][] => [
      [`capture bucket ${bucket}`, captureBucket(bucket)],
      [`notification of ${bucket}`, notification(bucket)],
    ]),
    ["capture queue", queue("captures")],
    ["manifest queue", queue("manifests")],
    ["dead letters", deadLetters],
    ["table bucket", tableBucket],
    ["table", table],
    ["log store", logStore],
    ["scheme", scheme],
    ["ledger", ledger],
    ["pipeline", pipeline],
    ["commits", commits],
  ];
}

const ok = (found: string): Found => ({ state: "ok", found });
const problem = (found: string, advice: string): Found => ({ state: "problem", found, advice });

function missingBucket(setting: string, name: string): Found {
  return problem(
    `the bucket ${name} does not exist`,
    `make the bucket, or set ${setting} to one that exists and deploy again`,
  );
}

function captureBucket(name: string): Check {
  return async ({ settings: { hashContent } }, resources) => {
    const facts = await resources.bucket(name);
    if (facts === null) return missingBucket("captureBucket", name);
    const { kms, versioned } = facts;
    if (kms && !hashContent) {
      return problem(
        "it is encrypted by KMS, and captures are told apart by eTag, which then differs with every upload of the same content",
        "set captureKeyArn to the bucket's key and deploy: content is hashed then",
      );
    }
    const how = kms ? "encrypted by KMS, content is hashed" : "not encrypted by KMS, told apart by eTag";
    const versions = versioned ? "" : "; it keeps no versions: a capture replaced before it was read is lost";
    return ok(`${how}${versions}`);
  };
}

function notification(bucket: string): Check {
  return async ({ settings }, resources) => {
    const { queues, topics, eventBridge } = await resources.notifications(bucket);
    const { arn } = await resources.queue(settings.captureQueueUrl);
    if (queues.includes(arn)) return ok("new objects are announced to the capture queue");
    const others = [...topics.map((topic) => `the topic ${topic}`), ...(eventBridge ? ["EventBridge"] : [])];
    if (others.length > 0) {
      return ok(`new objects are announced to ${others.join(" and ")}: make sure that this reaches ${arn}`);
    }
    return problem(
      "nothing announces new objects: captures stay where they are",
      "deploy again, or look who replaced the bucket's notifications; then deltacap backfill what was missed",
    );
  };
}

function queue(kind: "captures" | "manifests"): Check {
  return async ({ settings }, resources) => {
    const [url, deadLetterUrl, visibility] =
      kind === "captures"
        ? [settings.captureQueueUrl, settings.captureDeadLetterUrl, LEAST_CAPTURE_VISIBILITY]
        : [settings.manifestQueueUrl, settings.manifestDeadLetterUrl, committerRun.visibilitySeconds];
    const [facts, deadLetterFacts] = await Promise.all([
      resources.queue(url),
      resources.queue(deadLetterUrl),
    ]);
    const wrong = [
      ...(facts.deadLetterArn === deadLetterFacts.arn
        ? []
        : [`dead letters go to ${facts.deadLetterArn ?? "nowhere"}, and not to ${deadLetterFacts.arn}`]),
      ...(facts.maxReceiveCount >= LEAST_RECEIVES[kind]
        ? []
        : [`messages are given up after ${facts.maxReceiveCount} deliveries, under ${LEAST_RECEIVES[kind]}`]),
      ...(facts.visibilitySeconds >= visibility
        ? []
        : [`messages are delivered again after ${facts.visibilitySeconds} s, under ${visibility}`]),
      ...(facts.retentionSeconds >= 4 * DAY_SECONDS
        ? []
        : [`messages are forgotten after ${duration(facts.retentionSeconds * 1_000)}`]),
      ...(facts.messageBytes >= settings.messageBytes
        ? []
        : [
            `it takes messages of ${facts.messageBytes} bytes, and the functions send ${settings.messageBytes}`,
          ]),
    ];
    if (wrong.length > 0)
      return problem(wrong.join("; "), "somebody changed the queue: deploy again, with the drift undone");
    return ok(
      `given up after ${facts.maxReceiveCount} deliveries, kept for ${duration(facts.retentionSeconds * 1_000)}`,
    );
  };
}

const deadLetters: Check = async ({ settings, clients }) => {
  const [captures, manifests] = await Promise.all(
    [settings.captureDeadLetterUrl, settings.manifestDeadLetterUrl].map((url) =>
      queueDepth(clients.sqs, url),
    ),
  );
  const [ofCaptures, ofManifests] = [captures?.waiting ?? 0, manifests?.waiting ?? 0];
  if (ofCaptures + ofManifests === 0) return ok("none");
  return problem(
    `${ofCaptures} of captures, ${ofManifests} of manifests`,
    "find the cause (docs/runbook.md, capture-dead-letters and manifest-dead-letters), then deltacap retry --dead-letters",
  );
};

const tableBucket: Check = async ({ settings, clients }, resources) => {
  const { location } = deployedTable(clients, settings);
  const facts = await resources.bucket(location.bucket);
  if (facts === null) return missingBucket("tableBucket", location.bucket);
  if (facts.versioned) return ok("it keeps versions: what is deleted by mistake can be brought back");
  return ok("it keeps no versions: what is deleted by mistake is gone");
};

const table: Check = async ({ settings, clients }) => {
  const snapshot = await readSnapshot(deployedTable(clients, settings).log);
  if (snapshot === null) return ok("not there yet: the first commit makes it");
  requireIdentity(snapshot.metadata, packetTable);
  requireWritable(snapshot.protocol, snapshot.metadata, packetTable.partitionColumn);
  return ok(`version ${snapshot.version} asks nothing of writers that deltacap does not do`);
};

const logStore: Check = async ({ settings, clients, now }, resources) => {
  if (settings.logStore === "conditional") return ok("conditional: Spark must not write this table");
  const wrong = tableProblem(await resources.table(settings.logTable), [
    "tablePath HASH S",
    "fileName RANGE S",
  ]);
  if (wrong !== null)
    return problem(
      `${settings.logTable} ${wrong}`,
      "its keys must be as Spark's log store makes them; items expire once the table's time to live is switched on for expireTime",
    );
  const since = (await deployedTable(clients, settings).sharedLog?.incompleteCommit())?.sinceMs ?? null;
  if (since !== null && now() - since > STALE) {
    return problem(
      `a commit has been unfinished for ${duration(now() - since)}`,
      "the committer's next run finishes it: see why none does (docs/runbook.md, incomplete-log-item)",
    );
  }
  return ok(`${settings.logTable} is as Spark's log store expects it`);
};

const scheme: Check = async ({ settings, clients }, resources) => {
  const { tableScheme, logTable, logStore: kind } = settings;
  if (kind === "conditional") return ok("no log store: the scheme does not matter");
  const other = tableScheme === "s3a" ? "s3" : "s3a";
  const path = (of: "s3" | "s3a") =>
    deployedTable(clients, { ...settings, tableScheme: of }).location.tablePath;
  if (!(await resources.hasCommits(logTable, path(other))))
    return ok(`${path(tableScheme)}, by all its writers`);
  return problem(
    `somebody commits to this table as ${path(other)}, and the committer as ${path(tableScheme)}: they do not exclude each other, and one overwrites the other's commits`,
    `stop that writer, or have it use ${path(tableScheme)}; or set tableScheme to ${other} if every writer uses it`,
  );
};

const ledger: Check = async ({ settings, clients }, resources) => {
  const wrong = tableProblem(await resources.table(settings.ledgerTable), ["sourceId HASH S"]);
  if (wrong !== null)
    return problem(
      `${settings.ledgerTable} ${wrong}`,
      "somebody changed the table: deploy again, with the drift undone",
    );
  const index = deployedLedger(clients, settings);
  const mark = await index.watermark();
  const { log } = deployedTable(clients, settings);
  const { sinceGap: versions } = await loggedVersions(log);
  const newest = versions.at(-1) ?? -1;
  if (mark === null) {
    return ok(
      newest < 0 ? "empty, as is the table" : "empty: the committer's next run fills it from the log",
    );
  }
  const contradicted = await contradiction(log, mark, newest);
  if (contradicted !== null) {
    return problem(
      `${contradicted}: it is an index of another log, which was put back from a backup or made anew`,
      `${index.remake}; or put the log back that it belongs to`,
    );
  }
  const { version: watermark } = mark;
  if ((versions[0] ?? 0) > watermark + 1) {
    return problem(
      `it is complete up to version ${watermark}, and the log begins at ${versions[0]}: what was committed in between is not known`,
      "restore these log files from the bucket's versions before anything else",
    );
  }
  return ok(
    `complete up to version ${watermark} of ${newest}; entries are kept for ${settings.ledgerDays} days`,
  );
};

function tableProblem({ keys, ttlAttribute }: DynamoTableFacts, expected: readonly string[]): string | null {
  if (JSON.stringify(keys) !== JSON.stringify(expected))
    return `has the keys ${keys.join(", ")}, where ${expected.join(", ")} is expected`;
  if (ttlAttribute !== "expireTime")
    return `expires items by ${ttlAttribute ?? "no attribute"}, where expireTime is expected: it grows for ever`;
  return null;
}

const pipeline: Check = async ({ pipeline: switches }) => {
  const { converter, committer } = await switches.state();
  if (converter === "on" && committer === "on") return ok("converter and committer are on");
  return problem(
    `converter ${converter}, committer ${committer}`,
    "deltacap resume, once what it was paused for is over",
  );
};

const commits: Check = async ({ settings, clients, now }) => {
  const [newest, manifests] = await Promise.all([
    newestCommit(deployedTable(clients, settings).log),
    queueDepth(clients.sqs, settings.manifestQueueUrl),
  ]);
  const waiting = manifests.waiting + manifests.inFlight;
  const ageMs = now() - (newest?.timestamp ?? Number.NEGATIVE_INFINITY);
  const age = ageMs === Number.POSITIVE_INFINITY ? "none is known" : `the newest is ${duration(ageMs)} old`;
  if (waiting > 0 && ageMs > STALE) {
    return problem(
      `${age}, and ${waiting} manifests wait`,
      "the committer does not run, or fails: see its log (docs/runbook.md, committer-errors, commit-staleness)",
    );
  }
  return ok(`${age}, ${waiting} manifests wait`);
};
