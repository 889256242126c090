/**
 * The servers of `bench/commit.ts`, in a process of their own, so that they take no time from the writer that is measured: our S3
 * and dynalite. Started by fork; says where they are, and answers each {@link Order}. Ends when its parent does.
 */
import { BUCKET, Cloud, LOG_TABLE, type Visitor } from "../test/support/aws/cloud.ts";

/** Milliseconds. */
export const PUT = 25;
export const HEAD = 12;
export const DYNAMODB = 5;

/** Forget the requests so far; from now on with latencies, or bare. */
export interface Order {
  readonly latency: boolean;
}

/** The first answer has no requests; the others: how many came since the order before. */
export interface Answer {
  readonly urls: Visitor["urls"];
  readonly bucket: string;
  readonly logTable: string;
  readonly requests: number;
}

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

async function serve(): Promise<void> {
  const cloud = await Cloud.start();
  const visitor = await cloud.enter();
  const answer = (requests: number) => {
    const said: Answer = { urls: visitor.urls, bucket: BUCKET, logTable: LOG_TABLE, requests };
    process.send?.(said);
  };
  process.on("message", ({ latency }: Order) => {
    const requests = visitor.faults.requests.length;
    visitor.faults.forget();
    if (latency) injectLatency(visitor);
    answer(requests);
  });
  process.on("disconnect", () => void cloud.close());
  answer(0);
}

if (process.send !== undefined) await serve();
