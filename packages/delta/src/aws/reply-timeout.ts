/** What a request's time limit depends on. */
export interface TimedRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** Milliseconds. S3, SQS and DynamoDB begin most replies within 100; AWS advises to ask S3 again after two seconds. */
const FIRST_REPLY = 2_000;
/** Milliseconds: a service that is slow for everybody still gets its answers in, on a later attempt. */
const MAX_REPLY = 20_000;
/** Bytes a second that any uplink carries, a laptop's too. */
const UPLOAD_RATE = 1024 * 1024;

/**
 * Milliseconds to wait for the beginning of a reply before the request counts as stalled and is sent again. Doubles with each
 * attempt, as the SDK's header counts them; adds what the body's upload takes, and a long poll's wait. How long a reply's body may
 * take is not limited here: see `withIdleTimeout`.
 */
export function replyTimeout(request: TimedRequest, firstReply: number = FIRST_REPLY): number {
  const { headers } = request;
  const attempt = Number(/attempt=(\d+)/.exec(headers["amz-sdk-request"] ?? "")?.[1] ?? 1);
  const upload = (1_000 * Number(headers["content-length"] ?? 0)) / UPLOAD_RATE;
  const reply = isSlow(request) ? MAX_REPLY : Math.min(firstReply * 2 ** (attempt - 1), MAX_REPLY);
  return reply + upload + pollMs(request);
}

/** S3 joins parts, and removes a thousand objects, before it answers. */
function isSlow({ method, query }: TimedRequest): boolean {
  return method === "POST" && (query?.uploadId !== undefined || query?.delete !== undefined);
}

function pollMs({ headers, body }: TimedRequest): number {
  if (headers["x-amz-target"] !== "AmazonSQS.ReceiveMessage" || !(body instanceof Uint8Array)) return 0;
  const { WaitTimeSeconds } = JSON.parse(new TextDecoder().decode(body)) as { WaitTimeSeconds?: number };
  return 1_000 * (WaitTimeSeconds ?? 0);
}
