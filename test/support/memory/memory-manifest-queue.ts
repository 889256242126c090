import { messageBody } from "../../../src/aws/sqs-message.ts";
import type { Manifest } from "../../../src/manifest/manifest.ts";
import type { ManifestQueue, ReceivedManifest } from "../../../src/manifest/queues.ts";
import type { Clock } from "../aws/clock.ts";
import { type Queue, SqsStorage } from "../aws/sqs-storage.ts";

/** Manifests in memory, by SQS's rules: what is received is invisible for a while, and comes again. */
export class MemoryManifestQueue implements ManifestQueue {
  /** Open to tests. */
  readonly queue: Queue;
  readonly deadLetters: { readonly text: string; readonly reason: string }[] = [];

  constructor(clock: Clock, visibilityTimeout = 240) {
    this.queue = new SqsStorage(clock).createQueue("manifests", {
      visibilityTimeout,
      maximumMessageSize: Number.POSITIVE_INFINITY,
    });
  }

  async send(manifest: Manifest): Promise<void> {
    this.queue.send(messageBody(manifest));
  }

  async receive(waitSeconds: number): Promise<ReceivedManifest[]> {
    const messages = await this.queue.receive(10, waitSeconds, null, new AbortController().signal);
    return messages.map(({ receipt, body, sentMs, receiveCount }) => ({
      receipt,
      text: body,
      sentMs,
      receives: receiveCount,
    }));
  }

  async acknowledge(deliveries: readonly ReceivedManifest[]): Promise<void> {
    for (const { receipt } of deliveries) this.queue.delete(receipt);
  }

  async release(deliveries: readonly ReceivedManifest[]): Promise<void> {
    for (const { receipt } of deliveries) {
      if (this.queue.messages.some((message) => message.receipt === receipt)) {
        this.queue.changeVisibility(receipt, 0);
      }
    }
  }

  async deadLetter(delivery: ReceivedManifest, reason: string): Promise<void> {
    this.deadLetters.push({ text: delivery.text, reason });
    await this.acknowledge([delivery]);
  }
}
