import {
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  type ObjectVersion,
  type S3Client,
} from "@aws-sdk/client-s3";
import { isNotFound, translated } from "@deltacap/delta/aws";

/** An object version that may be a capture, as S3 describes it. */
export interface CaptureObject {
  readonly bucket: string;
  readonly key: string;
  /** Without quotes. */
  readonly eTag: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
  /** Absent for the newest version of a bucket that keeps none. */
  readonly versionId?: string;
  /** Whether it is what the key now gives. */
  readonly latest: boolean;
}

/** `s3://bucket/key`: the table's column `capture`. */
export function captureUri({ bucket, key }: Pick<CaptureObject, "bucket" | "key">): string {
  return `s3://${bucket}/${key}`;
}

/** Objects whose keys have this prefix, in byte order. One request lists a thousand. Throws `RetryableError` when S3 does not answer. */
export async function* listCaptureObjects(
  s3: S3Client,
  bucket: string,
  prefix: string,
): AsyncIterable<CaptureObject> {
  let token: string | undefined;
  do {
    let page: ListObjectsV2CommandOutput;
    try {
      page = await s3.send(
        new ListObjectsV2Command({
          Bucket: bucket,
          Prefix: prefix,
          ...(token === undefined ? {} : { ContinuationToken: token }),
        }),
      );
    } catch (error) {
      throw translated(error, `cannot list s3://${bucket}/${prefix}, which needs s3:ListBucket`);
    }
    for (const { Key = "", ETag = "", Size = 0, LastModified } of page.Contents ?? []) {
      yield { bucket, key: Key, ...described(ETag, Size, LastModified), latest: true };
    }
    token = page.IsTruncated ? page.NextContinuationToken : undefined;
  } while (token !== undefined);
}

/**
 * The key's versions, newest first; deleted ones that the bucket still keeps among them. Only the newest where versions may not be
 * listed (`s3:ListBucketVersions`). Empty when there is none. Throws `RetryableError` when S3 does not answer.
 */
export async function captureVersions(s3: S3Client, bucket: string, key: string): Promise<CaptureObject[]> {
  const versions: CaptureObject[] = [];
  let from: { KeyMarker?: string; VersionIdMarker?: string } | null = {};
  while (from !== null) {
    let page: ListObjectVersionsCommandOutput;
    try {
      page = await s3.send(new ListObjectVersionsCommand({ Bucket: bucket, Prefix: key, ...from }));
    } catch (error) {
      if (isDenied(error)) return await newestVersion(s3, bucket, key);
      throw translated(error, `cannot list the versions of s3://${bucket}/${key}`);
    }
    const listed = page.Versions ?? [];
    versions.push(
      ...listed.filter(({ Key }) => Key === key).map((version) => ofVersion(bucket, key, version)),
    );
    // Sorted by key: the key itself comes before all that begin with it.
    const beyond = page.NextKeyMarker !== key;
    from =
      page.IsTruncated && !beyond
        ? {
            KeyMarker: key,
            ...(page.NextVersionIdMarker ? { VersionIdMarker: page.NextVersionIdMarker } : {}),
          }
        : null;
  }
  return versions;
}

function ofVersion(bucket: string, key: string, version: ObjectVersion): CaptureObject {
  const { ETag = "", Size = 0, LastModified, VersionId = "null", IsLatest = false } = version;
  // The newest of a bucket that keeps no versions has this name, by which nobody needs to ask for it.
  const named = VersionId === "null" && IsLatest ? {} : { versionId: VersionId };
  return { bucket, key, ...described(ETag, Size, LastModified), ...named, latest: IsLatest };
}

/** The key's newest version alone, by one request; empty when there is none. Throws `RetryableError` when S3 does not answer. */
export async function newestVersion(s3: S3Client, bucket: string, key: string): Promise<CaptureObject[]> {
  try {
    const {
      ETag = "",
      ContentLength = 0,
      LastModified,
      VersionId,
    } = await s3.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
    const named = VersionId === undefined ? {} : { versionId: VersionId };
    return [{ bucket, key, ...described(ETag, ContentLength, LastModified), ...named, latest: true }];
  } catch (error) {
    if (isNotFound(error)) return [];
    throw translated(
      error,
      `cannot look at s3://${bucket}/${key}, which needs s3:GetObject and s3:ListBucket`,
    );
  }
}

function described(eTag: string, size: number, modified: Date | undefined) {
  return { eTag: eTag.replaceAll('"', ""), size, modifiedMs: modified?.getTime() ?? 0 };
}

function isDenied(error: unknown): boolean {
  return error instanceof Error && (error.name === "AccessDenied" || error.name === "NotImplemented");
}
