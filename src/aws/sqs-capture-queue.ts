import { SendMessageBatchCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { translated } from "@deltacap/delta/aws";
import type { ManifestSource } from "../manifest/manifest.ts";
import type { CaptureQueue } from "../manifest/queues.ts";
import { sendInBatches } from "./sqs-batch.ts";
import { MESSAGE_BYTES, messageBody, messageBytes } from "./sqs-message.ts";

/** Announces captures as S3 itself would, so that the converter knows one form only. */
export class SqsCaptureQueue implements CaptureQueue {
  readonly #sqs: SQSClient;
  readonly #queueUrl: string;

  constructor(sqs: SQSClient, queueUrl: string) {
    this.#sqs = sqs;
    this.#queueUrl = queueUrl;
  }

  async send(sources: readonly Announcement[]): Promise<void> {
    const what = `cannot announce ${sources.length} captures`;
    try {
      await sendInBatches(
        sources.map((source) => messageBody(announcement(source))),
        what,
        { size: messageBytes, maximumBytes: MESSAGE_BYTES },
        (entries) =>
          this.#sqs.send(
            new SendMessageBatchCommand({
              QueueUrl: this.#queueUrl,
              Entries: entries.map(({ id, item }) => ({ Id: id, MessageBody: item })),
            }),
          ),
      );
    } catch (error) {
      throw translated(error, what);
    }
  }
}

/** What names an object version. */
type Announcement = Pick<ManifestSource, "bucket" | "key" | "versionId" | "eTag" | "size" | "uploadedMs">;

/** An S3 event with one record. The key is encoded as S3 does it, a space as `+`. */
function announcement({ bucket, key, versionId, eTag, size, uploadedMs }: Announcement): object {
  const encoded = encodeURIComponent(key).replaceAll("%20", "+").replaceAll("%2F", "/");
  const object = { key: encoded, size, eTag, ...(versionId === undefined ? {} : { versionId }) };
  const s3 = { s3SchemaVersion: "1.0", bucket: { name: bucket }, object };
  // The first upload's time: the age of a row counts from there.
  const eventTime = uploadedMs === undefined ? {} : { eventTime: new Date(uploadedMs).toISOString() };
  const record = {
    eventVersion: "2.1",
    eventSource: "aws:s3",
    eventName: "ObjectCreated:Put",
    ...eventTime,
    s3,
  };
  return { Records: [record] };
}
