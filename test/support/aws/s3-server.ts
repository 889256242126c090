import { crc32 } from "node:zlib";
import { type Clock, systemClock } from "./clock.ts";
import type { Exchange, Service } from "./door.ts";
import type { Reply } from "./reply.ts";
import { type Bucket, S3Refusal, S3Storage, type StoredObject } from "./s3-storage.ts";

/** S3 over HTTP, path style, as far as the adapters use it. Honours every condition; anything unknown is refused loudly. */
export class S3Server implements Service {
  readonly storage: S3Storage;
  /** Keys a listing page; S3's own limit is 1,000. */
  pageSize = 1000;

  constructor(clock: Clock = systemClock) {
    this.storage = new S3Storage(clock);
  }

  describe(exchange: Exchange): { operation: string; subject: string } {
    return {
      operation: `s3:${operationOf(exchange)}`,
      subject: exchange.query.get("prefix") ?? keyOf(exchange),
    };
  }

  refusal(status: number, code: string): Reply {
    const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>injected</Message></Error>`;
    return { status, headers: { "content-type": "application/xml" }, body };
  }

  async handle(exchange: Exchange): Promise<Reply> {
    try {
      requireChecksum(exchange);
      return this.#perform(operationOf(exchange), exchange);
    } catch (error) {
      if (error instanceof S3Refusal) return this.refusal(error.status, error.code);
      throw error;
    }
  }

  #perform(operation: string, exchange: Exchange): Reply {
    const name = decodeURIComponent(exchange.path.split("/")[1] ?? "");
    if (operation === "CreateBucket") {
      this.storage.createBucket(name);
      return { status: 200 };
    }
    const bucket = this.storage.bucket(name);
    switch (operation) {
      case "HeadBucket":
        return { status: 200 };
      case "GetBucketVersioning":
        return xml(
          `<VersioningConfiguration>${bucket.versioned ? "<Status>Enabled</Status>" : ""}</VersioningConfiguration>`,
        );
      case "GetBucketEncryption":
        return xml(
          `<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>${bucket.encryption}</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>`,
        );
      case "GetBucketNotificationConfiguration":
        return xml(`<NotificationConfiguration>${bucket.notifications}</NotificationConfiguration>`);
      case "PutBucketVersioning":
        bucket.versioned = exchange.body.includes("<Status>Enabled</Status>");
        return { status: 200 };
      case "ListObjectsV2":
        return listObjects(bucket, exchange.query, this.pageSize);
      case "ListObjectVersions":
        return listVersions(bucket, exchange.query);
      case "PutObject":
        return putObject(bucket, exchange);
      case "UploadPartCopy":
        return this.#copyPart(bucket, exchange);
      case "GetObject":
      case "HeadObject":
        return getObject(bucket, exchange);
      case "DeleteObject":
        return deleteObject(bucket, exchange);
      case "DeleteObjects":
        return deleteObjects(bucket, exchange);
      default:
        return multipart(operation, bucket, exchange);
    }
  }

  /** delta-rs copies its temporary file so, since a plain copy has no `If-None-Match`. */
  #copyPart(bucket: Bucket, exchange: Exchange): Reply {
    const from = decodeURIComponent(exchange.headers["x-amz-copy-source"] ?? "").replace(/^\//, "");
    const slash = from.indexOf("/");
    const source = this.storage.bucket(from.slice(0, slash)).current(from.slice(slash + 1));
    if (source === null) throw new S3Refusal(404, "NoSuchKey", from);
    const number = Number(exchange.query.get("partNumber"));
    const eTag = bucket.putPart(exchange.query.get("uploadId") ?? "", number, source.body);
    const modified = new Date(source.modifiedMs).toISOString();
    return xml(
      `<CopyPartResult><LastModified>${modified}</LastModified><ETag>${escaped(eTag)}</ETag></CopyPartResult>`,
    );
  }
}

function operationOf({ method, path, query, headers }: Exchange): string {
  const object = path.split("/").slice(2).join("/") !== "";
  if (!object) {
    if (method === "PUT") return query.has("versioning") ? "PutBucketVersioning" : "CreateBucket";
    if (method === "HEAD") return "HeadBucket";
    if (method === "GET" && query.get("list-type") === "2") return "ListObjectsV2";
    if (method === "GET" && query.has("versions")) return "ListObjectVersions";
    if (method === "GET" && query.has("versioning")) return "GetBucketVersioning";
    if (method === "GET" && query.has("encryption")) return "GetBucketEncryption";
    if (method === "GET" && query.has("notification")) return "GetBucketNotificationConfiguration";
    if (method === "POST" && query.has("delete")) return "DeleteObjects";
  } else if (query.has("uploads") && method === "POST") return "CreateMultipartUpload";
  else if (query.has("uploadId")) {
    if (method === "PUT" && headers["x-amz-copy-source"] !== undefined) return "UploadPartCopy";
    const byMethod = { PUT: "UploadPart", POST: "CompleteMultipartUpload", DELETE: "AbortMultipartUpload" };
    if (method in byMethod) return byMethod[method as keyof typeof byMethod];
  } else {
    const byMethod = { PUT: "PutObject", GET: "GetObject", HEAD: "HeadObject", DELETE: "DeleteObject" };
    if (method in byMethod) return byMethod[method as keyof typeof byMethod];
  }
  throw new Error(`the test's S3 does not know ${method} ${path}?${query}`);
}

function keyOf(exchange: Exchange): string {
  return decodeURIComponent(exchange.path.split("/").slice(2).join("/"));
}

/** What the SDK says about the body must be true, as S3 itself checks. */
function requireChecksum({ headers, body }: Exchange): void {
  if (headers["content-encoding"]?.includes("aws-chunked")) throw new S3Refusal(501, "NotImplemented");
  const sent = headers["x-amz-checksum-crc32"];
  if (sent === undefined) return;
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  if (sum.toString("base64") !== sent) throw new S3Refusal(400, "BadDigest");
}

function metadataOf(exchange: Exchange): Record<string, string> {
  return Object.fromEntries(
    Object.entries(exchange.headers).filter(([name]) => name.startsWith("x-amz-meta-")),
  );
}

function conditionsOf({ headers }: Exchange) {
  return { ifNoneMatch: headers["if-none-match"], ifMatch: headers["if-match"] };
}

function putObject(bucket: Bucket, exchange: Exchange): Reply {
  const object = bucket.put(keyOf(exchange), exchange.body, metadataOf(exchange), conditionsOf(exchange));
  return { status: 200, headers: { etag: object.eTag, ...versionOf(object) } };
}

function getObject(bucket: Bucket, exchange: Exchange): Reply {
  const { query, headers, method } = exchange;
  const versionId = query.get("versionId");
  const key = keyOf(exchange);
  const object = versionId === null ? bucket.current(key) : bucket.version(key, versionId);
  if (object === null) throw new S3Refusal(404, "NoSuchKey", key);
  const ifMatch = headers["if-match"];
  if (ifMatch !== undefined && ifMatch.replaceAll('"', "") !== object.eTag.replaceAll('"', "")) {
    throw new S3Refusal(412, "PreconditionFailed", key);
  }
  const described = describeObject(object);
  if (method === "HEAD") return { status: 200, headers: described, contentLength: object.body.length };
  const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "");
  if (range === null) return { status: 200, headers: described, body: object.body };
  const start = Number(range[1]);
  const end = Math.min(range[2] === "" ? Infinity : Number(range[2]), object.body.length - 1);
  if (start > end) throw new S3Refusal(416, "InvalidRange", key);
  const contentRange = `bytes ${start}-${end}/${object.body.length}`;
  return {
    status: 206,
    headers: { ...described, "content-range": contentRange },
    body: object.body.subarray(start, end + 1),
  };
}

