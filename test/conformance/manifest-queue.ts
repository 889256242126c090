import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Manifest } from "../../src/manifest/manifest.ts";
import { parseManifest } from "../../src/manifest/parse-manifest.ts";
import type { ManifestQueue, ReceivedManifest } from "../../src/manifest/queues.ts";

/** An empty queue, and what is needed to look at it from two sides. */
export interface ManifestQueueFixture {
  readonly queue: ManifestQueue;
  /** A second client of the same queue, as another process would have. */
  another(): ManifestQueue;
  /** Texts of the dead letter queue, with the reason of each. */
  deadLetters(): Promise<{ readonly text: string; readonly reason: string }[]>;
  close(): Promise<void>;
}

/** What every {@link ManifestQueue} must do. */
export function manifestQueueConformance(
  name: string,
  open: () => Promise<ManifestQueueFixture>,
  skip: Readonly<Record<string, string>> = {},
): void {
  describe(`manifest queue: ${name}`, () => {
    let fixture: ManifestQueueFixture;
    let queue: ManifestQueue;
    beforeEach(async () => {
      fixture = await open();
      queue = fixture.queue;
    });
    afterEach(async () => await fixture.close());
    const check = (title: string, body: () => Promise<void>) => {
      const reason = skip[title];
      if (reason === undefined) test(title, body);
      else test.skip(`${title} (${reason})`, body);
    };

    check("an empty queue gives nothing", async () => {
      expect(await queue.receive(0)).toEqual([]);
    });

    check("a manifest arrives as it was sent, whatever its texts hold", async () => {
      const sent = manifest("batch-1", 3, "car 1/a+b%20&ü\u{1f600}\uFFFE\u0001\n.pcap");
      await queue.send(sent);
      const received = await receiveAll(fixture.another(), 1);
      expect(received.map(({ text }) => parseManifest(text))).toEqual([sent]);
    });

    check("a manifest of 50,000 sources arrives", async () => {
      const sent = manifest("batch-1", 50_000);
      await queue.send(sent);
      const [received] = await receiveAll(queue, 1);
      expect(parseManifest(received?.text ?? "").sources).toHaveLength(50_000);
    });

    check("what is received is not given to another while it is worked on", async () => {
      await queue.send(manifest("batch-1"));
      expect(await receiveAll(queue, 1)).toHaveLength(1);
      expect(await fixture.another().receive(0)).toEqual([]);
    });

    check("25 manifests are received, each once, and gone when they are acknowledged", async () => {
      for (let i = 0; i < 25; i++) await queue.send(manifest(`batch-${i}`));
      const received = await receiveAll(queue, 25);
      expect(batches(received)).toEqual(Array.from({ length: 25 }, (_, i) => `batch-${i}`).sort());
      await queue.acknowledge(received);
      await fixture.another().release(received);
      expect(await queue.receive(0)).toEqual([]);
    });

    check("what is released comes again at once, and what is not stays away", async () => {
      for (let i = 0; i < 12; i++) await queue.send(manifest(`batch-${i}`));
      const received = await receiveAll(queue, 12);
      await queue.release(received.slice(0, 11));
      const again = await receiveAll(fixture.another(), 11);
      expect(batches(again)).toEqual(batches(received.slice(0, 11)));
      expect(await queue.receive(0)).toEqual([]);
    });

    check("a dead letter leaves the queue, and has its text and the reason", async () => {
      await queue.send(manifest("bad"));
      await queue.send(manifest("good"));
      const received = await receiveAll(queue, 2);
      const bad = received.find(({ text }) => text.includes('"bad"'))!;
      await queue.deadLetter(bad, "its file has 7 bytes\nwhere 8 were announced: ü");
      await queue.release(received);
      expect(batches(await receiveAll(queue, 1))).toEqual(["good"]);
      expect(await fixture.deadLetters()).toEqual([
        { text: bad.text, reason: "its file has 7 bytes\nwhere 8 were announced: ü" },
      ]);
    });

    check("acknowledging nothing, and twice, is no error", async () => {
      await queue.acknowledge([]);
      await queue.send(manifest("batch-1"));
      const received = await receiveAll(queue, 1);
      await queue.acknowledge(received);
      await queue.acknowledge(received);
    });
  });
}

/** Receives until so many came; fails with what came when the rest does not. */
async function receiveAll(queue: ManifestQueue, count: number): Promise<ReceivedManifest[]> {
  const received: ReceivedManifest[] = [];
  for (let polls = 0; received.length < count && polls < 30; polls++)
    received.push(...(await queue.receive(1)));
  expect(received).toHaveLength(count);
  return received;
}

function batches(received: readonly ReceivedManifest[]): string[] {
  return received.map(({ text }) => parseManifest(text).batchId).sort();
}

function manifest(batchId: string, sources = 1, key = "car/a.pcap"): Manifest {
  const stats = '{"numRecords":1}';
  const path = `date=2026-01-02/${batchId}.parquet`;
  return {
    manifestVersion: 1,
    batchId,
    createdMs: 5,
    files: [{ path, size: 1, partitionValues: { date: "2026-01-02" }, rows: 1, stats }],
    sources: Array.from({ length: sources }, (_, i) => ({
      id: i.toString(16).padStart(32, "0"),
      capture: `s3://captures/${key}`,
      bucket: "captures",
      key,
      eTag: "e",
      size: 1,
      packets: 1,
    })),
  };
}
