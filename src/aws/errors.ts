import { RetryableError } from "../errors.ts";

/** What the SDK says went wrong. */
interface Failure {
  /** `NoSuchKey`, `TimeoutError`, `ECONNRESET`, ... */
  readonly name: string;
  /** Null where no reply came. */
  readonly status: number | null;
  readonly requestId: string;
  readonly message: string;
}

/** The object, or its version, is not there. A missing bucket is no such answer: that is a wrong setting. */
export function isNotFound(error: unknown): boolean {
  const failure = failureOf(error);
  return failure?.status === 404 && failure.name !== "NoSuchBucket" && failure.name !== "NoSuchUpload";
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
  return {
    name: error.name === "Error" && typeof code === "string" ? code : error.name,
    status: metadata?.httpStatusCode ?? null,
    requestId: metadata?.requestId === undefined ? "" : `, request ${metadata.requestId}`,
    message: error.message,
  };
}

interface Metadata {
  readonly httpStatusCode?: number;
  readonly requestId?: string;
}

/** Errors of the SDK that carry no metadata. */
const OTHER_NAMES = new Set(["TimeoutError", "AbortError", "CredentialsProviderError", "TokenProviderError"]);

const ADVICE: Readonly<Record<string, string>> = {
  AccessDenied: "grant the role this action (without s3:ListBucket missing objects are denied too)",
  Forbidden: "grant the role this action (without s3:ListBucket missing objects are denied too)",
  AccessDeniedException: "grant the role this action",
  NoSuchBucket: "the bucket in the settings does not exist",
  PermanentRedirect: "the bucket lies in another region than the settings say",
  ResourceNotFoundException: "the DynamoDB table in the settings does not exist",
  QueueDoesNotExist: "the queue in the settings does not exist",
  InvalidObjectState: "the object is archived: restore it, then send it again",
  CredentialsProviderError: "no credentials were found: set a role, a profile or keys",
};
