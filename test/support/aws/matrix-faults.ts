import type { Effect } from "./faults.ts";
import type { RequestKind } from "./matrix-workloads.ts";
import type { Reply } from "./reply.ts";

export interface FaultColumn {
  readonly fault: string;
  /** Null where the request cannot have this fault. */
  readonly effect: (kind: RequestKind) => { readonly effect: Effect; readonly times: number } | null;
}

const ALWAYS = Number.POSITIVE_INFINITY;

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
