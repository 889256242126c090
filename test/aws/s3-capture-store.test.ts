import { createHash } from "node:crypto";
import { RetryableError } from "@deltacap/delta";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { S3CaptureStore } from "../../src/aws/s3-capture-store.ts";
import { GoneError, SupersededError } from "../../src/errors.ts";
import type { CaptureSource } from "../../src/manifest/capture-store.ts";
import { Cloud } from "../support/aws/cloud.ts";
import type { Effect, Faults } from "../support/aws/faults.ts";
import type { Reply } from "../support/aws/reply.ts";
import type { Bucket } from "../support/aws/s3-storage.ts";

const BODY = Uint8Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 9)) & 0xff);

let cloud: Cloud;
let bucket: Bucket;
let captures: S3CaptureStore;
let faults: Faults;
beforeAll(async () => {
  cloud = await Cloud.start();
});
afterAll(async () => await cloud.close());
let buckets = 0;
beforeEach(async () => {
  cloud.everybodyOut();
  bucket = cloud.s3.storage.createBucket(`captures-${++buckets}`);
  const visitor = await cloud.enter();
  faults = visitor.faults;
  captures = new S3CaptureStore(visitor.clients.s3, { idleTimeout: 50 });
});

function upload(body: Uint8Array = BODY, key = "car/a b+ü%20.pcap"): CaptureSource {
  const { eTag, versionId } = bucket.put(key, body, {});
  const name = `captures-${buckets}`;
  return {
    capture: `s3://${name}/${key}`,
    bucket: name,
    key,
    ...(versionId === "null" ? {} : { versionId }),
    eTag: eTag.replaceAll('"', ""),
    size: body.length,
    vehicleId: "car",
  };
}

async function read(source: CaptureSource): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of captures.open(source)) chunks.push(chunk.slice());
  return Buffer.concat(chunks);
}

describe("a capture is read whole", () => {
  test("in one request", async () => {
    expect(Buffer.compare(await read(upload()), BODY)).toBe(0);
    expect(faults.counts()).toEqual({ "s3:GetObject": 1 });
  });

  test("an empty one has no bytes", async () => {
    expect(await read(upload(new Uint8Array()))).toHaveLength(0);
  });

  test("over connections that break, each taken up where it broke", async () => {
    for (const bytes of [100_000, 1, 0]) {
      faults.plan({ operation: "s3:GetObject", effect: { kind: "cut", bytes } });
    }
    expect(Buffer.compare(await read(upload()), BODY)).toBe(0);
    expect(faults.count("s3:GetObject")).toBe(4);
  });

  // Below the client's own time-out of 20 s.
  test("over a connection that falls silent", { timeout: 15_000 }, async () => {
    faults.plan({ operation: "s3:GetObject", effect: { kind: "stall", bytes: 1_000 } });
    expect(Buffer.compare(await read(upload()), BODY)).toBe(0);
  });

  test("a slow reader is no silent connection", async () => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of captures.open(upload())) {
      chunks.push(chunk.slice());
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(Buffer.compare(Buffer.concat(chunks), BODY)).toBe(0);
    expect(faults.count("s3:GetObject")).toBe(1);
  });

  test("a connection that never brings a byte is an error after a few attempts", async () => {
    faults.plan({ operation: "s3:GetObject", times: 99, effect: { kind: "cut", bytes: 0 } });
    await expect(read(upload())).rejects.toThrow(RetryableError);
    expect(faults.count("s3:GetObject")).toBe(4);
  });

  test("a reader that stops early closes the connection", async () => {
    for await (const chunk of captures.open(upload())) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    expect(Buffer.compare(await read(upload()), BODY)).toBe(0);
  });
});

