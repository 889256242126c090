import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { S3Client } from "@aws-sdk/client-s3";
import { SQSClient } from "@aws-sdk/client-sqs";
import { replyTimeout } from "@deltacap/delta/aws";

/** How AWS is reached: by default as the environment says. */
export interface ClientSettings {
  /** Default: the environment's, which Lambda sets. */
  readonly region?: string;
  /** Servers other than AWS's own, by URL; S3 is then called path style. */
  readonly endpoints?: { readonly s3?: string; readonly sqs?: string; readonly dynamodb?: string };
  /** Default: the environment's, as the SDK finds them. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Default: the SDK's standard mode, exponential with jitter. */
  readonly retryStrategy?: NonNullable<DynamoDBClientConfig["retryStrategy"]>;
  /** Milliseconds to wait for a first reply: see {@link replyTimeout}. Default: its own. */
  readonly firstReply?: number;
}

/** One of each, made once a process: connections and credentials are reused by warm invocations. */
export interface AwsClients {
  readonly s3: S3Client;
  readonly sqs: SQSClient;
  readonly dynamodb: DynamoDBClient;
}

/** Attempts of one call. With the standard back-off five take a few seconds, well within a run's budget. */
const ATTEMPTS = 5;
/** Milliseconds. A connection within a region takes one or two; a second means that it will not come. */
const CONNECTION_TIMEOUT = 1_000;
/** Milliseconds a socket may be silent while a body is under way: a safety net below our own limits. */
const SOCKET_TIMEOUT = 30_000;

/** Makes the clients, with time limits and attempts of their own. They keep connections; make them once. */
export function createClients(settings: ClientSettings): AwsClients {
  const { region, endpoints, credentials, retryStrategy, firstReply } = settings;
  const shared = {
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT,
      socketTimeout: SOCKET_TIMEOUT,
      throwOnRequestTimeout: true,
    },
    ...(region === undefined ? {} : { region }),
    maxAttempts: ATTEMPTS,
    ...(credentials === undefined ? {} : { credentials }),
    ...(retryStrategy === undefined ? { retryMode: "standard" } : { retryStrategy }),
  };
  const clients = {
    s3: new S3Client({
      ...shared,
      ...(endpoints?.s3 === undefined ? {} : { endpoint: endpoints.s3, forcePathStyle: true }),
      // Lengths are checked by us and bytes by TLS; checking an uploader's CRC-64 in JavaScript costs more than decoding.
      responseChecksumValidation: "WHEN_REQUIRED",
    }),
    sqs: new SQSClient({
      ...shared,
      ...(endpoints?.sqs === undefined ? {} : { endpoint: endpoints.sqs }),
    }),
    dynamodb: new DynamoDBClient({
      ...shared,
      ...(endpoints?.dynamodb === undefined ? {} : { endpoint: endpoints.dynamodb }),
    }),
  };
  for (const { config } of Object.values(clients)) limitReplies(config.requestHandler, firstReply);
  return clients;
}

/** The SDK's handler takes one time limit for all requests; ours depends on the request. */
function limitReplies(handler: S3Client["config"]["requestHandler"], firstReply: number | undefined): void {
  const handle = handler.handle.bind(handler);
  handler.handle = (request, options) =>
    handle(request, { requestTimeout: replyTimeout(request, firstReply), ...options });
}
