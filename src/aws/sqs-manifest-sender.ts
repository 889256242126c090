import type { SQSClient } from "@aws-sdk/client-sqs";
import type { ObjectStore } from "@deltacap/delta";
import type { Manifest } from "../manifest/manifest.ts";
import { serializeManifest } from "../manifest/parse-manifest.ts";
import type { ManifestQueue } from "../manifest/queues.ts";
import { MESSAGE_BYTES, messageBody, messageBytes, sendMessage } from "./sqs-message.ts";

/** Where manifests are sent. */
export interface SqsManifestSenderOptions {
  readonly sqs: SQSClient;
  readonly queueUrl: string;
  /** The table's folder, where manifests too large for a message lie below `_manifests/`. */
  readonly store: ObjectStore;
  /** Default {@link MESSAGE_BYTES}. */
  readonly messageBytes?: number;
}

/** Manifests that are too large lie here until a lifecycle rule removes them, later than the queue forgets them. */
export const MANIFEST_FOLDER = "_manifests/";

/** What a converter does with manifests: it has no part in receiving them. */
export class SqsManifestSender implements Pick<ManifestQueue, "send"> {
  readonly #options: SqsManifestSenderOptions;

  constructor(options: SqsManifestSenderOptions) {
    this.#options = options;
  }

  async send(manifest: Manifest): Promise<void> {
    const { sqs, store, queueUrl, messageBytes: limit = MESSAGE_BYTES } = this.#options;
    let body = messageBody(manifest);
    if (messageBytes(body) > limit) {
      const reference = `${MANIFEST_FOLDER}${manifest.batchId}.json`;
      // Batch ids are unique: what is there already is this very manifest, sent before.
      await store.putIfAbsent(reference, new TextEncoder().encode(serializeManifest(manifest)));
      body = messageBody({ reference });
    }
    await sendMessage(sqs, queueUrl, body, {}, `cannot send the manifest of batch ${manifest.batchId}`);
  }
}
