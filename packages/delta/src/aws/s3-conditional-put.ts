import { HeadObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { NothingWrittenError, RetryableError } from "../errors.ts";
import {
  isConditionalConflict,
  isNotFound,
  isPreconditionFailed,
  isRefused,
  isUploadGone,
  translated,
  writeFailure,
} from "./errors.ts";

/** Metadata by which a put is known again as one's own: `x-amz-meta-deltacap-put`. */
export const PUT_TOKEN = "deltacap-put";

/** Of a put that meets another one of the same key under way, or an object that vanishes. */
const ATTEMPTS = 6;
/** Milliseconds before the second attempt; doubled each time. */
const FIRST_DELAY = 20;

/**
 * Sends a put with `If-None-Match: *` and finds out what became of it. The SDK sends again what was not answered, so that
 * "exists" may well speak of the very object that this call created: the token in its metadata tells. Throws
 * `NothingWrittenError` when S3 refused every attempt, another `RetryableError` when the outcome is unknown.
 */
export async function conditionalPut(
  client: S3Client,
  target: { readonly Bucket: string; readonly Key: string },
  token: string,
  send: () => Promise<unknown>,
): Promise<"created" | "exists"> {
  const what = `cannot put s3://${target.Bucket}/${target.Key}`;
  let refused = true;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      await send();
      return "created";
    } catch (error) {
      refused &&= isRefused(error);
      if (isPreconditionFailed(error) || isUploadGone(error)) {
        const found = await putToken(client, target);
        if (found.exists) return found.token === token ? "created" : "exists";
        if (isUploadGone(error)) throw translated(error, what);
        // Removed between the two answers: the path is free again.
      } else if (!isConditionalConflict(error)) {
        throw refused ? writeFailure(error, what) : translated(error, what);
      }
    }
    await delay(FIRST_DELAY * 2 ** (attempt - 1));
  }
  const message = `${what}: ${ATTEMPTS} attempts met another put of the same key under way; it is tried again by the next run`;
  throw refused ? new NothingWrittenError(message) : new RetryableError(message);
}

async function putToken(client: S3Client, target: { readonly Bucket: string; readonly Key: string }) {
  try {
    const { Metadata } = await client.send(new HeadObjectCommand(target));
    return { exists: true, token: Metadata?.[PUT_TOKEN] };
  } catch (error) {
    if (isNotFound(error)) return { exists: false, token: undefined };
    throw translated(error, `cannot find out who put s3://${target.Bucket}/${target.Key}`);
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