describe("only the very version that was announced is read", () => {
  test("a deleted capture is gone, and the error names both readings", async () => {
    const source = upload();
    bucket.remove(source.key);
    const reading = read(source);
    await expect(reading).rejects.toThrow(GoneError);
    await expect(reading).rejects.toThrow("GET found nothing (HTTP 404), and HEAD found nothing either");
  });

  test("a replaced capture is superseded, and the error names both readings", async () => {
    const source = upload();
    const newer = upload(BODY.slice(1));
    const reading = read(source);
    await expect(reading).rejects.toThrow(SupersededError);
    await expect(reading).rejects.toThrow(
      `GET found another eTag than ${source.eTag} (HTTP 412), and HEAD found eTag ${newer.eTag} with 299999 bytes`,
    );
  });

  test("a deleted version is superseded where its key has a newer one, else gone", async () => {
    bucket.versioned = true;
    const source = upload();
    bucket.removeVersion(source.key, source.versionId ?? "");
    await expect(read(source)).rejects.toThrow(GoneError);
    upload(BODY.slice(1));
    await expect(read(source)).rejects.toThrow(SupersededError);
  });

  test("replaced between two ranges: superseded, no byte of the new one is read", async () => {
    const source = upload();
    faults.plan(
      { operation: "s3:GetObject", effect: { kind: "cut", bytes: 1_000 } },
      {
        operation: "s3:GetObject",
        effect: { kind: "meanwhile", run: async () => void upload(BODY.slice().reverse()) },
      },
    );
    const chunks: Uint8Array[] = [];
    const reading = (async () => {
      for await (const chunk of captures.open(source)) chunks.push(chunk.slice());
    })();
    await expect(reading).rejects.toThrow(SupersededError);
    expect(Buffer.concat(chunks)).toEqual(Buffer.from(BODY.slice(0, 1_000)));
  });

  test("replaced in a bucket that keeps versions: the announced one is still read", async () => {
    bucket.versioned = true;
    const source = upload();
    upload(BODY.slice(5));
    bucket.remove(source.key);
    expect(source.versionId).toBe("v1");
    expect(Buffer.compare(await read(source), BODY)).toBe(0);
  });

  test("another length than announced under the same eTag: not one byte is handed out, and the message comes again", async () => {
    const source = upload();
    for (const size of [BODY.length - 1, BODY.length + 1, 0]) {
      const chunks: Uint8Array[] = [];
      const reading = (async () => {
        for await (const chunk of captures.open({ ...source, size })) chunks.push(chunk);
      })();
      await expect(reading).rejects.toThrow(RetryableError);
      await expect(reading).rejects.toThrow(`HEAD found eTag ${source.eTag} with 300000 bytes`);
      expect(chunks).toEqual([]);
    }
  });

  test("missing permissions, a missing bucket and errors are no reason to forget a capture", async () => {
    const source = upload();
    for (const [status, code] of [
      [403, "AccessDenied"],
      [404, "NoSuchBucket"],
      [500, "InternalError"],
      [403, "InvalidObjectState"],
    ] as const) {
      faults.plan({ operation: "s3:GetObject", times: 5, effect: { kind: "refuse", status, code } });
      await expect(read(source)).rejects.toThrow(RetryableError);
      faults.forget();
    }
  });
});

/** Replies that speak against a capture which is there, whole. */
const wrongReplies: readonly (readonly [string, Effect])[] = [
  ["says 404", { kind: "refuse", status: 404, code: "NoSuchKey" }],
  ["says 404 of the version", { kind: "refuse", status: 404, code: "NoSuchVersion" }],
  ["says 412", { kind: "refuse", status: 412, code: "PreconditionFailed" }],
  ["has a shorter Content-Length, and fewer bytes", altered((body) => ({ body: body.subarray(0, -7) }))],
  ["has a shorter Content-Length", altered((body) => ({ contentLength: body.length - 1 }))],
  ["has a longer Content-Length", altered((body) => ({ contentLength: body.length + 1 }))],
  ["is empty", altered(() => ({ body: "" }))],
];

function altered(change: (body: Buffer) => Partial<Reply>): Effect {
  return { kind: "alter", alter: (reply) => ({ ...reply, ...change(Buffer.from(reply.body ?? "")) }) };
}

describe("one wrong reply does not end a capture's life", () => {
  describe.each([
    ["of a bucket without versions", false],
    ["of a bucket with versions", true],
  ])("%s", (_, versioned) => {
    beforeEach(() => {
      bucket.versioned = versioned;
    });

    test.each(wrongReplies)("the first reply %s", async (__, effect) => {
      faults.plan({ operation: "s3:GetObject", effect });
      expect(Buffer.compare(await read(upload()), BODY)).toBe(0);
      expect(faults.counts()).toEqual({ "s3:GetObject": 2, "s3:HeadObject": 1 });
    });

    test.each([
      ...wrongReplies,
      ["is the whole object (HTTP 200)", altered(() => ({ status: 200, headers: {}, body: BODY }))] as const,
      [
        "has another range of the same length",
        altered((body) => ({ headers: { "content-range": `bytes 0-${body.length - 1}/${BODY.length}` } })),
      ] as const,
    ])("the reply to a resumed read %s", async (__, effect) => {
      faults.plan(
        { operation: "s3:GetObject", effect: { kind: "cut", bytes: 100_000 } },
        { operation: "s3:GetObject", effect },
      );
      expect(Buffer.compare(await read(upload()), BODY)).toBe(0);
      expect(faults.counts()).toEqual({ "s3:GetObject": 3, "s3:HeadObject": 1 });
    });

    test.each(wrongReplies)("a reply that always %s is an error with both readings", async (__, effect) => {
      const source = upload();
      faults.plan({ operation: "s3:GetObject", times: 99, effect });
      const reading = read(source);
      await expect(reading).rejects.toThrow(RetryableError);
      await expect(reading).rejects.toThrow(/GET .*, but HEAD found eTag .* with 300000 bytes/);
      expect(faults.count("s3:GetObject")).toBe(4);
    });

    test("an error of the second reading says nothing of the capture", async () => {
      const source = upload();
      const effect: Effect = { kind: "refuse", status: 403, code: "" };
      bucket.remove(source.key);
      if (versioned) bucket.removeVersion(source.key, source.versionId ?? "");
      faults.plan({ operation: "s3:HeadObject", times: 9, effect });
      await expect(read(source)).rejects.toThrow(RetryableError);
    });
  });
});

