import type { KeyPattern } from "../ingest/key-pattern.ts";
import type { CaptureSource } from "../manifest/capture-store.ts";

/** What a converter takes, and from where. */
export interface IntakeRules {
  /** Buckets that captures may come from; others are refused. */
  readonly buckets: ReadonlySet<string>;
  /** The table's own folder: what is written there is no capture. `prefix` without slashes at its ends. */
  readonly table: { readonly bucket: string; readonly prefix: string };
  readonly keyPattern: KeyPattern;
}

/** What one message of the capture queue says. */
export interface CaptureMessage {
  readonly sources: readonly CaptureSource[];
  /** Why records, or the whole message, need no work: to be acknowledged. */
  readonly ignored: readonly string[];
  /** Why records, or the whole message, cannot be worked on, now or later: for the dead letter queue. */
  readonly refused: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;
type Verdict =
  | { readonly source: CaptureSource }
  | { readonly ignored: string }
  | { readonly refused: string };

/** S3's limit of a key, in bytes of UTF-8. */
const KEY_BYTES = 1024;
/** An SNS envelope around the event; there is no reason for a second one. */
const ENVELOPES = 1;

/**
 * Reads a message of the capture queue: an S3 event (of any version 2.x, with any number of records), the same in an SNS
 * envelope, or EventBridge's form. Whatever the message holds, this returns: what makes no sense is refused with the reason.
 */
export function parseCaptureMessage(body: string, rules: IntakeRules): CaptureMessage {
  const verdicts = verdictsOf(body, rules, ENVELOPES);
  return {
    sources: verdicts.flatMap((verdict) => ("source" in verdict ? [verdict.source] : [])),
    ignored: verdicts.flatMap((verdict) => ("ignored" in verdict ? [verdict.ignored] : [])),
    refused: verdicts.flatMap((verdict) => ("refused" in verdict ? [verdict.refused] : [])),
  };
}

function verdictsOf(body: string, rules: IntakeRules, envelopes: number): Verdict[] {
  let event: unknown;
  try {
    event = JSON.parse(body);
  } catch {
    return [{ refused: `the message is no JSON: ${shown(body)}` }];
  }
  if (!isFields(event)) return [{ refused: `the message is no JSON object: ${shown(body)}` }];
  if (Array.isArray(event.Records)) {
    if (event.Records.length === 0) return [{ refused: "the event has no records" }];
    return event.Records.map((record) => s3Record(record, rules));
  }
  if (event.Event === "s3:TestEvent") return [{ ignored: "S3's test event" }];
  if (event["detail-type"] !== undefined) return [eventBridge(event, rules)];
  if (event.Type === "Notification" && typeof event.Message === "string" && envelopes > 0) {
    return verdictsOf(event.Message, rules, envelopes - 1);
  }
  if (event.Type === "SubscriptionConfirmation" || event.Type === "UnsubscribeConfirmation") {
    return [{ ignored: `SNS's ${event.Type}` }];
  }
  return [{ refused: `the message is no event of S3, SNS or EventBridge: ${shown(body)}` }];
}

function s3Record(record: unknown, rules: IntakeRules): Verdict {
  if (!isFields(record)) return { refused: `a record is no object: ${shown(record)}` };
  if (record.eventSource !== "aws:s3")
    return { refused: `a record is of ${shown(record.eventSource)}, not of S3` };
  if (typeof record.eventVersion !== "string" || !/^2\.\d+$/.test(record.eventVersion)) {
    return { refused: `a record has the event version ${shown(record.eventVersion)}; 2.x is known` };
  }
  const name = String(record.eventName);
  const isRestored = /^(s3:)?ObjectRestore:Completed$/.test(name);
  if (!isRestored && !/^(s3:)?ObjectCreated:/.test(name))
    return { ignored: `the event ${shown(name)}: nothing was created` };
  const s3 = isFields(record.s3) ? record.s3 : {};
  const object = isFields(s3.object) ? s3.object : {};
  const key = typeof object.key === "string" ? decodedKey(object.key) : null;
  if (key === null) return { refused: `a record's key is ${shown(object.key)}, which S3 does not send` };
  return judged(
    {
      bucket: isFields(s3.bucket) ? s3.bucket.name : undefined,
      key,
      size: object.size,
      eTag: object.eTag,
      versionId: object.versionId,
      time: record.eventTime,
      isRestored,
    },
    rules,
  );
}

/** EventBridge does not encode keys. */
function eventBridge(event: Fields, rules: IntakeRules): Verdict {
  if (event.source !== "aws.s3") return { refused: `an event is of ${shown(event.source)}, not of S3` };
  const isRestored = event["detail-type"] === "Object Restore Completed";
  if (!isRestored && event["detail-type"] !== "Object Created") {
    return { ignored: `the event ${shown(event["detail-type"])}: nothing was created` };
  }
  const detail = isFields(event.detail) ? event.detail : {};
  const object = isFields(detail.object) ? detail.object : {};
  return judged(
    {
      bucket: isFields(detail.bucket) ? detail.bucket.name : undefined,
      key: object.key,
      size: object.size,
      eTag: object.etag,
      versionId: object["version-id"],
      time: event.time,
      isRestored,
    },
    rules,
  );
}

interface NamedObject {
  readonly bucket: unknown;
  readonly key: unknown;
  readonly size: unknown;
  readonly eTag: unknown;
  readonly versionId: unknown;
  readonly time: unknown;
  /** It was uploaded before, and archived: it can be read again now. */
  readonly isRestored: boolean;
}

function judged(named: NamedObject, rules: IntakeRules): Verdict {
  const { bucket, key, size } = named;
  if (typeof bucket !== "string" || !rules.buckets.has(bucket)) {
    return {
      refused: `the bucket ${shown(bucket)} is not one that captures may come from (setting captureBuckets)`,
    };
  }
  if (typeof key !== "string" || !isKey(key)) return { refused: `${shown(key)} is no key of S3` };
  if (bucket === rules.table.bucket && key.startsWith(`${rules.table.prefix}/`)) {
    return { ignored: `s3://${bucket}/${key} belongs to the table` };
  }
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
    return { refused: `s3://${bucket}/${key} has the size ${shown(size)}` };
  }
  if (size === 0 && (key.endsWith("/") || key.endsWith("_$folder$"))) {
    return { ignored: `s3://${bucket}/${key} marks a folder` };
  }
  const eTag = typeof named.eTag === "string" ? named.eTag.replace(/^"(.*)"$/, "$1") : "";
  if (!/^[\x21\x23-\x7e]{1,256}$/.test(eTag)) {
    return { refused: `s3://${bucket}/${key} has the eTag ${shown(named.eTag)}` };
  }
  const versionId = named.versionId ?? "";
  // It becomes part of a request.
  if (typeof versionId !== "string" || !/^[\x21-\x7e]{0,1024}$/.test(versionId)) {
    return { refused: `s3://${bucket}/${key} has the version ${shown(versionId)}` };
  }
  // Only for metrics: what is no time is left out.
  const uploadedMs = typeof named.time === "string" ? Date.parse(named.time) : Number.NaN;
  return {
    source: {
      capture: `s3://${bucket}/${key}`,
      bucket,
      key,
      ...(versionId === "" ? {} : { versionId }),
      eTag,
      size,
      // A restored object was uploaded at another time.
      ...(uploadedMs >= 0 && !named.isRestored ? { uploadedMs } : {}),
      ...(named.isRestored ? { restored: true } : {}),
      vehicleId: rules.keyPattern.vehicleId(key),
    },
  };
}

/** S3 encodes keys in events like a form: `+` is a space, then one percent-decode. Null for what that cannot have given. */
function decodedKey(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded.replaceAll("+", " "));
  } catch {
    return null;
  }
}

function isKey(key: string): boolean {
  // A lone surrogate has no UTF-8; it would become another key on its way.
  return key !== "" && !/\p{Surrogate}/u.test(key) && utf8.encode(key).length <= KEY_BYTES;
}

const utf8 = new TextEncoder();

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Short, whatever it is: it goes into logs. */
function shown(value: unknown): string {
  if (value === undefined) return "missing";
  // Not as JSON: what is nested a hundred thousand deep would overflow the stack.
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "an object";
  const text = String(value);
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}...` : text);
}
