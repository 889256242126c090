import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BUCKET, Cloud } from "../../../../test/support/aws/cloud.ts";
import type { Effect, Faults } from "../../../../test/support/aws/faults.ts";
import type { Reply } from "../../../../test/support/aws/reply.ts";
import { S3ObjectStore } from "../../src/aws/s3-object-store.ts";
import { RetryableError } from "../../src/errors.ts";

const MiB = 1024 * 1024;
const lost: Effect = { kind: "lose reply" };
const conflict: Effect = { kind: "refuse", status: 409, code: "ConditionalRequestConflict" };

let cloud: Cloud;
let store: S3ObjectStore;
let faults: Faults;
beforeAll(async () => {
  cloud = await Cloud.start();
});
afterAll(async () => await cloud.close());
let folders = 0;
let prefix = "";
beforeEach(async () => {
  cloud.everybodyOut();
  prefix = `folder-${++folders}`;
  const visitor = await cloud.enter();
  faults = visitor.faults;
  store = new S3ObjectStore(visitor.clients.s3, { bucket: BUCKET, prefix });
});

const bytes = (text: string) => new TextEncoder().encode(text);
const stored = (path: string) => cloud.s3.storage.bucket(BUCKET).current(`${prefix}/${path}`)?.body ?? null;
/** Another writer's object, put on the server's side. */
const putByOther = (path: string, text: string) =>
  void cloud.s3.storage.bucket(BUCKET).put(`${prefix}/${path}`, bytes(text), {});

/** Small objects go through `putIfAbsent`, and the same through a writer in one put. */
const ways = [
  ["putIfAbsent", async (path: string, body: Uint8Array) => await store.putIfAbsent(path, body)],
  [
    "a writer",
    async (path: string, body: Uint8Array) => {
      const writer = store.create(path);
      await writer.write(body);
      return await writer.commit();
    },
  ],
] as const;

describe.each(ways)("a conditional put by %s", (_, put) => {
  test("one whose reply was lost finds its own object and is created", async () => {
    faults.plan({ operation: "s3:PutObject", effect: lost });
    expect(await put("a", bytes("mine"))).toBe("created");
    expect(faults.counts()).toEqual({ "s3:PutObject": 2, "s3:HeadObject": 1 });
  });

  test("one whose reply was lost, and another writer's equal object: not taken for its own", async () => {
    faults.plan(
      { operation: "s3:PutObject", effect: { kind: "disconnect" } },
      { operation: "s3:PutObject", effect: { kind: "meanwhile", run: async () => putByOther("a", "same") } },
    );
    expect(await put("a", bytes("same"))).toBe("exists");
  });

  test("an error when looking whose object it is does not become an answer", async () => {
    putByOther("a", "other");
    faults.plan({ operation: "s3:HeadObject", times: 9, effect: { kind: "refuse", status: 403, code: "" } });
    await expect(put("a", bytes("mine"))).rejects.toThrow(RetryableError);
  });

  test("409 is tried again until it is decided", async () => {
    faults.plan({ operation: "s3:PutObject", times: 3, effect: conflict });
    expect(await put("a", bytes("mine"))).toBe("created");
    expect(faults.count("s3:PutObject")).toBe(4);
  });

  test("409 without end is an error, not an outcome", async () => {
    faults.plan({ operation: "s3:PutObject", times: 100, effect: conflict });
    await expect(put("a", bytes("mine"))).rejects.toThrow("6 attempts met another put");
    expect(stored("a")).toBeNull();
  });

  test("an object that vanished between the refusal and the look at it leaves the path free", async () => {
    putByOther("a", "other");
    faults.plan({
      operation: "s3:HeadObject",
      effect: { kind: "meanwhile", run: async () => cloud.s3.storage.bucket(BUCKET).remove(`${prefix}/a`) },
    });
    expect(await put("a", bytes("mine"))).toBe("created");
    expect(stored("a")?.toString()).toBe("mine");
  });

  test("no reply at all is an error that says what was put, and to go on later", async () => {
    faults.plan({ operation: "s3:PutObject", times: 9, effect: { kind: "disconnect" } });
    const failed = put("a", bytes("mine"));
    await expect(failed).rejects.toThrow(RetryableError);
    await expect(failed).rejects.toThrow(`cannot put s3://lake/${prefix}/a`);
  });
});

