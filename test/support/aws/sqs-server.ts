import { createHash } from "node:crypto";
import { type Clock, systemClock } from "./clock.ts";
import type { Exchange, Service } from "./door.ts";
import type { Reply } from "./reply.ts";
import { messageSize, type Queue, SqsRefusal, SqsStorage, type StoredMessage } from "./sqs-storage.ts";

type Fields = Readonly<Record<string, unknown>>;

/** How one entry of a batch fails, while its neighbours do not. */
export interface EntryFailure {
  readonly code: string;
  readonly senderFault: boolean;
}

/** SQS over HTTP (its JSON protocol), as far as the adapters use it. */
export class SqsServer implements Service {
  readonly storage: SqsStorage;
  /** Asked for each entry of a batch: null lets it pass. `drop` leaves it out of the reply altogether. */
  failEntry: (operation: string, entry: Fields) => EntryFailure | "drop" | null = () => null;

  constructor(clock: Clock = systemClock) {
    this.storage = new SqsStorage(clock);
  }

  describe(exchange: Exchange): { operation: string; subject: string } {
    return { operation: `sqs:${operationOf(exchange)}`, subject: exchange.body.toString() };
  }

  refusal(status: number, code: string): Reply {
    return {
      status,
      headers: { "content-type": "application/x-amz-json-1.0" },
      body: JSON.stringify({ __type: `com.amazonaws.sqs#${code}`, message: "injected" }),
    };
  }

  async handle(exchange: Exchange): Promise<Reply> {
    const fields = JSON.parse(exchange.body.toString()) as Fields;
    try {
      const body = JSON.stringify(await this.#perform(operationOf(exchange), fields, exchange));
      return { status: 200, headers: { "content-type": "application/x-amz-json-1.0" }, body };
    } catch (error) {
      if (error instanceof SqsRefusal) return this.refusal(400, error.code);
      throw error;
    }
  }

  async #perform(operation: string, fields: Fields, exchange: Exchange): Promise<unknown> {
    if (operation === "CreateQueue" || operation === "GetQueueUrl") {
      const name = String(fields.QueueName);
      if (operation === "CreateQueue") this.storage.createQueue(name, settingsOf(fields));
      this.storage.queue(name);
      return { QueueUrl: `${exchange.origin}/000000000000/${name}` };
    }
    const queue = this.storage.queue(String(fields.QueueUrl).split("/").at(-1) ?? "");
    switch (operation) {
      case "SendMessage":
        return sendOne(queue, fields);
      case "SendMessageBatch":
        return this.#sendBatch(queue, fields);
      case "ReceiveMessage":
        return await receive(queue, fields, exchange.gone);
      case "DeleteMessage":
        queue.delete(String(fields.ReceiptHandle));
        return {};
      case "DeleteMessageBatch":
        return this.#batch(operation, fields, (entry) => {
          queue.delete(String(entry.ReceiptHandle));
          return null;
        });
      case "ChangeMessageVisibilityBatch":
        return this.#batch(operation, fields, (entry) => {
          queue.changeVisibility(String(entry.ReceiptHandle), Number(entry.VisibilityTimeout));
          return null;
        });
      case "GetQueueAttributes":
        return { Attributes: attributesOf(queue) };
      default:
        throw new Error(`the test's SQS does not know ${operation}`);
    }
  }

  #sendBatch(queue: Queue, fields: Fields) {
    const size = entriesOf(fields).reduce(
      (sum, entry) => sum + messageSize(String(entry.MessageBody), attributeValues(entry)),
      0,
    );
    if (size > queue.settings.maximumMessageSize)
      throw new SqsRefusal("BatchRequestTooLong", `${size} bytes`);
    return this.#batch("SendMessageBatch", fields, (entry) => sendOne(queue, entry));
  }

  /** Entry by entry: one that fails does not fail the others. */
  #batch(operation: string, fields: Fields, perform: (entry: Fields) => object | null) {
    const entries = entriesOf(fields);
    if (entries.length === 0) throw new SqsRefusal("EmptyBatchRequest");
    if (entries.length > 10) throw new SqsRefusal("TooManyEntriesInBatchRequest");
    const ids = entries.map((entry) => String(entry.Id));
    if (new Set(ids).size < ids.length) throw new SqsRefusal("BatchEntryIdsNotDistinct");
    const Successful: object[] = [];
    const Failed: object[] = [];
    entries.forEach((entry, i) => {
      const injected = this.failEntry(operation, entry);
      if (injected === "drop") return;
      try {
        if (injected !== null) {
          Failed.push({ Id: ids[i], Code: injected.code, SenderFault: injected.senderFault });
        } else Successful.push({ Id: ids[i], ...perform(entry) });
      } catch (error) {
        if (!(error instanceof SqsRefusal)) throw error;
        Failed.push({ Id: ids[i], Code: error.code, SenderFault: true, Message: error.message });
      }
    });
    return { Successful, Failed };
  }
}

