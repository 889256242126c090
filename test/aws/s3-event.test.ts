import { describe, expect, test } from "vitest";
import { parseCaptureMessage } from "../../src/aws/s3-event.ts";
import { KeyPattern } from "../../src/ingest/key-pattern.ts";
import { Random } from "../support/random.ts";

const rules = {
  buckets: new Set(["captures", "lake"]),
  table: { bucket: "lake", prefix: "tables/packets" },
  keyPattern: new KeyPattern("{vehicle_id}/**"),
};
const ETAG = "d41d8cd98f00b204e9800998ecf8427e";

/** A record as S3 sends it, with changes. */
function record(object: Record<string, unknown> = {}, changes: Record<string, unknown> = {}) {
  return {
    eventVersion: "2.1",
    eventSource: "aws:s3",
    awsRegion: "eu-central-1",
    eventTime: "2026-01-02T03:04:05.678Z",
    eventName: "ObjectCreated:Put",
    userIdentity: { principalId: "AWS:AROA" },
    requestParameters: { sourceIPAddress: "10.0.0.1" },
    responseElements: { "x-amz-request-id": "D82B88E5F771F645" },
    s3: {
      s3SchemaVersion: "1.0",
      configurationId: "captures",
      bucket: {
        name: "captures",
        ownerIdentity: { principalId: "A3NL1KOZZKExample" },
        arn: "arn:aws:s3:::captures",
      },
      object: { key: "car-1/a.pcap", size: 1024, eTag: ETAG, sequencer: "0055AED6DCD90281E5", ...object },
    },
    ...changes,
  };
}

function eventBridge(object: Record<string, unknown> = {}, changes: Record<string, unknown> = {}) {
  return {
    version: "0",
    id: "17793124-05d4-b198-2fde-7ededc63b103",
    "detail-type": "Object Created",
    source: "aws.s3",
    account: "111122223333",
    time: "2026-01-02T03:04:05Z",
    region: "eu-central-1",
    resources: ["arn:aws:s3:::captures"],
    detail: {
      version: "0",
      bucket: { name: "captures" },
      object: { key: "car-1/a.pcap", size: 1024, etag: ETAG, sequencer: "00617F08299329D189", ...object },
      "request-id": "N4N7GDK58NMKJ12R",
      requester: "123456789012",
      reason: "PutObject",
    },
    ...changes,
  };
}

const parse = (message: unknown) => parseCaptureMessage(JSON.stringify(message), rules);
const s3 = (...records: unknown[]) => parse({ Records: records });
const sns = (message: unknown) => ({
  Type: "Notification",
  MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
  TopicArn: "arn:aws:sns:eu-central-1:123456789012:captures",
  Subject: "Amazon S3 Notification",
  Message: JSON.stringify(message),
  Timestamp: "2026-01-02T03:04:05.678Z",
  SignatureVersion: "1",
});

const source = {
  capture: "s3://captures/car-1/a.pcap",
  bucket: "captures",
  key: "car-1/a.pcap",
  eTag: ETAG,
  size: 1024,
  uploadedMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  vehicleId: "car-1",
};
/** EventBridge tells no fractions of a second. */
const throughEventBridge = { ...source, uploadedMs: Date.UTC(2026, 0, 2, 3, 4, 5) };
const only = { sources: [source], ignored: [], refused: [] };

