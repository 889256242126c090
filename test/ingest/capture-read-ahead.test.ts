import { RetryableError } from "@deltacap/delta";
import { beforeEach, describe, expect, test } from "vitest";
import { SupersededError } from "../../src/errors.ts";
import { CaptureReadAhead, type ReadAheadLimits } from "../../src/ingest/capture-read-ahead.ts";
import type { CaptureSource } from "../../src/manifest/capture-store.ts";

/** A store whose captures arrive when the test lets them. */
class SlowStore {
  readonly opened: string[] = [];
  readonly #arrivals = new Map<string, () => void>();
  readonly failures = new Map<string, Error>();

  async *open(source: CaptureSource): AsyncIterable<Uint8Array> {
    this.opened.push(source.key);
    const chunk = new Uint8Array(4);
    await new Promise<void>((resolve) => this.#arrivals.set(source.key, resolve));
    for (let at = 0; at < source.size; at += 4) {
      const failure = this.failures.get(source.key);
      if (failure !== undefined) throw failure;
      // The same memory again and again, as a store may do it.
      chunk.fill(source.key.charCodeAt(0) + at);
      yield chunk.subarray(0, Math.min(4, source.size - at));
    }
  }

  arrive(...keys: readonly string[]): void {
    for (const key of keys) this.#arrivals.get(key)?.();
  }
}

const source = (key: string, size = 10): CaptureSource => ({
  capture: `s3://b/${key}`,
  bucket: "b",
  key,
  eTag: key,
  size,
  vehicleId: null,
});
const limits: ReadAheadLimits = { captureBytes: 50, totalBytes: 60, captures: 4 };

let store: SlowStore;
beforeEach(() => {
  store = new SlowStore();
});

async function read(ahead: CaptureReadAhead, of: CaptureSource): Promise<number[]> {
  const bytes: number[] = [];
  for await (const chunk of ahead.open(of)) bytes.push(...chunk);
  return bytes;
}

const expected = ({ key, size }: CaptureSource) =>
  Array.from({ length: size }, (_, i) => key.charCodeAt(0) + i - (i % 4));

describe("captures read ahead", () => {
  test("come in order with their own bytes, in whatever order they arrive", async () => {
    const sources = ["a", "b", "c"].map((key) => source(key));
    const ahead = new CaptureReadAhead(store, sources, limits);
    const first = read(ahead, sources[0]!);
    expect(store.opened).toEqual(["b", "c", "a"]);
    store.arrive("c", "b", "a");
    expect(await first).toEqual(expected(sources[0]!));
    expect(await read(ahead, sources[1]!)).toEqual(expected(sources[1]!));
    expect(await read(ahead, sources[2]!)).toEqual(expected(sources[2]!));
    expect(store.opened).toHaveLength(3);
  });

  test("are as many as there is room for, and go on as room is made", async () => {
    const sources = Array.from("abcdefgh", (key) => source(key, 15));
    const ahead = new CaptureReadAhead(store, sources, limits);
    const first = read(ahead, sources[0]!);
    // 60 bytes: four of 15, beside the one that is being read.
    expect(store.opened.sort()).toEqual(["a", "b", "c", "d", "e"]);
    store.arrive("a", "b");
    await first;
    await read(ahead, sources[1]!);
    expect(store.opened.sort()).toEqual(["a", "b", "c", "d", "e", "f"]);
  });

  test("that are large are opened when their turn comes, and not before", async () => {
    const sources = [source("a"), source("L", 51), source("b")];
    const ahead = new CaptureReadAhead(store, sources, limits);
    const first = read(ahead, sources[0]!);
    expect(store.opened).not.toContain("L");
    store.arrive("a", "b");
    await first;
    const large = read(ahead, sources[1]!);
    await new Promise(setImmediate);
    store.arrive("L");
    expect(await large).toEqual(expected(sources[1]!));
    expect(await read(ahead, sources[2]!)).toEqual(expected(sources[2]!));
    expect(store.opened.sort()).toEqual(["L", "a", "b"]);
  });

  test("that had no room are read once, when their turn comes", async () => {
    const sources = [source("a", 40), source("b", 40), source("c", 40)];
    const ahead = new CaptureReadAhead(store, sources, { ...limits, totalBytes: 30 });
    for (const of of sources) {
      const reading = read(ahead, of);
      await new Promise(setImmediate);
      store.arrive(of.key);
      expect(await reading).toEqual(expected(of));
    }
    expect(store.opened).toEqual(["a", "b", "c"]);
  });

  test("that fail do so when their turn comes, and their neighbours go on", async () => {
    const sources = ["a", "b", "c"].map((key) => source(key));
    store.failures.set("b", new SupersededError("b is gone"));
    const ahead = new CaptureReadAhead(store, sources, limits);
    const first = read(ahead, sources[0]!);
    store.arrive("a", "b", "c");
    await first;
    await expect(read(ahead, sources[1]!)).rejects.toThrow(SupersededError);
    expect(await read(ahead, sources[2]!)).toEqual(expected(sources[2]!));
  });

  test("that nobody reads to the end fail nobody", async () => {
    const sources = ["a", "b"].map((key) => source(key));
    store.failures.set("b", new RetryableError("never seen"));
    const ahead = new CaptureReadAhead(store, sources, limits);
    const first = read(ahead, sources[0]!);
    store.arrive("a", "b");
    await first;
    await new Promise(setImmediate);
  });
});