function operationOf({ headers }: Exchange): string {
  return (headers["x-amz-target"] ?? "").split(".").at(-1) ?? "";
}

function settingsOf(fields: Fields) {
  const attributes = (fields.Attributes ?? {}) as Record<string, string>;
  const redrive = attributes.RedrivePolicy;
  const policy = redrive === undefined ? null : (JSON.parse(redrive) as Record<string, unknown>);
  return {
    ...(attributes.VisibilityTimeout === undefined
      ? {}
      : { visibilityTimeout: Number(attributes.VisibilityTimeout) }),
    ...(attributes.MaximumMessageSize === undefined
      ? {}
      : { maximumMessageSize: Number(attributes.MaximumMessageSize) }),
    ...(policy === null
      ? {}
      : {
          redrive: {
            queue: String(policy.deadLetterTargetArn).split(":").at(-1) ?? "",
            maxReceiveCount: Number(policy.maxReceiveCount),
          },
        }),
  };
}

function attributesOf(queue: Queue): Record<string, string> {
  const { visible, inFlight } = queue.counts();
  const { redrive } = queue.settings;
  const policy = {
    deadLetterTargetArn: `arn:aws:sqs:eu-central-1:000000000000:${redrive?.queue}`,
    maxReceiveCount: redrive?.maxReceiveCount,
  };
  return {
    ...(redrive === undefined ? {} : { RedrivePolicy: JSON.stringify(policy) }),
    MaximumMessageSize: String(queue.settings.maximumMessageSize),
    MessageRetentionPeriod: String(4 * 86_400),
    QueueArn: `arn:aws:sqs:eu-central-1:000000000000:${queue.name}`,
    ApproximateNumberOfMessages: String(visible),
    ApproximateNumberOfMessagesNotVisible: String(inFlight),
    VisibilityTimeout: String(queue.settings.visibilityTimeout),
  };
}

function entriesOf(fields: Fields): Fields[] {
  return (fields.Entries ?? []) as Fields[];
}

function attributeValues(entry: Fields): Record<string, string> {
  const attributes = (entry.MessageAttributes ?? {}) as Record<string, { StringValue: string }>;
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, value.StringValue]));
}

function sendOne(queue: Queue, entry: Fields) {
  const message = queue.send(String(entry.MessageBody), attributeValues(entry));
  return { MessageId: message.id, MD5OfMessageBody: md5(message.body) };
}

async function receive(queue: Queue, fields: Fields, gone: AbortSignal) {
  const limit = Number(fields.MaxNumberOfMessages ?? 1);
  if (limit < 1 || limit > 10) throw new SqsRefusal("InvalidParameterValue", `MaxNumberOfMessages ${limit}`);
  const wait = Number(fields.WaitTimeSeconds ?? 0);
  if (wait < 0 || wait > 20) throw new SqsRefusal("InvalidParameterValue", `WaitTimeSeconds ${wait}`);
  const visibility = fields.VisibilityTimeout === undefined ? null : Number(fields.VisibilityTimeout);
  const messages = await queue.receive(limit, wait, visibility, gone);
  return messages.length === 0 ? {} : { Messages: messages.map(described) };
}

function described(message: StoredMessage) {
  return {
    MessageId: message.id,
    ReceiptHandle: message.receipt,
    Body: message.body,
    MD5OfBody: md5(message.body),
    Attributes: {
      SentTimestamp: String(message.sentMs),
      ApproximateReceiveCount: String(message.receiveCount),
    },
    MessageAttributes: Object.fromEntries(
      Object.entries(message.attributes).map(([name, value]) => [
        name,
        { DataType: "String", StringValue: value },
      ]),
    ),
  };
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}