describe("what S3 announces", () => {
  test("directly", () => {
    expect(s3(record())).toEqual(only);
  });

  test("through SNS", () => {
    expect(parse(sns({ Records: [record()] }))).toEqual(only);
  });

  test("through EventBridge, also behind SNS", () => {
    const expected = { ...only, sources: [throughEventBridge] };
    expect(parse(eventBridge())).toEqual(expected);
    expect(parse(sns(eventBridge()))).toEqual(expected);
  });

  test.each([undefined, null, 5, "yesterday", "1960-01-01T00:00:00Z"])(
    "at %s has no time of upload",
    (eventTime) => {
      const { uploadedMs: _, ...timeless } = source;
      expect(s3(record({}, { eventTime }))).toEqual({ ...only, sources: [timeless] });
    },
  );

  test.each(["2.0", "2.1", "2.2", "2.3", "2.10"])("in event version %s", (eventVersion) => {
    expect(s3(record({}, { eventVersion }))).toEqual(only);
  });

  test.each([
    "ObjectCreated:Put",
    "ObjectCreated:Post",
    "ObjectCreated:Copy",
    "ObjectCreated:CompleteMultipartUpload",
    "s3:ObjectCreated:Put",
  ])("as %s", (eventName) => {
    expect(s3(record({}, { eventName }))).toEqual(only);
  });

  test("of an object that was restored from an archive, without a time of upload", () => {
    const { uploadedMs: _, ...timeless } = source;
    const expected = { ...only, sources: [{ ...timeless, restored: true }] };
    expect(s3(record({}, { eventName: "ObjectRestore:Completed" }))).toEqual(expected);
    expect(s3(record({}, { eventName: "s3:ObjectRestore:Completed" }))).toEqual(expected);
    expect(parse(eventBridge({}, { "detail-type": "Object Restore Completed" }))).toEqual(expected);
  });

  test("with its version, where the bucket keeps versions", () => {
    const versionId = "3HL4kqtJlcpXroDTDmjVBH40Nrjfkd";
    expect(s3(record({ versionId })).sources).toEqual([{ ...source, versionId }]);
    expect(parse(eventBridge({ "version-id": versionId })).sources).toEqual([
      { ...throughEventBridge, versionId },
    ]);
    expect(s3(record({ versionId: "" }))).toEqual(only);
  });

  test("with an eTag in quotes, or of parts", () => {
    expect(s3(record({ eTag: `"${ETAG}"` }))).toEqual(only);
    expect(s3(record({ eTag: `${ETAG}-12` })).sources[0]?.eTag).toBe(`${ETAG}-12`);
  });

  test("every record of a message, each judged for itself", () => {
    const result = s3(
      record(),
      record({ key: "car-2/b.pcap" }),
      record({}, { eventName: "ObjectRemoved:Delete" }),
      null,
      5,
      record({ size: -1 }),
    );
    expect(result.sources.map(({ key }) => key)).toEqual(["car-1/a.pcap", "car-2/b.pcap"]);
    expect(result.ignored).toHaveLength(1);
    expect(result.refused).toHaveLength(3);
  });

  test("an empty capture: the converter says so", () => {
    expect(s3(record({ size: 0 })).sources[0]?.size).toBe(0);
  });

  test("a key that the pattern does not match has no vehicle", () => {
    const keyPattern = new KeyPattern("raw/{vehicle_id}/**");
    const body = JSON.stringify({ Records: [record()] });
    expect(parseCaptureMessage(body, { ...rules, keyPattern }).sources).toEqual([
      { ...source, vehicleId: null },
    ]);
  });
});

describe("keys are decoded once", () => {
  test.each([
    ["car/a+b.pcap", "car/a b.pcap"],
    ["car/a%2Bb.pcap", "car/a+b.pcap"],
    ["car/a%252Bb.pcap", "car/a%2Bb.pcap"],
    ["car/100%25+done.pcap", "car/100% done.pcap"],
    ["car%2Fa.pcap", "car/a.pcap"],
    ["car/%C3%BC%F0%9F%98%80", "car/ü\u{1f600}"],
    ["car/üäö", "car/üäö"],
    ["car/a%00b", "car/a\u0000b"],
    ["car/..%2F..%2Fa", "car/../../a"],
    ["car//a", "car//a"],
  ])("%s is %j", (encoded, key) => {
    const [decoded] = s3(record({ key: encoded })).sources;
    expect(decoded?.key).toBe(key);
    expect(decoded?.capture).toBe(`s3://captures/${key}`);
  });

  test.each(["a+b%20c%2Fd", "%", "%C3"])("EventBridge's key %j is left as it is", (key) => {
    expect(parse(eventBridge({ key })).sources[0]?.key).toBe(key);
  });

  test.each(["%", "%C3", "%C3%28", "%E0%80%80", "%F5%80%80%80", "%ED%A0%80", "a%2", "a%GG"])(
    "%s is no key that S3 sends",
    (key) => {
      expect(s3(record({ key }))).toMatchObject({ sources: [], refused: [expect.stringContaining("key")] });
    },
  );

  test("a key has at most 1024 bytes of UTF-8", () => {
    expect(s3(record({ key: "ü".repeat(512) })).sources).toHaveLength(1);
    expect(s3(record({ key: `${"ü".repeat(512)}a` })).refused).toHaveLength(1);
    expect(s3(record({ key: "" })).refused).toHaveLength(1);
    expect(parse(eventBridge({ key: "a\uD800b" })).refused).toHaveLength(1);
  });
});