describe("an object in parts", () => {
  const size = 21 * MiB;
  const body = Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) & 0xff);
  const write = async (chunkSize = 3 * MiB) => {
    const writer = store.create("large");
    for (let at = 0; at < size; at += chunkSize) await writer.write(body.slice(at, at + chunkSize));
    return writer;
  };
  const openUploads = () => cloud.s3.storage.bucket(BUCKET).openUploads;

  test("has parts of 8 MiB and the rest, from chunks of any size", async () => {
    for (const chunkSize of [3 * MiB, 64 * 1024 + 1, size]) {
      faults.forget();
      expect(await (await write(chunkSize)).commit()).toBe("created");
      expect(Buffer.compare(stored("large") ?? Buffer.alloc(0), body)).toBe(0);
      expect(faults.counts()).toEqual({
        "s3:CreateMultipartUpload": 1,
        "s3:UploadPart": 3,
        "s3:CompleteMultipartUpload": 1,
      });
      await store.remove(["large"]);
    }
  });

  test("one part exactly needs no parts", async () => {
    const writer = store.create("exact");
    await writer.write(body.slice(0, 8 * MiB));
    expect(await writer.commit()).toBe("created");
    expect(faults.counts()).toEqual({ "s3:PutObject": 1 });
  });

  test("holds no more than two parts while it waits for S3", async () => {
    let arrived = 0;
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const hold = async () => {
      arrived++;
      await held;
    };
    faults.plan({ operation: "s3:UploadPart", times: 9, effect: { kind: "meanwhile", run: hold } });
    const writer = store.create("large");
    let written = 0;
    const writing = (async () => {
      for (let at = 0; at < size; at += MiB) {
        await writer.write(body.slice(at, at + MiB));
        written = at + MiB;
      }
    })();
    while (arrived === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(written).toBe(16 * MiB);
    release();
    await writing;
    expect(await writer.commit()).toBe("created");
  });

  test("the path was taken meanwhile: exists, and the parts are removed", async () => {
    const writer = await write();
    putByOther("large", "other");
    expect(await writer.commit()).toBe("exists");
    expect(stored("large")?.toString()).toBe("other");
    expect(openUploads()).toBe(0);
  });

  test("a completion whose reply was lost finds its own object", async () => {
    faults.plan({ operation: "s3:CompleteMultipartUpload", effect: lost });
    expect(await (await write()).commit()).toBe("created");
    expect(stored("large")?.length).toBe(size);
  });

  test("a part whose reply was lost is sent again", async () => {
    faults.plan({ operation: "s3:UploadPart", after: 1, effect: lost });
    expect(await (await write()).commit()).toBe("created");
    expect(Buffer.compare(stored("large") ?? Buffer.alloc(0), body)).toBe(0);
  });

  test("a part that cannot be put fails the writer, and aborting removes what there is", async () => {
    const refusal: Effect = { kind: "refuse", status: 403, code: "AccessDenied" };
    faults.plan({ operation: "s3:UploadPart", after: 1, times: 9, effect: refusal });
    const writer = store.create("large");
    const writing = (async () => {
      for (let at = 0; at < size; at += MiB) await writer.write(body.slice(at, at + MiB));
      await writer.commit();
    })();
    await expect(writing).rejects.toThrow(`cannot put part 2 of s3://lake/${prefix}/large: AccessDenied`);
    await writer.abort();
    expect(openUploads()).toBe(0);
    expect(stored("large")).toBeNull();
  });

  test("aborting while a part is under way leaves nothing, and never throws", async () => {
    const writer = await write();
    faults.plan({ operation: "s3:AbortMultipartUpload", times: 9, effect: { kind: "disconnect" } });
    await writer.abort();
    expect(openUploads()).toBe(1);
    const second = await write();
    faults.forget();
    await second.abort();
    expect(openUploads()).toBe(1);
  });
});

