/** One capture as an upload event, or a walk over folders, names it. */
export interface CaptureSource {
  /** `s3://bucket/key` with the raw key, or a `file://` URL: the table's column `capture`. */
  readonly capture: string;
  /** S3 bucket; "" locally. */
  readonly bucket: string;
  /** Raw (decoded) object key; locally the file URL. */
  readonly key: string;
  /** S3 version, where the bucket keeps versions. */
  readonly versionId?: string;
  /** The object's eTag without quotes; locally the content's SHA-256 in hex. */
  readonly eTag: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970: when the upload was announced, where that is known. */
  readonly uploadedMs?: number;
  /** True where it was announced because it was restored from an archive: it may have been uploaded long ago. */
  readonly restored?: boolean;
  /** From the key by the key pattern; null where it does not match. */
  readonly vehicleId: string | null;
}

/** Where captures are read from. */
export interface CaptureStore {
  /**
   * The object's bytes in order, in chunks of any size, exactly `size` of them. A chunk is the caller's until the next
   * one is asked for. Iteration throws `GoneError` when the object was deleted, `SupersededError` when it was replaced, and
   * `RetryableError` when reading failed after the adapter's own attempts. The first two are final, so an adapter throws them only
   * after a second, independent reading has confirmed them.
   */
  open(source: CaptureSource): AsyncIterable<Uint8Array>;
  /**
   * The content's SHA-256 (lower-case hex) where the store keeps one of the whole object; null where it does not, or no longer has
   * that version. Cost: one request, and no read of the content.
   */
  contentSha256?(source: CaptureSource): Promise<string | null>;
  /** True while the very object version is still there. False only after a second reading has confirmed it. */
  exists(source: Pick<CaptureSource, "bucket" | "key" | "eTag" | "versionId">): Promise<boolean>;
}