describe("what needs no work is ignored", () => {
  test.each([
    [
      "S3's test event",
      {
        Service: "Amazon S3",
        Event: "s3:TestEvent",
        Time: "2026-01-02T03:04:05.678Z",
        Bucket: "captures",
        RequestId: "5582815E1AEA5ADF",
        HostId: "8cLeGAmw098X5cv4Zkwcmo8vvZa3eH3eKxsPzbB9wrR",
      },
    ],
    ["a subscription", { Type: "SubscriptionConfirmation", SubscribeURL: "https://example.com" }],
    ["a deletion", { Records: [record({}, { eventName: "ObjectRemoved:DeleteMarkerCreated" })] }],
    ["an expiry", { Records: [record({}, { eventName: "LifecycleExpiration:Delete" })] }],
    ["a restore that begins", { Records: [record({}, { eventName: "ObjectRestore:Post" })] }],
    ["a restored copy that expires", { Records: [record({}, { eventName: "ObjectRestore:Delete" })] }],
    [
      "a restore that begins, through EventBridge",
      eventBridge({}, { "detail-type": "Object Restore Initiated" }),
    ],
    ["a deletion through EventBridge", eventBridge({}, { "detail-type": "Object Deleted" })],
    ["a folder marker", { Records: [record({ key: "car-1/", size: 0 })] }],
    ["Hadoop's folder marker", { Records: [record({ key: "car-1_%24folder%24", size: 0 })] }],
  ])("%s", (_, message) => {
    expect(parse(message)).toMatchObject({ sources: [], refused: [] });
    expect(parse(message).ignored).toHaveLength(1);
    expect(parse(sns(message)).ignored).toHaveLength(1);
  });

  test("a key with a slash at its end that holds bytes is a capture", () => {
    expect(s3(record({ key: "car-1/", size: 1 })).sources).toHaveLength(1);
  });

  test("the table's own folder, and nothing that only looks like it", () => {
    const inLake = (key: string, name = "lake") => {
      const base = record({ key });
      return s3({ ...base, s3: { ...base.s3, bucket: { name } } });
    };
    expect(inLake("tables/packets/date=2026-01-02/a.parquet").ignored).toHaveLength(1);
    expect(inLake("tables/packets/_delta_log/00000000000000000000.json").ignored).toHaveLength(1);
    expect(inLake("tables%2Fpackets%2Fa").ignored).toHaveLength(1);
    expect(inLake("tables/packets2/a.pcap").sources).toHaveLength(1);
    expect(inLake("tables/packets").sources).toHaveLength(1);
    expect(inLake("tables/packets/a.pcap", "captures").sources).toHaveLength(1);
  });
});

