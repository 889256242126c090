import type { IRole } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { committerRun } from "../src/settings.ts";
import { KEY_ACTIONS } from "./customer-key.ts";
import { MessageQueue } from "./message-queue.ts";
import { allow } from "./object-access.ts";

/** What the queue takes, and whose key encrypts it. */
export interface ManifestQueueProps {
  readonly messageBytes: number;
  readonly key?: IKey;
}

/**
 * Deliveries of a manifest before SQS gives it up: about a day of runs that could not commit. What can never be committed the
 * committer sets aside itself.
 */
const MAX_RECEIVE_COUNT = 1_000;

/** Manifests on their way from the converters to the committer. */
export class ManifestQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;
  readonly #key: IKey | undefined;

  constructor(scope: Construct, id: string, { messageBytes, key }: ManifestQueueProps) {
    super(scope, id);
    this.#key = key;
    const queues = new MessageQueue(this, "Manifests", {
      messageBytes,
      visibilitySeconds: committerRun.visibilitySeconds,
      maxReceiveCount: MAX_RECEIVE_COUNT,
      ...(key === undefined ? {} : { key }),
    });
    this.queue = queues.queue;
    this.deadLetters = queues.deadLetters;
  }

  grantSend(role: IRole, queue: Queue): void {
    this.#allow(role, ["sqs:SendMessage"], queue);
  }

  /** What draining the queue needs, and giving a message back early. */
  grantDrain(role: IRole): void {
    this.#allow(role, ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"], this.queue);
  }

  #allow(role: IRole, actions: string[], queue: Queue): void {
    allow(role, actions, queue.queueArn);
    if (this.#key !== undefined) allow(role, KEY_ACTIONS, this.#key.keyArn);
  }
}
