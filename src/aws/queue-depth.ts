import { GetQueueAttributesCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { translated } from "@deltacap/delta/aws";

/** Messages of a queue, as SQS counts them: a minute old, and not exact. */
export interface QueueDepth {
  readonly waiting: number;
  /** Received, and neither acknowledged nor visible again. */
  readonly inFlight: number;
  /** Not visible yet by their own delay. */
  readonly delayed: number;
}

/** Needs `sqs:GetQueueAttributes`. Throws `RetryableError` when SQS does not answer. */
export async function queueDepth(sqs: SQSClient, queueUrl: string): Promise<QueueDepth> {
  try {
    const { Attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({
        QueueUrl: queueUrl,
        AttributeNames: [
          "ApproximateNumberOfMessages",
          "ApproximateNumberOfMessagesNotVisible",
          "ApproximateNumberOfMessagesDelayed",
        ],
      }),
    );
    return {
      waiting: Number(Attributes.ApproximateNumberOfMessages ?? 0),
      inFlight: Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
      delayed: Number(Attributes.ApproximateNumberOfMessagesDelayed ?? 0),
    };
  } catch (error) {
    throw translated(error, `cannot look at the queue ${queueUrl}, which needs sqs:GetQueueAttributes`);
  }
}
