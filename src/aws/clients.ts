import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { S3Client } from "@aws-sdk/client-s3";
import { SQSClient } from "@aws-sdk/client-sqs";

export interface ClientSettings {
  /** Default: the environment's, which Lambda sets. */
  readonly region?: string;
  /** Servers other than AWS's own, by URL; S3 is then called path style. */
  readonly endpoints?: { readonly s3?: string; readonly sqs?: string; readonly dynamodb?: string };
  /** Default: the environment's, as the SDK finds them. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Default: the SDK's standard mode, exponential with jitter. */
  readonly retryStrategy?: NonNullable<DynamoDBClientConfig["retryStrategy"]>;
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
/** Milliseconds a socket may be silent: S3 answers large puts only when they are stored. */
const S3_IDLE_TIMEOUT = 20_000;
/** Milliseconds. DynamoDB answers in single digits; slower ones are better asked again. */
const DYNAMODB_TIMEOUT = 3_000;
/** Milliseconds: longer than the longest long poll, 20 s. */
const SQS_TIMEOUT = 30_000;

export function createClients(settings: ClientSettings): AwsClients {
  const { region, endpoints, credentials, retryStrategy } = settings;
  const shared = {
    ...(region === undefined ? {} : { region }),
    maxAttempts: ATTEMPTS,
    ...(credentials === undefined ? {} : { credentials }),
    ...(retryStrategy === undefined ? { retryMode: "standard" } : { retryStrategy }),
  };
  return {
    s3: new S3Client({
      ...shared,
      ...(endpoints?.s3 === undefined ? {} : { endpoint: endpoints.s3, forcePathStyle: true }),
      // Lengths are checked by us and bytes by TLS; checking an uploader's CRC-64 in JavaScript costs more than decoding.
      responseChecksumValidation: "WHEN_REQUIRED",
      requestHandler: { connectionTimeout: CONNECTION_TIMEOUT, socketTimeout: S3_IDLE_TIMEOUT },
    }),
    sqs: new SQSClient({
      ...shared,
      ...(endpoints?.sqs === undefined ? {} : { endpoint: endpoints.sqs }),
      requestHandler: {
        connectionTimeout: CONNECTION_TIMEOUT,
        requestTimeout: SQS_TIMEOUT,
        throwOnRequestTimeout: true,
      },
    }),
    dynamodb: new DynamoDBClient({
      ...shared,
      ...(endpoints?.dynamodb === undefined ? {} : { endpoint: endpoints.dynamodb }),
      requestHandler: {
        connectionTimeout: CONNECTION_TIMEOUT,
        requestTimeout: DYNAMODB_TIMEOUT,
        throwOnRequestTimeout: true,
      },
    }),
  };
}
