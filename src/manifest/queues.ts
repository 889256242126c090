import type { Manifest, ManifestSource } from "./manifest.ts";

/** Where captures are announced to converters. */
export interface CaptureQueue {
  /**
   * Announces sources again, so that a converter reads them anew. Resolves when every one was taken; throws
   * `RetryableError` otherwise, when some may have been taken: a source announced twice is ingested once.
   */
  send(sources: readonly ManifestSource[]): Promise<void>;
}

/** A manifest as delivered: perhaps more than once, perhaps late, perhaps written by somebody else. */
export interface ReceivedManifest {
  /** By which this very delivery is acknowledged. */
  readonly receipt: string;
  /** JSON, not parsed: see `parseManifest`. Where the message was a reference, what it refers to. */
  readonly text: string;
  /** Milliseconds since 1970: when the manifest was sent. */
  readonly sentMs: number;
  /** Times that it was received, this one included. */
  readonly receives: number;
  /**
   * Why the text that the message refers to cannot be read; then `text` is the message itself. `isGone`: the store answered that
   * there is no such object.
   */
  readonly unread?: { readonly reason: string; readonly isGone: boolean };
}

/** Manifests on their way from converters to the committer. Delivers at least once, in any order. */
export interface ManifestQueue {
  /** Resolves when the manifest is durable in the queue; large ones are sent by reference. */
  send(manifest: Manifest): Promise<void>;
  /** One long poll of at most `waitSeconds`: what there is, an empty array when nothing came. */
  receive(waitSeconds: number): Promise<ReceivedManifest[]>;
  /** Removes deliveries. Resolves when every one is removed; throws `RetryableError` otherwise. */
  acknowledge(deliveries: readonly ReceivedManifest[]): Promise<void>;
  /** Makes deliveries visible again at once, for the next run. What fails is visible later: never throws. */
  release(deliveries: readonly ReceivedManifest[]): Promise<void>;
  /** Puts the delivery's text aside with the reason, for a person, and removes it from the queue. */
  deadLetter(delivery: ReceivedManifest, reason: string): Promise<void>;
}
