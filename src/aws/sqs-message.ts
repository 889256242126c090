import { SendMessageCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { translated } from "@deltacap/delta/aws";

/**
 * SQS's limit of a message, and of a batch, in bytes, attributes included: what every queue takes. Queues may be raised to
 * 1 MiB, which is why it is a setting.
 */
export const MESSAGE_BYTES = 262_144;

/** Characters that JSON does not escape, and that SQS refuses. */
const FORBIDDEN = /[\uFFFE\uFFFF]/g;

/** JSON with nothing in it that SQS refuses in a body. */
export function messageBody(value: unknown): string {
  return JSON.stringify(value).replace(FORBIDDEN, (character) =>
    character === "\uFFFE" ? "\\ufffe" : "\\uffff",
  );
}

/** A text as an attribute: never empty, of allowed characters, at most so many. */
export function attributeText(text: string, characters: number): string {
  const allowed = text.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD");
  return [...allowed.slice(0, characters * 2)].slice(0, characters).join("") || "-";
}

/** Bytes of a message as SQS counts them: attributes' names, types and values too. */
export function messageBytes(body: string, attributes: Readonly<Record<string, string>> = {}): number {
  let bytes = Buffer.byteLength(body);
  for (const [name, value] of Object.entries(attributes)) {
    bytes += Buffer.byteLength(name) + "String".length + Buffer.byteLength(value);
  }
  return bytes;
}

/** Sends one message. `what` begins the error of one that was not taken. */
export async function sendMessage(
  sqs: SQSClient,
  queueUrl: string,
  body: string,
  attributes: Readonly<Record<string, string>>,
  what: string,
): Promise<void> {
  const MessageAttributes = Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, { DataType: "String", StringValue: value }]),
  );
  try {
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body, MessageAttributes }));
  } catch (error) {
    throw translated(error, what);
  }
}