describe("what makes no sense is refused, with the reason", () => {
  test.each([
    [
      "a bucket that is not configured",
      { Records: [{ ...record(), s3: { bucket: { name: "evil" }, object: record().s3.object } }] },
      '"evil"',
    ],
    [
      "a bucket named like a property of every object",
      { Records: [{ ...record(), s3: { bucket: { name: "__proto__" }, object: record().s3.object } }] },
      "__proto__",
    ],
    ["no bucket", { Records: [{ ...record(), s3: { object: record().s3.object } }] }, "missing"],
    ["event version 3", { Records: [record({}, { eventVersion: "3.0" })] }, '"3.0"'],
    ["event version 2 without a part", { Records: [record({}, { eventVersion: "2" })] }, '"2"'],
    ["event version as a number", { Records: [record({}, { eventVersion: 2.1 })] }, '"2.1"'],
    ["another service", { Records: [record({}, { eventSource: "aws:ses" })] }, "aws:ses"],
    ["another service's event", eventBridge({}, { source: "aws.ec2" }), "aws.ec2"],
    ["no key", { Records: [record({ key: undefined })] }, "key"],
    ["a key that is no text", { Records: [record({ key: ["a"] })] }, "key"],
    ["no size", { Records: [record({ size: undefined })] }, "size"],
    ["a negative size", { Records: [record({ size: -1 })] }, "-1"],
    ["a broken size", { Records: [record({ size: 1.5 })] }, "1.5"],
    ["a size beyond exact numbers", { Records: [record({ size: 2 ** 53 })] }, "size"],
    ["a size as text", { Records: [record({ size: "1024" })] }, "size"],
    ["no eTag", { Records: [record({ eTag: undefined })] }, "eTag"],
    ["an empty eTag", { Records: [record({ eTag: "" })] }, "eTag"],
    ["an eTag that would end its header", { Records: [record({ eTag: 'a"\r\nx-evil: 1' })] }, "eTag"],
    ["a version that would end its line", { Records: [record({ versionId: "a\r\nb" })] }, "version"],
    ["a version that is no text", { Records: [record({ versionId: 7 })] }, "version"],
    ["no records", { Records: [] }, "no records"],
    ["records that are no list", { Records: { 0: record() } }, "no event"],
    ["an object without any of them", {}, "no event"],
    ["a list", [record()], "no JSON object"],
    ["null", null, "no JSON object"],
    ["a text", "s3:TestEvent", "no JSON object"],
    [
      "an SNS message that is no text",
      { Type: "Notification", Message: { Records: [record()] } },
      "no event",
    ],
    ["SNS within SNS", sns(sns({ Records: [record()] })), "no event"],
    ["a detail that is missing", { "detail-type": "Object Created", source: "aws.s3" }, "missing"],
    ["an s3 that is null", { Records: [{ ...record(), s3: null }] }, "key"],
  ])("%s", (_, message, reason) => {
    const result = parse(message);
    expect(result.sources).toEqual([]);
    expect(result.ignored).toEqual([]);
    expect(result.refused).toEqual([expect.stringContaining(reason)]);
  });

  test.each([
    ["", ""],
    ["no JSON", "hello"],
    ["half of it", '{"Records":['],
    ["bytes", "\u0000\uFFFD"],
  ])("%j", (_, body) => {
    expect(parseCaptureMessage(body, rules).refused).toHaveLength(1);
  });

  test("a property of every object's prototype is no event", () => {
    expect(parseCaptureMessage('{"__proto__":{"Records":[]},"constructor":1}', rules).refused).toHaveLength(
      1,
    );
  });

  test("a reason is short, whatever the message holds", () => {
    const long = "x".repeat(500_000);
    for (const message of [
      long,
      { Records: [record({ key: long })] },
      { Records: [record({ eTag: long })] },
      { Records: [record({}, { eventVersion: long })] },
      { a: long },
    ]) {
      const { refused } = parse(message);
      expect(refused[0]?.length).toBeLessThan(1_500);
    }
  });

  test("lists and envelopes nested a hundred thousand deep end in a reason", () => {
    const depth = 100_000;
    expect(parseCaptureMessage("[".repeat(depth) + "]".repeat(depth), rules).refused).toHaveLength(1);
    const nested = `{"Records":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    expect(parseCaptureMessage(nested, rules).refused.length).toBeGreaterThan(0);
  });
});

test("of ten thousand damaged messages each is judged, none throws", () => {
  const random = new Random(20_260_102);
  const whole = JSON.stringify(sns({ Records: [record(), record({ key: "car/%C3%BC+a" })] }));
  for (let i = 0; i < 10_000; i++) {
    const damaged = [...whole];
    for (let n = random.between(1, 4); n > 0; n--) {
      damaged[random.below(damaged.length)] = random.pick([
        '"',
        "{",
        "}",
        "[",
        "\\",
        "%",
        "0",
        "-",
        "\u0000",
        "\uD800",
        "",
      ]);
    }
    const { sources, ignored, refused } = parseCaptureMessage(damaged.join(""), rules);
    expect(
      sources.length + ignored.length + refused.length,
      `seed ${random.seed}, message ${i}`,
    ).toBeGreaterThan(0);
    for (const { bucket, size } of sources) {
      expect(rules.buckets.has(bucket)).toBe(true);
      expect(Number.isSafeInteger(size)).toBe(true);
    }
  }
});
