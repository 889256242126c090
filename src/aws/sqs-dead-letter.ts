import type { SQSClient } from "@aws-sdk/client-sqs";
import { attributeText, messageBytes, sendMessage } from "./sqs-message.ts";

/** Characters of a dead letter's reason; its whole text is in the log. */
const REASON_CHARACTERS = 1_000;

/** The attributes that say why a message is a dead letter. */
export function deadLetterAttributes(reason: string): { readonly reason: string } {
  return { reason: attributeText(reason, REASON_CHARACTERS) };
}

/**
 * Puts a message, as it was received, into a dead letter queue that takes `limit` bytes a message. Without the reason where both
 * together are too large. Throws `RetryableError` when SQS does not take it.
 */
export async function sendDeadLetter(
  sqs: SQSClient,
  { queueUrl, limit }: { readonly queueUrl: string; readonly limit: number },
  body: string,
  reason: string,
): Promise<void> {
  const attributes = deadLetterAttributes(reason);
  const fits = messageBytes(body, attributes) <= limit;
  await sendMessage(
    sqs,
    queueUrl,
    body,
    fits ? attributes : {},
    "cannot put a message into the dead letter queue",
  );
}
