import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { commitBody } from "../../../../test/conformance/log-store.ts";
import { BUCKET, Cloud, type Visitor } from "../../../../test/support/aws/cloud.ts";
import { S3ObjectStore } from "../../src/aws/s3-object-store.ts";
import { CommitInDoubtError, NothingWrittenError, RetryableError } from "../../src/errors.ts";
import { ConditionalLogStore } from "../../src/stores/conditional-log-store.ts";

let cloud: Cloud;
let visitor: Visitor;
let store: S3ObjectStore;
let tables = 0;
beforeAll(async () => {
  cloud = await Cloud.start();
});
afterAll(async () => await cloud.close());
beforeEach(async () => {
  cloud.everybodyOut();
  visitor = await cloud.enter();
  store = new S3ObjectStore(visitor.clients.s3, { bucket: BUCKET, prefix: `errors-${++tables}` });
});

async function thrownBy(work: Promise<unknown>): Promise<Error> {
  return await work.then(
    (value) => {
      throw new Error(`nothing was thrown, and ${String(value)} returned`);
    },
    (error: Error) => error,
  );
}

describe("HEAD's replies have no body, and are named all the same", () => {
  test.each([
    [301, "PermanentRedirect (HTTP 301)", "another region"],
    [400, "Bad Request (HTTP 400)", "tried again by the next run"],
    [403, "AccessDenied (HTTP 403)", "grant the role this action"],
    [405, "Method Not Allowed (HTTP 405)", "tried again by the next run"],
    [500, "InternalError (HTTP 500)", "tried again by the next run"],
    [503, "SlowDown (HTTP 503)", "tried again by the next run"],
  ])("%i", async (status, name, advice) => {
    const effect = { kind: "refuse", status, code: "Ignored" } as const;
    visitor.faults.plan({ operation: "s3:HeadObject", times: 5, effect });
    const error = await thrownBy(store.head("object"));
    expect(error).toBeInstanceOf(RetryableError);
    expect(error.message).toContain(name);
    expect(error.message).toContain(advice);
    expect(error.message).not.toContain("Unknown");
  });
});

describe("a put that S3 refuses has written nothing, and a commit by it is not in doubt", () => {
  test.each([
    [400, "InvalidRequest"],
    [403, "AccessDenied"],
    [404, "NoSuchBucket"],
  ])("%i %s", async (status, code) => {
    visitor.faults.plan({ operation: "s3:PutObject", effect: { kind: "refuse", status, code } });
    const error = await thrownBy(new ConditionalLogStore(store).commit(0, commitBody("zero")));
    expect(error).toBeInstanceOf(NothingWrittenError);
    expect(visitor.faults.count("s3:GetObject")).toBe(0);
  });

  test("409, as often as it is tried", async () => {
    const effect = { kind: "refuse", status: 409, code: "ConditionalRequestConflict" } as const;
    visitor.faults.plan({ operation: "s3:PutObject", times: 6, effect });
    expect(await thrownBy(store.putIfAbsent("object", commitBody("zero")))).toBeInstanceOf(
      NothingWrittenError,
    );
  });

  test("not where an attempt before the refusal got no answer", async () => {
    const refuse = { kind: "refuse", status: 403, code: "AccessDenied" } as const;
    visitor.faults.plan({ operation: "s3:PutObject", effect: { kind: "disconnect" } });
    visitor.faults.plan({ operation: "s3:PutObject", effect: refuse });
    const error = await thrownBy(new ConditionalLogStore(store).commit(0, commitBody("zero")));
    expect(error).toBeInstanceOf(CommitInDoubtError);
  });

  test("not where a service failed in an attempt before 409", async () => {
    const conflict = { kind: "refuse", status: 409, code: "ConditionalRequestConflict" } as const;
    visitor.faults.plan({
      operation: "s3:PutObject",
      effect: { kind: "refuse", status: 500, code: "InternalError" },
    });
    visitor.faults.plan({ operation: "s3:PutObject", times: 6, effect: conflict });
    const error = await thrownBy(store.putIfAbsent("object", commitBody("zero")));
    expect(error).toBeInstanceOf(RetryableError);
    expect(error).not.toBeInstanceOf(NothingWrittenError);
  });
});

describe("a whole object's length is stated twice, and both must agree", () => {
  test.each([
    ["shorter", -1],
    ["longer", 1],
  ])("a Content-Length that is %s than the object", async (_, by) => {
    await store.put("object", new TextEncoder().encode("first line\nsecond line\n"));
    visitor.faults.plan({
      operation: "s3:GetObject",
      effect: {
        kind: "alter",
        alter: (reply) => ({ ...reply, contentLength: (reply.body?.length ?? 0) + 11 * by }),
      },
    });
    expect(new TextDecoder().decode((await store.read("object")) ?? undefined)).toBe(
      "first line\nsecond line\n",
    );
  });

  test("an empty object is read", async () => {
    await store.put("object", new Uint8Array());
    expect(await store.read("object")).toEqual(new Uint8Array());
  });
});
