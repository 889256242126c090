import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { translated } from "@deltacap/delta/aws";
import { queueDepth } from "./queue-depth.ts";
import { sendInBatches } from "./sqs-batch.ts";
import { messageBytes } from "./sqs-message.ts";

/** From which queue messages are moved to which. Both are URLs. */
export interface MoveSettings {
  readonly from: string;
  readonly to: string;
  /** Largest message, and batch, that the queue `to` takes, in bytes. */
  readonly messageBytes: number;
  /** Milliseconds since 1970: messages sent later are left, since they may have been moved already and have come back. */
  readonly sentBeforeMs: number;
}

/** How many messages were moved, and why they had been set aside. */
export interface MoveResult {
  readonly moved: number;
  /** Sent too late, or too large for the other queue. */
  readonly left: number;
  /** Why the moved messages had been set aside, where somebody had said: reason -> messages. */
  readonly reasons: ReadonlyMap<string, number>;
}

/** SQS's limit of messages a call. */
const BATCH = 10;
/** A long poll asks all of SQS's servers: one that brings nothing means that nothing is there. */
const WAIT_SECONDS = 1;
/** Seconds in which a received message is sent and removed. */
const VISIBILITY_SECONDS = 60;

/**
 * Moves a dead letter queue's messages, without their attributes. Each is removed only after the other queue took it: what fails in
 * between is there twice, which is harmless. Needs `sqs:ReceiveMessage`, `sqs:DeleteMessage`, `sqs:ChangeMessageVisibility` on the
 * one queue, `sqs:SendMessage` on the other. Throws `RetryableError` when SQS does not answer; `onMoved` was then told how far it came.
 */
export async function moveMessages(
  sqs: SQSClient,
  settings: MoveSettings,
  onMoved: (moved: number) => void = () => {},
): Promise<MoveResult> {
  const { from, to } = settings;
  const { waiting } = await queueDepth(sqs, from);
  // Clocks differ: with one that is fast, messages that come back at once would be moved for ever.
  const most = 2 * waiting + 100;
  const reasons = new Map<string, number>();
  const left: Message[] = [];
  let moved = 0;
  while (moved < most) {
    const messages = await received(sqs, from);
    if (messages.length === 0) break;
    const taken = messages.filter((message) => mayMove(message, settings));
    left.push(...messages.filter((message) => !taken.includes(message)));
    await send(sqs, settings, taken);
    await inBatches(taken, `cannot remove messages from ${from}`, (Entries) =>
      sqs.send(new DeleteMessageBatchCommand({ QueueUrl: from, Entries })),
    );
    for (const { MessageAttributes } of taken) {
      const reason = MessageAttributes?.reason?.StringValue;
      if (reason !== undefined) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    moved += taken.length;
    onMoved(moved);
  }
  await inBatches(left, `cannot give messages back to ${from}, moved to ${to}: ${moved}`, (entries) => {
    const Entries = entries.map((entry) => ({ ...entry, VisibilityTimeout: 0 }));
    return sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: from, Entries }));
  });
  return { moved, left: left.length, reasons };
}

function mayMove({ Attributes, Body = "" }: Message, settings: MoveSettings): boolean {
  const sentMs = Number(Attributes?.SentTimestamp ?? 0);
  return sentMs < settings.sentBeforeMs && messageBytes(Body) <= settings.messageBytes;
}

async function received(sqs: SQSClient, queueUrl: string): Promise<Message[]> {
  try {
    const { Messages } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: BATCH,
        WaitTimeSeconds: WAIT_SECONDS,
        VisibilityTimeout: VISIBILITY_SECONDS,
        MessageSystemAttributeNames: ["SentTimestamp"],
        MessageAttributeNames: ["reason"],
      }),
    );
    return Messages ?? [];
  } catch (error) {
    throw translated(error, `cannot receive messages of ${queueUrl}`);
  }
}

async function send(sqs: SQSClient, settings: MoveSettings, messages: readonly Message[]): Promise<void> {
  const what = `cannot send messages to ${settings.to}`;
  try {
    await sendInBatches(
      messages.map(({ Body = "" }) => Body),
      what,
      { size: messageBytes, maximumBytes: settings.messageBytes },
      (entries) =>
        sqs.send(
          new SendMessageBatchCommand({
            QueueUrl: settings.to,
            Entries: entries.map(({ id, item }) => ({ Id: id, MessageBody: item })),
          }),
        ),
    );
  } catch (error) {
    throw translated(error, what);
  }
}

async function inBatches(
  messages: readonly Message[],
  what: string,
  call: (entries: { Id: string; ReceiptHandle: string | undefined }[]) => Promise<object>,
): Promise<void> {
  try {
    await sendInBatches(messages, what, { size: () => 0, maximumBytes: 1 }, (entries) =>
      call(entries.map(({ id, item }) => ({ Id: id, ReceiptHandle: item.ReceiptHandle }))),
    );
  } catch (error) {
    throw translated(error, what);
  }
}