describe("S3's own SHA-256", () => {
  const digest = createHash("sha256").update(BODY).digest();
  const checksum = (value: string, type: string): Effect => ({
    kind: "alter",
    alter: (reply) => ({
      ...reply,
      headers: { ...reply.headers, "x-amz-checksum-sha256": value, "x-amz-checksum-type": type },
    }),
  });

  test("of a whole object is its content's, by one HEAD that asks for it", async () => {
    const effect = checksum(digest.toString("base64"), "FULL_OBJECT");
    faults.plan({ operation: "s3:HeadObject", effect });
    expect(await captures.contentSha256(upload())).toBe(digest.toString("hex"));
    expect(faults.counts()).toEqual({ "s3:HeadObject": 1 });
  });

  test.each([
    ["of the parts' hashes", checksum(`${digest.toString("base64")}-3`, "COMPOSITE")],
    ["without a type", checksum(digest.toString("base64"), "")],
    ["that is cut", checksum("AAAA", "FULL_OBJECT")],
  ])("%s says nothing of the content", async (_, effect) => {
    faults.plan({ operation: "s3:HeadObject", effect });
    expect(await captures.contentSha256(upload())).toBeNull();
  });

  test("of another version, or of what is gone, is not taken", async () => {
    const source = upload();
    upload(BODY.slice(1));
    faults.plan({ operation: "s3:HeadObject", effect: checksum(digest.toString("base64"), "FULL_OBJECT") });
    expect(await captures.contentSha256(source)).toBeNull();
    bucket.remove(source.key);
    expect(await captures.contentSha256(source)).toBeNull();
    expect(await captures.contentSha256(upload())).toBeNull();
  });
});

describe("exists", () => {
  test("one HEAD that finds nothing, or another eTag, is an error when the next one finds the capture", async () => {
    const source = upload();
    for (const effect of [
      { kind: "refuse", status: 404, code: "NoSuchKey" },
      altered(() => ({ headers: { etag: '"other"' } })),
    ] as const) {
      faults.plan({ operation: "s3:HeadObject", effect });
      const looking = captures.exists(source);
      await expect(looking).rejects.toThrow(RetryableError);
      await expect(looking).rejects.toThrow(
        /two HEAD requests .* disagree: .* then eTag .* with 300000 bytes/,
      );
      expect(await captures.exists(source)).toBe(true);
    }
  });

  test("is true for the very version, false when it is gone or replaced", async () => {
    const source = upload();
    expect(await captures.exists(source)).toBe(true);
    upload(BODY.slice(1));
    expect(await captures.exists(source)).toBe(false);
    bucket.remove(source.key);
    expect(await captures.exists(source)).toBe(false);
  });

  test("is true for a version that was replaced, where versions are kept", async () => {
    bucket.versioned = true;
    const source = upload();
    upload(BODY.slice(1));
    expect(await captures.exists(source)).toBe(true);
    const { versionId: _, ...withoutVersion } = source;
    expect(await captures.exists(withoutVersion)).toBe(false);
  });

  test("throws for errors, which say neither", async () => {
    const source = upload();
    faults.plan({ operation: "s3:HeadObject", times: 5, effect: { kind: "refuse", status: 403, code: "" } });
    await expect(captures.exists(source)).rejects.toThrow(RetryableError);
  });
});

describe("remove", () => {
  test("deletes the captures named, and takes those that are gone for deleted", async () => {
    const sources = [upload(BODY, "car/a.pcap"), upload(BODY, "car/b.pcap")];
    upload(BODY, "car/c.pcap");
    bucket.remove("car/b.pcap");
    await captures.remove(sources);
    expect(bucket.keys()).toEqual(["car/c.pcap"]);
  });

  test("leaves what replaced the capture", async () => {
    const source = upload();
    const newer = upload(BODY.slice(1));
    await captures.remove([source]);
    expect(bucket.current(source.key)?.eTag.replaceAll('"', "")).toBe(newer.eTag);
  });

  test("deletes the very version, where versions are kept", async () => {
    bucket.versioned = true;
    const source = upload();
    const newer = upload(BODY.slice(1));
    await captures.remove([source]);
    expect(await captures.exists(source)).toBe(false);
    expect(await captures.exists(newer)).toBe(true);
  });

  test("throws when S3 refuses", async () => {
    const source = upload();
    faults.plan({
      operation: "s3:DeleteObject",
      times: 9,
      effect: { kind: "refuse", status: 403, code: "AccessDenied" },
    });
    await expect(captures.remove([source])).rejects.toThrow(`cannot delete ${source.capture}: AccessDenied`);
  });
});
