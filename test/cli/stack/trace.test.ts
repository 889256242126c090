import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cloud } from "../../support/aws/cloud.ts";
import { jsonLines, TestStack } from "../../support/aws/test-stack.ts";
import { filling, pcap } from "../../support/captures/capture-builder.ts";

let cloud: Cloud;
let stack: TestStack;
let version: number;

const packet = (byte: number) => ({ seconds: 1_772_352_000, fraction: 0, bytes: filling(60, byte) });
const capture = pcap({}, [packet(1), packet(2)]);
const cut = pcap({}, [packet(3), packet(4)]).subarray(0, 150);

beforeAll(async () => {
  cloud = await Cloud.start();
  stack = await TestStack.open(cloud, "trace");
  version = await stack.ingest({
    "car-1/a b+c.pcap": capture,
    "car-1/cut.pcap": cut,
    "car-1/notes.txt": new TextEncoder().encode("these are notes, and no packets"),
    "car-1/empty.pcap": pcap({}, []),
  });
  await stack.ingest({ "car-1/later.pcap": pcap({}, [packet(5)]) });
});
afterAll(() => cloud.close());

const uri = (key: string) => `s3://${stack.bucket}/${key}`;
const traced = async (...argv: string[]) => {
  const { code, out } = await stack.deltacap("trace", ...argv, "--json");
  return { code, lines: out === "" ? [] : jsonLines(out) };
};

describe("trace tells of a capture that was", () => {
  test("committed: version, packets, and the files of its batch alone", async () => {
    const { code, lines } = await traced(uri("car-1/a b+c.pcap"));
    expect(code).toBe(0);
    expect(lines).toMatchObject([
      { status: "committed", told_by: "ledger", version, packets: 2, latest: true, bytes: capture.length },
    ]);
    expect(lines[0]?.files).toEqual([expect.stringMatching(/^date=2026-03-01\/.*\.parquet$/)]);
    const text = await stack.deltacap("trace", uri("car-1/a b+c.pcap"));
    expect(text.out).toContain(`in version ${version} (20`);
    expect(text.out).toContain("files     date=2026-03-01/");
  });

  test("committed, by its source id alone", async () => {
    const { lines } = await traced(uri("car-1/a b+c.pcap"));
    expect(await traced(String(lines[0]?.source_id))).toMatchObject({
      code: 0,
      lines: [{ status: "committed", version }],
    });
  });

  test("damaged: where and why, with exit code 1", async () => {
    const { code, lines } = await traced(uri("car-1/cut.pcap"));
    expect(code).toBe(1);
    expect(lines).toMatchObject([{ status: "committed", packets: 1, damage: { offset: 100 } }]);
  });

  test("rejected: where and why, with exit code 1", async () => {
    const { code, lines } = await traced(uri("car-1/notes.txt"));
    expect(code).toBe(1);
    expect(lines).toMatchObject([
      { status: "rejected", offset: 0, reason: expect.stringContaining("capture") },
    ]);
  });

  test("empty: with exit code 0", async () => {
    expect(await traced(uri("car-1/empty.pcap"))).toMatchObject({ code: 0, lines: [{ status: "empty" }] });
  });

  test("uploaded and not announced: what that means, with exit code 1", async () => {
    await stack.deployment.upload("car-1/new.pcap", capture);
    const { code, lines } = await traced(uri("car-1/new.pcap"));
    expect(code).toBe(1);
    expect(lines).toMatchObject([{ status: "unknown", advice: expect.stringContaining("deltacap retry") }]);
  });

  test("never uploaded: that it is not there, with exit code 1", async () => {
    expect(await traced(uri("car-1/a b+c"))).toEqual({ code: 1, lines: [] });
    expect((await stack.deltacap("trace", uri("nowhere"))).out).toContain("is not in S3");
    // The query is pasted as it is printed.
    expect((await stack.deltacap("trace", uri("o'hara/a.pcap"))).out).toContain(
      `where capture = '${uri("o''hara/a.pcap")}'`,
    );
  });
});

test("trace tells every version of an object, the newest first", async () => {
  const versions = await TestStack.open(cloud, "trace-versions");
  cloud.s3.storage.bucket(versions.bucket).versioned = true;
  await versions.ingest({ "car-1/a.pcap": capture });
  await versions.stack.clients.s3.send(
    new PutObjectCommand({ Bucket: versions.bucket, Key: "car-1/a.pcap", Body: cut }),
  );
  const { code, out } = await versions.deltacap("trace", `s3://${versions.bucket}/car-1/a.pcap`, "--json");
  expect(code).toBe(1);
  expect(jsonLines(out)).toMatchObject([
    { status: "unknown", latest: true, bytes: cut.length },
    { status: "committed", latest: false, bytes: capture.length },
  ]);
});

test("trace of a capture that the ledger has forgotten asks the log", async () => {
  const old = await TestStack.open(cloud, "trace-old");
  const committed = await old.ingest({ "car-1/a.pcap": capture });
  const { clients, settings } = old.stack;
  Object.assign(old.stack, { settings: { ...settings, ledgerTable: "ledger" }, clients });
  const fate = async () => {
    const { out } = await old.deltacap("trace", `s3://${old.bucket}/car-1/a.pcap`, "--json");
    return jsonLines(out)[0];
  };
  expect(await fate()).toMatchObject({ status: "unknown" });
  old.laterMs = (settings.ledgerDays + 1) * 86_400_000;
  expect(await fate()).toMatchObject({ status: "committed", version: committed, told_by: "log" });
});

test("trace where captures are encrypted by KMS takes the id from the content", async () => {
  const kms = await TestStack.open(cloud, "trace-kms");
  await kms.ingest({ "car-1/a.pcap": capture });
  const plain = jsonLines((await kms.deltacap("trace", `s3://${kms.bucket}/car-1/a.pcap`, "--json")).out);
  Object.assign(kms.stack, { settings: { ...kms.stack.settings, hashContent: true } });
  const hashed = jsonLines((await kms.deltacap("trace", `s3://${kms.bucket}/car-1/a.pcap`, "--json")).out);
  expect(plain[0]?.status).toBe("committed");
  expect(hashed[0]).toMatchObject({ status: "unknown" });
  expect(hashed[0]?.source_id).not.toBe(plain[0]?.source_id);
});

test("trace of what names no object is wrong use", async () => {
  expect(await stack.deltacap("trace", "car-1/a.pcap")).toMatchObject({ code: 2 });
  expect(await stack.deltacap("trace")).toMatchObject({ code: 2 });
});