function describeObject(object: StoredObject): Record<string, string> {
  return {
    ...object.metadata,
    etag: object.eTag,
    "last-modified": new Date(object.modifiedMs).toUTCString(),
    ...versionOf(object),
    "content-type": "binary/octet-stream",
  };
}

/** Buckets without versions say nothing of them. */
function versionOf({ versionId }: StoredObject): Record<string, string> {
  return versionId === "null" ? {} : { "x-amz-version-id": versionId };
}

function listObjects(bucket: Bucket, query: URLSearchParams, pageSize: number): Reply {
  const prefix = query.get("prefix") ?? "";
  // The token of the test's server is the last key given out.
  const after = Buffer.from(query.get("continuation-token") ?? query.get("start-after") ?? "");
  const limit = Math.min(Number(query.get("max-keys") ?? "1000"), pageSize);
  const keys = bucket
    .keys()
    .filter((key) => key.startsWith(prefix) && Buffer.compare(Buffer.from(key), after) > 0);
  const page = keys.slice(0, limit);
  const contents = page.map((key) => {
    const object = bucket.current(key)!;
    const modified = new Date(object.modifiedMs).toISOString();
    return `<Contents><Key>${escaped(key)}</Key><LastModified>${modified}</LastModified><ETag>${escaped(object.eTag)}</ETag><Size>${object.body.length}</Size><StorageClass>STANDARD</StorageClass></Contents>`;
  });
  const truncated = keys.length > page.length;
  const next = truncated ? `<NextContinuationToken>${escaped(page.at(-1)!)}</NextContinuationToken>` : "";
  return xml(
    `<ListBucketResult><Prefix>${escaped(prefix)}</Prefix><KeyCount>${page.length}</KeyCount><MaxKeys>${limit}</MaxKeys><IsTruncated>${truncated}</IsTruncated>${next}${contents.join("")}</ListBucketResult>`,
  );
}

