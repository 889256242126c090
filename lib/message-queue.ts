import { Duration } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { QUEUE_DAYS } from "./settings/consistency.ts";

/** How long messages wait, and how often they are delivered. */
export interface MessageQueueProps {
  /** Seconds that a received message is hidden from others. */
  readonly visibilitySeconds: number;
  /** Deliveries after which a message is put into the dead letter queue. */
  readonly maxReceiveCount: number;
  /** Largest message, in bytes. */
  readonly messageBytes: number;
  /** Default: a key that SQS manages. */
  readonly key?: IKey;
}

/** SQS's own limit: a message that the functions set aside grows by the reason. */
const DEAD_LETTER_BYTES = 1_048_576;

/** A queue with its dead letter queue: encrypted, over TLS only, messages kept as long as SQS keeps them. */
export class MessageQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, props: MessageQueueProps) {
    super(scope, id);
    const shared = {
      enforceSSL: true,
      retentionPeriod: Duration.days(QUEUE_DAYS),
      ...(props.key === undefined
        ? { encryption: QueueEncryption.SQS_MANAGED }
        : { encryption: QueueEncryption.KMS, encryptionMasterKey: props.key }),
    };
    this.deadLetters = new Queue(this, "DeadLetters", { ...shared, maxMessageSizeBytes: DEAD_LETTER_BYTES });
    this.queue = new Queue(this, "Queue", {
      ...shared,
      maxMessageSizeBytes: props.messageBytes,
      visibilityTimeout: Duration.seconds(props.visibilitySeconds),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: props.maxReceiveCount },
    });
  }
}
