import type { DeltacapConfiguration } from "./configuration.ts";

/** Days that a message lives in a queue; in its dead letter queue it may live as long again at most (SQS's limit is 14). */
export const QUEUE_DAYS = 14;
/** Days after its first delivery in which a message may still be worked on: in its queue, then in the dead letter queue. */
const MESSAGE_LIFE_DAYS = 2 * QUEUE_DAYS;
/** Days that manifests and temporary log files are kept, and old versions of captures: longer than messages that name them. */
export const REFERENCE_DAYS = MESSAGE_LIFE_DAYS + 2;

/** Visibility of a queue whose messages a function with this timeout takes in batches that take `window` to gather, in seconds. */
export function visibilitySeconds(timeout: number, window: number): number {
  // Lambda's advice: throttled batches are tried again for a while before their messages may be seen by others.
  return 6 * timeout + window;
}

/**
 * Throws an error that says which settings contradict each other, how, and what to change: a template that follows would be
 * deployed without a word and lose or double rows later.
 */
export function checkConsistency(configuration: DeltacapConfiguration): void {
  const problems = [
    retentionProblem(configuration),
    overlappingFolders(configuration),
    overlappingSuffixes(configuration),
    keysOfNoBucket(configuration),
    batchWithoutWindow(configuration),
    halfOfVpc(configuration),
    logTableOfNoLogStore(configuration),
  ].filter((problem) => problem !== null);
  if (problems.length > 0)
    throw new Error(`the configuration contradicts itself:\n  ${problems.join("\n  ")}`);
}

/** A message that outlives its capture cannot be worked on; a capture that outlives its ledger entry can be ingested twice. */
function retentionProblem({ captureDays, ledgerDays }: DeltacapConfiguration): string | null {
  if (captureDays > 0 && captureDays <= MESSAGE_LIFE_DAYS) {
    return `captureDays is ${captureDays}, but messages that name a capture live up to ${MESSAGE_LIFE_DAYS} days: set it to ${MESSAGE_LIFE_DAYS + 1} or more, or to 0`;
  }
  const least = captureDays + MESSAGE_LIFE_DAYS + 1;
  if (ledgerDays < least) {
    return `ledgerDays is ${ledgerDays}, but a capture may be delivered again for ${least - 1} days (captureDays ${captureDays} and ${MESSAGE_LIFE_DAYS} in queues): set it to ${least} or more`;
  }
  return null;
}

/** Files of the table would be captures, and lifecycle rules for captures would delete the table. */
function overlappingFolders(configuration: DeltacapConfiguration): string | null {
  const { captureBucket, capturePrefix, tableBucket, tablePrefix } = configuration;
  if (captureBucket === "" || captureBucket !== tableBucket) return null;
  const table = `${tablePrefix}/`;
  if (!table.startsWith(capturePrefix) && !capturePrefix.startsWith(table)) return null;
  return `captures (capturePrefix, s3://${captureBucket}/${capturePrefix}) and the table (tablePrefix, s3://${tableBucket}/${table}) overlap: give each a folder outside the other`;
}

/** S3 refuses two filters that one key can match. */
function overlappingSuffixes({ captureSuffixes }: DeltacapConfiguration): string | null {
  for (const [at, suffix] of captureSuffixes.entries()) {
    const other = captureSuffixes.find((longer, index) => index !== at && longer.endsWith(suffix));
    if (other !== undefined)
      return `captureSuffixes holds "${suffix}" and "${other}", which overlap: a key that ends in the second ends in the first; leave one out`;
  }
  return null;
}

function keysOfNoBucket(configuration: DeltacapConfiguration): string | null {
  const { captureBucket, captureKeyArn, tableBucket, tableKeyArn } = configuration;
  const name = captureBucket === "" && captureKeyArn !== "" ? "captureKeyArn" : null;
  const other = tableBucket === "" && tableKeyArn !== "" ? "tableKeyArn" : null;
  const given = name ?? other;
  return given === null
    ? null
    : `${given} is given, but no existing bucket that it encrypts: use the setting key for buckets of the stack`;
}

/** Lambda's limit of a batch that is not waited for. */
const MAX_BATCH_WITHOUT_WINDOW = 10;

/** Lambda refuses the event source, after half of the stack is made. */
function batchWithoutWindow({ batchSize, batchWindowSeconds }: DeltacapConfiguration): string | null {
  if (batchWindowSeconds > 0 || batchSize <= MAX_BATCH_WITHOUT_WINDOW) return null;
  return `batchSize is ${batchSize} and batchWindowSeconds is 0, but Lambda gathers more than ${MAX_BATCH_WITHOUT_WINDOW} messages only within a window: set batchWindowSeconds to 1 or more, or batchSize to ${MAX_BATCH_WITHOUT_WINDOW} or less`;
}

function halfOfVpc({ vpcSubnetIds, vpcSecurityGroupIds }: DeltacapConfiguration): string | null {
  if ((vpcSubnetIds.length === 0) === (vpcSecurityGroupIds.length === 0)) return null;
  const [given, missing] =
    vpcSubnetIds.length === 0
      ? ["vpcSecurityGroupIds", "vpcSubnetIds"]
      : ["vpcSubnetIds", "vpcSecurityGroupIds"];
  return `${given} is given without ${missing}: Lambda needs both to place a function in a VPC`;
}

function logTableOfNoLogStore({ logStore, logTable }: DeltacapConfiguration): string | null {
  if (logStore === "dynamodb" || logTable === "") return null;
  return `logTable is ${logTable}, but logStore is ${logStore}, which uses no DynamoDB table: other writers of that log store would overwrite commits. Set logStore to dynamodb, or logTable to ""`;
}