/** All on one page. Delete markers are left out: nobody asks for them. */
function listVersions(bucket: Bucket, query: URLSearchParams): Reply {
  const versions = bucket.versionsOf(query.get("prefix") ?? "").map(({ object, latest }) => {
    const modified = new Date(object.modifiedMs).toISOString();
    return `<Version><Key>${escaped(object.key)}</Key><VersionId>${object.versionId}</VersionId><IsLatest>${latest}</IsLatest><LastModified>${modified}</LastModified><ETag>${escaped(object.eTag)}</ETag><Size>${object.body.length}</Size></Version>`;
  });
  return xml(`<ListVersionsResult><IsTruncated>false</IsTruncated>${versions.join("")}</ListVersionsResult>`);
}

function deleteObject(bucket: Bucket, exchange: Exchange): Reply {
  const key = keyOf(exchange);
  const versionId = exchange.query.get("versionId");
  const { ifMatch } = conditionsOf(exchange);
  if (ifMatch !== undefined) {
    const current = bucket.current(key);
    if (current === null) throw new S3Refusal(404, "NoSuchKey", key);
    if (current.eTag.replaceAll('"', "") !== ifMatch.replaceAll('"', "")) {
      throw new S3Refusal(412, "PreconditionFailed", key);
    }
  }
  if (versionId === null) bucket.remove(key);
  else bucket.removeVersion(key, versionId);
  return { status: 204 };
}

function deleteObjects(bucket: Bucket, exchange: Exchange): Reply {
  const keys = [...exchange.body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map((m) => unescaped(m[1]!));
  if (keys.length > 1000) throw new S3Refusal(400, "MalformedXML");
  for (const key of keys) bucket.remove(key);
  return xml(`<DeleteResult></DeleteResult>`);
}

function multipart(operation: string, bucket: Bucket, exchange: Exchange): Reply {
  const id = exchange.query.get("uploadId") ?? "";
  const key = keyOf(exchange);
  if (operation === "CreateMultipartUpload") {
    const uploadId = bucket.startUpload(key, metadataOf(exchange));
    return xml(
      `<InitiateMultipartUploadResult><Key>${escaped(key)}</Key><UploadId>${uploadId}</UploadId></InitiateMultipartUploadResult>`,
    );
  }
  if (operation === "UploadPart") {
    const eTag = bucket.putPart(id, Number(exchange.query.get("partNumber")), exchange.body);
    return { status: 200, headers: { etag: eTag } };
  }
  if (operation === "AbortMultipartUpload") {
    bucket.abortUpload(id);
    return { status: 204 };
  }
  const parts = [...exchange.body.toString().matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part]) => ({
    number: Number(/<PartNumber>(\d+)</.exec(part!)?.[1]),
    eTag: unescaped(/<ETag>([^<]*)</.exec(part!)?.[1] ?? ""),
  }));
  const object = bucket.completeUpload(id, parts, conditionsOf(exchange));
  return xml(
    `<CompleteMultipartUploadResult><Bucket>${escaped(exchange.path.split("/")[1] ?? "")}</Bucket><Key>${escaped(key)}</Key><ETag>${escaped(object.eTag)}</ETag></CompleteMultipartUploadResult>`,
  );
}

function xml(body: string): Reply {
  return {
    status: 200,
    headers: { "content-type": "application/xml" },
    body: `<?xml version="1.0" encoding="UTF-8"?>${body}`,
  };
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function unescaped(text: string): string {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&");
}
