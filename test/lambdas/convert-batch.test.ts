import { RetryableError } from "@deltacap/delta";
import { beforeEach, describe, expect, test } from "vitest";
import { type BatchPorts, convertBatch } from "../../lambdas/converter/convert-batch.ts";
import { KeyPattern } from "../../src/ingest/key-pattern.ts";
import type { CaptureSource } from "../../src/manifest/capture-store.ts";
import type { Manifest } from "../../src/manifest/manifest.ts";
import { nodeDecompressors } from "../../src/node/compression.ts";
import { sha256 } from "../../src/node/hash.ts";
import { nodeParquetWriter } from "../../src/node/parquet.ts";
import { converterDefaults } from "../../src/settings.ts";
import { filling, pcap } from "../support/captures/capture-builder.ts";
import { MemoryCaptureStore } from "../support/memory/memory-capture-store.ts";
import { MemoryLedger } from "../support/memory/memory-ledger.ts";
import { MemoryObjectStore } from "../support/memory/memory-object-store.ts";

const RULES = {
  buckets: new Set(["captures"]),
  table: { bucket: "lake", prefix: "packets" },
  keyPattern: new KeyPattern("{vehicle_id}/**"),
};
const CAPTURE = pcap({}, [{ bytes: filling(60, 1) }]);

let captures: MemoryCaptureStore;
let deadLetters: { body: string; reason: string }[];
let manifests: Manifest[];
let ports: BatchPorts;
beforeEach(() => {
  captures = new MemoryCaptureStore();
  deadLetters = [];
  manifests = [];
  let batches = 0;
  ports = {
    captures,
    table: new MemoryObjectStore(),
    ledger: new MemoryLedger(),
    decompressors: nodeDecompressors,
    parquet: nodeParquetWriter,
    sha256,
    now: () => 1_772_352_000_000,
    newBatchId: () => `batch-${batches++}`,
    manifestQueue: { send: async (manifest) => void manifests.push(manifest) },
    isBeyondLedger: async () => false,
    deadLetter: async (body, reason) => void deadLetters.push({ body, reason }),
  };
});

/** An S3 event about captures and records that make no sense. */
function message(messageId: string, ...records: (CaptureSource | "nonsense")[]) {
  const Records = records.map((record) => {
    if (record === "nonsense") return { eventSource: "aws:sns" };
    const { bucket, key, eTag, size } = record;
    const s3 = { bucket: { name: bucket }, object: { key: encodeURIComponent(key), eTag, size } };
    return { eventVersion: "2.1", eventSource: "aws:s3", eventName: "ObjectCreated:Put", s3 };
  });
  return { messageId, body: JSON.stringify({ Records }) };
}

const TRIES = 10;

/** Delivers the messages as SQS does: those that failed come again, up to ten times. The ids that are left then. */
async function deliver(messages: readonly { messageId: string; body: string }[]): Promise<string[]> {
  let waiting = [...messages];
  for (let attempt = 1; attempt <= TRIES && waiting.length > 0; attempt++) {
    const { failed } = await convertBatch(waiting, RULES, ports, converterDefaults);
    waiting = waiting.filter(({ messageId }) => failed.has(messageId));
  }
  return waiting.map(({ messageId }) => messageId);
}

describe("a message that makes no sense reaches the dead-letter queue once", () => {
  test("while a neighbour fails on each try", async () => {
    const bad = captures.put("car-1/a.pcap", CAPTURE);
    captures.fail("car-1/a.pcap", new RetryableError("S3 is slow"));
    const broken = { messageId: "broken", body: "{" };
    expect(await deliver([broken, message("good", bad)])).toEqual(["good"]);
    expect(deadLetters).toEqual([{ body: "{", reason: expect.stringContaining("is no JSON") }]);
  });

  test("while nothing can be announced", async () => {
    const good = captures.put("car-1/a.pcap", CAPTURE);
    const denied = async () => {
      throw new RetryableError("the queue is not reachable");
    };
    ports = { ...ports, manifestQueue: { send: denied } };
    const broken = { messageId: "broken", body: "{" };
    expect(await deliver([broken, message("good", good)])).toEqual(["good"]);
    expect(deadLetters).toHaveLength(1);
  });

  test("where only one of its records makes sense, and that one fails at first", async () => {
    const good = captures.put("car-1/a.pcap", CAPTURE);
    captures.fail("car-1/a.pcap", new RetryableError("S3 is slow"));
    const mixed = message("mixed", good, "nonsense");
    const first = await convertBatch([mixed], RULES, ports, converterDefaults);
    expect([...first.failed]).toEqual(["mixed"]);
    expect(first.refused).toEqual([]);
    expect(deadLetters).toEqual([]);
    captures.fail("car-1/a.pcap", null);
    expect(await deliver([mixed])).toEqual([]);
    expect(deadLetters).toEqual([{ body: mixed.body, reason: expect.stringContaining("not of S3") }]);
    expect(manifests).toHaveLength(1);
  });

  test("also when the conversion ends in a bug on each try: it has not been copied before", async () => {
    const good = captures.put("car-1/a.pcap", CAPTURE);
    captures.fail("car-1/a.pcap", new TypeError("a bug"));
    const messages = [{ messageId: "broken", body: "{" }, message("good", good)];
    for (let attempt = 1; attempt <= TRIES; attempt++) {
      await expect(convertBatch(messages, RULES, ports, converterDefaults)).rejects.toThrow("a bug");
    }
    expect(deadLetters).toEqual([]);
  });
});

test("a dead-letter queue that takes nothing costs only the message that belongs there", async () => {
  const good = captures.put("car-1/a.pcap", CAPTURE);
  const denied = async () => {
    throw new RetryableError("cannot put a message into the dead letter queue");
  };
  const outcome = await convertBatch(
    [{ messageId: "broken", body: "{" }, message("good", good)],
    RULES,
    { ...ports, deadLetter: denied },
    converterDefaults,
  );
  expect([...outcome.failed]).toEqual(["broken"]);
  expect(outcome.error?.message).toContain("dead letter queue");
  expect(outcome.refused).toEqual([]);
  expect(manifests).toHaveLength(1);
});

describe("a capture that was restored from an archive", () => {
  const restored = (source: CaptureSource) => {
    const { messageId, body } = message("restored", source);
    return { messageId, body: body.replace("ObjectCreated:Put", "ObjectRestore:Completed") };
  };

  test("is converted as if it had been uploaded", async () => {
    expect(await deliver([restored(captures.put("car-1/a.pcap", CAPTURE))])).toEqual([]);
    expect(manifests).toHaveLength(1);
    expect(manifests[0]?.sources[0]).not.toHaveProperty("restored");
  });

  test("is refused where the ledger may have forgotten it: its rows could come twice", async () => {
    const old = captures.put("car-1/old.pcap", CAPTURE);
    ports = { ...ports, isBeyondLedger: async ({ key }) => key === old.key };
    const uploaded = captures.put("car-1/uploaded.pcap", CAPTURE);
    expect(await deliver([restored(old), message("uploaded", uploaded)])).toEqual([]);
    expect(manifests.flatMap(({ sources }) => sources.map(({ key }) => key))).toEqual([uploaded.key]);
    const reason = expect.stringContaining(`"deltacap retry ${old.capture}"`) as string;
    expect(deadLetters).toMatchObject([{ reason }]);
  });
});
