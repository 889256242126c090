import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
} from "@aws-sdk/client-sqs";
import { RetryableError } from "@deltacap/delta";
import { translated } from "@deltacap/delta/aws";
import type { ManifestQueue, ReceivedManifest } from "../manifest/queues.ts";
import { sendInBatches } from "./sqs-batch.ts";
import { deadLetterAttributes } from "./sqs-dead-letter.ts";
import { MANIFEST_FOLDER, SqsManifestSender, type SqsManifestSenderOptions } from "./sqs-manifest-sender.ts";
import { attributeText, MESSAGE_BYTES, messageBody, messageBytes, sendMessage } from "./sqs-message.ts";

/** The committer's queues. */
export interface SqsManifestQueueOptions extends SqsManifestSenderOptions {
  readonly deadLetterUrl: string;
}

const REFERENCE = /^_manifests\/[A-Za-z0-9_.=-]+\.json$/;
/** SQS's limit of messages a call. */
const RECEIVE_BATCH = 10;

/** Manifests over SQS. */
export class SqsManifestQueue extends SqsManifestSender implements ManifestQueue {
  readonly #options: SqsManifestQueueOptions;

  constructor(options: SqsManifestQueueOptions) {
    super(options);
    this.#options = options;
  }

  async receive(waitSeconds: number): Promise<ReceivedManifest[]> {
    const messages = await this.#poll(waitSeconds);
    return await Promise.all(messages.map((message) => this.#received(message)));
  }

  async acknowledge(deliveries: readonly ReceivedManifest[]): Promise<void> {
    const what = `cannot acknowledge ${deliveries.length} manifests`;
    try {
      await sendInBatches(deliveries, what, NO_BYTES, (entries) =>
        this.#options.sqs.send(
          new DeleteMessageBatchCommand({
            QueueUrl: this.#options.queueUrl,
            Entries: entries.map(({ id, item }) => ({ Id: id, ReceiptHandle: item.receipt })),
          }),
        ),
      );
    } catch (error) {
      throw translated(error, what);
    }
  }

  async release(deliveries: readonly ReceivedManifest[]): Promise<void> {
    try {
      await sendInBatches(deliveries, "cannot release manifests", NO_BYTES, (entries) =>
        this.#options.sqs.send(
          new ChangeMessageVisibilityBatchCommand({
            QueueUrl: this.#options.queueUrl,
            Entries: entries.map(({ id, item }) => ({
              Id: id,
              ReceiptHandle: item.receipt,
              VisibilityTimeout: 0,
            })),
          }),
        ),
      );
    } catch (error) {
      // They become visible by themselves when their time is over.
      if (!(translated(error, "") instanceof RetryableError)) throw error;
    }
  }

  async deadLetter(delivery: ReceivedManifest, reason: string): Promise<void> {
    const { sqs, deadLetterUrl, store, messageBytes: limit = MESSAGE_BYTES } = this.#options;
    const attributes = deadLetterAttributes(reason);
    let body = bodyOf(delivery.text);
    if (messageBytes(body, attributes) > limit) {
      const reference = `${MANIFEST_FOLDER}dead-letter-${receiptName(delivery.receipt)}.json`;
      await store.putIfAbsent(reference, new TextEncoder().encode(delivery.text));
      body = messageBody({ reference });
    }
    await sendMessage(
      sqs,
      deadLetterUrl,
      body,
      attributes,
      "cannot put a manifest into the dead letter queue",
    );
    // Only now: a crash in between leaves two copies rather than none.
    await this.acknowledge([delivery]);
  }

  async #poll(waitSeconds: number): Promise<Message[]> {
    try {
      const { Messages } = await this.#options.sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: this.#options.queueUrl,
          MaxNumberOfMessages: RECEIVE_BATCH,
          WaitTimeSeconds: waitSeconds,
          MessageSystemAttributeNames: ["SentTimestamp", "ApproximateReceiveCount"],
        }),
      );
      return Messages ?? [];
    } catch (error) {
      throw translated(error, "cannot receive manifests");
    }
  }

  /** A reference whose object cannot be read now, or is not there, costs only itself. */
  async #received(message: Message): Promise<ReceivedManifest> {
    const text = message.Body ?? "";
    const delivery = {
      receipt: message.ReceiptHandle ?? "",
      sentMs: Number(message.Attributes?.SentTimestamp ?? 0),
      receives: Number(message.Attributes?.ApproximateReceiveCount ?? 1),
      text,
    };
    const reference = referenceOf(text);
    if (reference === null) return delivery;
    try {
      const body = await this.#options.store.read(reference);
      if (body !== null) return { ...delivery, text: new TextDecoder().decode(body) };
      const reason = `${reference}, to which the message refers, does not exist in the table's folder; its batch is lost, and deltacap backfill announces its captures again`;
      return { ...delivery, unread: { reason, isGone: true } };
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      return { ...delivery, unread: { reason: error.message, isGone: false } };
    }
  }
}

const NO_BYTES = { size: () => 0, maximumBytes: 1 };

/** Null where the message is no reference, or one to what no converter wrote. */
function referenceOf(text: string): string | null {
  if (text.length > 1_000 || !text.includes('"reference"')) return null;
  try {
    const { reference } = JSON.parse(text) as { reference?: unknown };
    return typeof reference === "string" && REFERENCE.test(reference) ? reference : null;
  } catch {
    return null;
  }
}

/** The text as a body that SQS takes. It came over SQS, or from an object that may hold anything. */
function bodyOf(text: string): string {
  return attributeText(text, text.length);
}

/** Receipts are long and of other characters than paths may have. */
function receiptName(receipt: string): string {
  return Buffer.from(receipt).toString("base64url").slice(-64);
}
