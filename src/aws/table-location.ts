/** Where a table lies, as S3 and as the log store see it. */
export interface TableLocation {
  readonly bucket: string;
  /** Without slashes at its ends; never empty. */
  readonly prefix: string;
  /** Key of the log store's items: the table's URI exactly as Spark's `Path` writes it. */
  readonly tablePath: string;
}

/** Schemes by which Spark is given tables on S3. The scheme is part of the log store's key. */
export type TableScheme = "s3a" | "s3";

/**
 * Reads `s3://bucket/path` or `s3a://bucket/path`. `scheme` is the one that Spark uses for the table: two writers that use
 * different ones do not exclude each other. Throws an error for what Spark would write otherwise than it was given:
 * Hadoop's `Path` resolves empty, `.` and `..` segments, and keeps a slash at a bucket's root.
 */
export function tableLocation(uri: string, scheme: TableScheme = "s3a"): TableLocation {
  const match = /^s3a?:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(\/.*)?$/s.exec(uri);
  if (match === null) throw new Error(`"${uri}" is no table's URI: s3://bucket/folder is expected`);
  const bucket = match[1] ?? "";
  const prefix = (match[2] ?? "").slice(1).replace(/\/$/, "");
  if (prefix === "") {
    throw new Error(
      `the table "${uri}" would lie at the bucket's root: give it a folder, s3://${bucket}/folder`,
    );
  }
  if (prefix.split("/").some((segment) => segment === "" || segment === "." || segment === "..")) {
    throw new Error(
      `the table "${uri}" has an empty, "." or ".." segment, which Spark would resolve: leave it out`,
    );
  }
  return { bucket, prefix, tablePath: `${scheme}://${bucket}/${prefix}` };
}