describe("reading", () => {
  test("a reply that breaks off is asked for again", async () => {
    putByOther("a", "0123456789");
    faults.plan({ operation: "s3:GetObject", times: 2, effect: { kind: "cut", bytes: 4 } });
    expect(new TextDecoder().decode((await store.read("a")) ?? new Uint8Array())).toBe("0123456789");
    expect(faults.count("s3:GetObject")).toBe(3);
  });

  test("a reply that breaks off each time is an error", async () => {
    putByOther("a", "0123456789");
    faults.plan({ operation: "s3:GetObject", times: 9, effect: { kind: "cut", bytes: 4 } });
    await expect(store.read("a")).rejects.toThrow(RetryableError);
  });

  test("a range beyond the end has no bytes", async () => {
    putByOther("a", "0123");
    expect(await store.read("a", { start: 4, length: 2 })).toEqual(new Uint8Array());
    expect(await store.read("a", { start: 2, length: 0 })).toEqual(new Uint8Array());
    expect(await store.read("missing", { start: 2, length: 0 })).toBeNull();
  });

  test("an error is never 'absent': not without a permission, not without the bucket", async () => {
    for (const [status, code] of [
      [403, "AccessDenied"],
      [500, "InternalError"],
      [503, "SlowDown"],
      [404, "NoSuchBucket"],
    ] as const) {
      faults.plan(
        { operation: "s3:GetObject", times: 5, effect: { kind: "refuse", status, code } },
        { operation: "s3:ListObjectsV2", times: 5, effect: { kind: "refuse", status, code } },
      );
      await expect(store.read("a")).rejects.toThrow(RetryableError);
      await expect(store.list("")[Symbol.asyncIterator]().next()).rejects.toThrow(RetryableError);
      // HEAD has no body: its 404 is the only one that cannot be told from a missing bucket.
      if (status !== 404) {
        faults.plan({ operation: "s3:HeadObject", times: 5, effect: { kind: "refuse", status, code } });
        await expect(store.head("a")).rejects.toThrow(RetryableError);
      }
      faults.forget();
    }
  });

  test("what the SDK throws stays inside, and the message says what to do", async () => {
    faults.plan({ operation: "s3:GetObject", effect: { kind: "refuse", status: 403, code: "AccessDenied" } });
    const error: unknown = await store.read("a").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RetryableError);
    expect(error).not.toHaveProperty("$metadata");
    expect((error as Error).cause).toBeUndefined();
    expect((error as Error).message).toMatch(
      /cannot read s3:\/\/lake\/.*AccessDenied \(HTTP 403.*s3:ListBucket/,
    );
  });
});

describe("a ranged read whose reply holds another range", () => {
  const content = "0123456789";
  const range = { start: 2, length: 5 };
  const altered = (change: Partial<Reply>): Effect => ({
    kind: "alter",
    alter: (reply) => ({ ...reply, ...change }),
  });
  const replies = [
    ["a shorter one", altered({ headers: { "content-range": "bytes 2-4/10" }, body: "234" })],
    ["an earlier one", altered({ headers: { "content-range": "bytes 0-4/10" }, body: "01234" })],
    ["the whole object (HTTP 200)", altered({ status: 200, headers: {}, body: content })],
    ["the right range in the header, and fewer bytes", altered({ body: "234" })],
  ] as const;

  test.each(replies)("%s: the read is tried again", async (_, effect) => {
    putByOther("a", content);
    faults.plan({ operation: "s3:GetObject", effect });
    expect(await store.read("a", range)).toEqual(bytes("23456"));
    expect(faults.count("s3:GetObject")).toBe(2);
  });

  test.each(replies)("%s, always: an error, not a short object", async (_, effect) => {
    putByOther("a", content);
    faults.plan({ operation: "s3:GetObject", times: 9, effect });
    await expect(store.read("a", range)).rejects.toThrow(RetryableError);
    expect(faults.count("s3:GetObject")).toBe(4);
  });

  test("a range that goes beyond the object's end is answered with what is there", async () => {
    putByOther("a", content);
    expect(await store.read("a", { start: 7, length: 100 })).toEqual(bytes("789"));
    expect(await store.read("a", { start: 100, length: 5 })).toEqual(bytes(""));
    expect(faults.count("s3:GetObject")).toBe(2);
  });
});
