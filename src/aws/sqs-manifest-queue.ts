import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { RetryableError } from "../errors.ts";
import type { Manifest } from "../manifest/manifest.ts";
import type { ObjectStore } from "../manifest/object-store.ts";
import { serializeManifest } from "../manifest/parse-manifest.ts";
import type { ManifestQueue, ReceivedManifest } from "../manifest/queues.ts";
import { translated } from "./errors.ts";
import { sendInBatches } from "./sqs-batch.ts";
import { deadLetterAttributes } from "./sqs-dead-letter.ts";
import { attributeText, MESSAGE_BYTES, messageBody, messageBytes, sendMessage } from "./sqs-message.ts";

export interface SqsManifestQueueOptions {
  readonly sqs: SQSClient;
  readonly queueUrl: string;
  readonly deadLetterUrl: string;
  /** The table's folder, where manifests too large for a message lie below `_manifests/`. */
  readonly store: ObjectStore;
  /** Default {@link MESSAGE_BYTES}. */
  readonly messageBytes?: number;
}

/** Manifests that are too large lie here until a lifecycle rule removes them, later than the queue forgets them. */
const FOLDER = "_manifests/";
const REFERENCE = /^_manifests\/[A-Za-z0-9_.=-]+\.json$/;
/** SQS's limit of messages a call. */
const RECEIVE_BATCH = 10;

/** Manifests over SQS. */
export class SqsManifestQueue implements ManifestQueue {
  readonly #options: SqsManifestQueueOptions;
  /** The reading of a large manifest that failed while others arrived: told by the next call. */
  #failure: unknown = null;

  constructor(options: SqsManifestQueueOptions) {
    this.#options = options;
  }

  async send(manifest: Manifest): Promise<void> {
    const { sqs, store, queueUrl, messageBytes: limit = MESSAGE_BYTES } = this.#options;
    let body = messageBody(manifest);
    if (messageBytes(body) > limit) {
      const reference = `${FOLDER}${manifest.batchId}.json`;
      // Batch ids are unique: what is there already is this very manifest, sent before.
      await store.putIfAbsent(reference, new TextEncoder().encode(serializeManifest(manifest)));
      body = messageBody({ reference });
    }
    await sendMessage(sqs, queueUrl, body, {}, `cannot send the manifest of batch ${manifest.batchId}`);
  }

  async receive(waitSeconds: number): Promise<ReceivedManifest[]> {
    if (this.#failure !== null) {
      const failure = this.#failure;
      this.#failure = null;
      throw failure;
    }
    const messages = await this.#poll(waitSeconds);
    const received: ReceivedManifest[] = [];
    for (const read of await Promise.allSettled(messages.map((message) => this.#received(message)))) {
      if (read.status === "fulfilled") received.push(read.value);
      else this.#failure = read.reason;
    }
    // What came must be worked on, or it would be invisible for nothing: then the failure waits for the next call.
    if (received.length > 0 || this.#failure === null) return received;
    return await this.receive(0);
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
      const reference = `${FOLDER}dead-letter-${receiptName(delivery.receipt)}.json`;
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
          MessageSystemAttributeNames: ["SentTimestamp"],
        }),
      );
      return Messages ?? [];
    } catch (error) {
      throw translated(error, "cannot receive manifests");
    }
  }

  /** A reference whose object is gone stays as it is: no committer can read it, and its text says why. */
  async #received(message: Message): Promise<ReceivedManifest> {
    const receipt = message.ReceiptHandle ?? "";
    const sentMs = Number(message.Attributes?.SentTimestamp ?? 0);
    const text = message.Body ?? "";
    const reference = referenceOf(text);
    const body = reference === null ? null : await this.#options.store.read(reference);
    return { receipt, sentMs, text: body === null ? text : new TextDecoder().decode(body) };
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
