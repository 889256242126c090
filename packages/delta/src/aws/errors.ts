import { STATUS_CODES } from "node:http";
import { NothingWrittenError, RetryableError } from "../errors.ts";

/** What the SDK says went wrong. */
interface Failure {
  /** `NoSuchKey`, `TimeoutError`, `ECONNRESET`, ... */
  readonly name: string;
  /** Null where no reply came. */
  readonly status: number | null;
  readonly requestId: string;
  readonly message: string;
  /** Times that the request was sent. */
  readonly attempts: number;
}

/** The object, or its version, is not there. A missing bucket is no such answer: that is a wrong setting. */
export function isNotFound(error: unknown): boolean {
  const failure = failureOf(error);
  return failure?.status === 404 && failure.name !== "NoSuchBucket" && failure.name !== "NoSuchUpload";
}

/** There is no such bucket in any account. */
export function isBucketMissing(error: unknown): boolean {
  return failureOf(error)?.name === "NoSuchBucket";
}

/** A condition (`If-None-Match`, `If-Match`) does not hold. */
export function isPreconditionFailed(error: unknown): boolean {
  return failureOf(error)?.status === 412;
}

/** Another conditional put of the same key was under way: S3 did nothing and wants to be asked again. */
export function isConditionalConflict(error: unknown): boolean {
  const failure = failureOf(error);
  return failure?.status === 409 && failure.name === "ConditionalRequestConflict";
}

/** The range begins at or after the object's end. */
export function isRangeOutside(error: unknown): boolean {
  return failureOf(error)?.status === 416;
}

/** The upload was completed or aborted already. */
export function isUploadGone(error: unknown): boolean {
  return failureOf(error)?.name === "NoSuchUpload";
}

/** DynamoDB refused a conditional write. */
export function isConditionalCheckFailed(error: unknown): boolean {
  return failureOf(error)?.name === "ConditionalCheckFailedException";
}

/**
 * What a service, the network or the credentials refused, as `RetryableError`: it was nobody's input. What is not theirs
 * is a bug and stays as it is; requests that DynamoDB calls invalid are bugs too.
 */
export function translated(error: unknown, what: string): unknown {
  const failure = failureOf(error);
  if (failure === null) return error;
  const { name, status, requestId, message } = failure;
  const shown = `${what}: ${name}${status === null ? "" : ` (HTTP ${status})`}${requestId}: ${message}`;
  if (name === "ValidationException" || name === "SerializationException") return new Error(shown);
  return new RetryableError(`${shown}; ${ADVICE[name] ?? "it is tried again by the next run"}`);
}

/**
 * {@link translated} for a failed write. `NothingWrittenError` where the service refused the only attempt: 400 and 403 answers
 * are definite, while a write that got no answer, or 500, may have been carried out.
 */
export function writeFailure(error: unknown, what: string): unknown {
  const failure = translated(error, what);
  return failure instanceof RetryableError && isRefused(error)
    ? new NothingWrittenError(failure.message)
    : failure;
}

/** The service answered the only attempt, and did nothing. */
export function isRefused(error: unknown): boolean {
  const failure = failureOf(error);
  if (failure === null || failure.status === null) return false;
  return failure.attempts === 1 && failure.status >= 400 && failure.status < 500;
}

/** Only ever the text: SDK errors hold requests, sockets and credentials, which must reach no log. */
function failureOf(error: unknown): Failure | null {
  if (!(error instanceof Error)) return null;
  const { $metadata: metadata, code } = error as { $metadata?: Metadata; code?: unknown };
  const system =
    typeof code === "string" && (!code.startsWith("ERR_") || code === "ERR_STREAM_PREMATURE_CLOSE");
  if (metadata === undefined && !system && !OTHER_NAMES.has(error.name)) return null;
  // A bug within the SDK's middleware gets its metadata too: it stays a bug.
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError)
    return null;
  const status = metadata?.httpStatusCode ?? null;
  const named = {
    status,
    requestId: metadata?.requestId === undefined ? "" : `, request ${metadata.requestId}`,
    attempts: metadata?.attempts ?? 1,
  };
  if (error.name === "Unknown" && status !== null) {
    const message = "the reply says no more, as replies to HEAD do";
    return { ...named, name: NAMES_BY_STATUS[status] ?? STATUS_CODES[status] ?? "Unknown", message };
  }
  const name = error.name === "Error" && typeof code === "string" ? code : error.name;
  return { ...named, name, message: error.message };
}

interface Metadata {
  readonly attempts?: number;
  readonly httpStatusCode?: number;
  readonly requestId?: string;
}

/** Errors of the SDK that carry no metadata. */
const OTHER_NAMES = new Set(["TimeoutError", "AbortError", "CredentialsProviderError", "TokenProviderError"]);

/** S3's code for the statuses of a reply without a body, where one code is by far the likeliest. */
const NAMES_BY_STATUS: Readonly<Record<number, string>> = {
  301: "PermanentRedirect",
  403: "AccessDenied",
  412: "PreconditionFailed",
  416: "InvalidRange",
  429: "SlowDown",
  500: "InternalError",
  503: "SlowDown",
};

const ADVICE: Readonly<Record<string, string>> = {
  AccessDenied: "grant the role this action (without s3:ListBucket missing objects are denied too)",
  AccessDeniedException: "grant the role this action",
  NoSuchBucket: "the bucket in the settings does not exist",
  PermanentRedirect: "the bucket lies in another region than the settings say",
  ResourceNotFoundException: "the DynamoDB table in the settings does not exist",
  QueueDoesNotExist: "the queue in the settings does not exist",
  InvalidObjectState: "the object is archived: restore it, then send it again",
  CredentialsProviderError: "no credentials were found: set a role, a profile or keys",
};
