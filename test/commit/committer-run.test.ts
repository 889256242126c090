import { CommitInDoubtError, RetryableError, TableRefusedError } from "@deltacap/delta";
import { beforeEach, describe, expect, test } from "vitest";
import {
  type CommitterRunPorts,
  type CommitterRunSettings,
  type CommitterState,
  MAX_TRIES,
  MIN_INTERVAL,
  type Round,
  runCommitter,
} from "../../src/commit/committer-run.ts";
import type { DeliveryFailure } from "../../src/commit/deliveries.ts";
import type { Manifest } from "../../src/manifest/manifest.ts";
import { ManualClock } from "../support/aws/clock.ts";
import type { Gate } from "../support/memory/gated.ts";
import { gated } from "../support/memory/gated.ts";
import { MemoryManifestQueue } from "../support/memory/memory-manifest-queue.ts";
import { CommitterWorld, idOf, smallTable } from "../support/tables/committer-world.ts";

let clock: ManualClock;
let world: CommitterWorld;
let queue: MemoryManifestQueue;
let rounds: (Round & { readonly atMs: number })[];
let left: string[];
let failures: DeliveryFailure[];
let captures = 0;
beforeEach(() => {
  clock = new ManualClock();
  world = new CommitterWorld();
  queue = new MemoryManifestQueue(clock);
  rounds = [];
  left = [];
  failures = [];
});

interface RunOptions {
  readonly settings?: Partial<CommitterRunSettings>;
  readonly ports?: Partial<CommitterRunPorts>;
  readonly gate?: Gate | null;
  readonly warm?: CommitterState | null;
}

/** A run as the function makes it: it receives for 50 s. */
function begin({ settings, ports, gate = null, warm = null }: RunOptions = {}): Promise<CommitterState> {
  const manifestQueue = gate === null ? queue : gated(queue, "manifestQueue", gate);
  const start = clock.now();
  return runCommitter(
    {
      ...world.ports(gate, { now: () => clock.now(), sleep: clock.sleep }),
      manifestQueue,
      verify: () => null,
      onFailed: (failure) => void failures.push(failure),
      onRound: (round) => void rounds.push({ ...round, atMs: clock.now() - start }),
      onLeft: (reason) => void left.push(reason),
      ...ports,
    },
    {
      commitIntervalMs: 10_000,
      filesPerCommit: 100,
      receiveMs: 50_000,
      receiveUntilMs: start + 80_000,
      deadlineMs: start + 100_000,
      pollers: 4,
      ...settings,
    },
    smallTable,
    warm,
  );
}

async function run(options: RunOptions = {}): Promise<CommitterState> {
  return await clock.passUntil(begin(options));
}

async function send(count: number): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  for (let i = 0; i < count; i++) {
    manifests.push(await world.batch(`capture-${captures++}`));
    await queue.send(manifests[i]!);
  }
  return manifests;
}

/** Versions without the one that made the table. */
const commits = async () => (await world.versions()).length - 1;
const committedRounds = () =>
  rounds.filter(({ results }) => results.some(({ outcome }) => outcome === "committed"));

describe("coalescing", () => {
  test("500 manifests at once, coalesced from 100 files on: five commits at most, no dead letter, nothing left", async () => {
    await send(500);
    await run();
    expect(await commits()).toBeLessThanOrEqual(5);
    expect([...(await world.addedBatches()).values()]).toEqual(Array(500).fill(1));
    expect(queue.deadLetters).toEqual([]);
    expect(queue.queue.messages).toEqual([]);
  });

  test("the same with room for all of them: one commit", async () => {
    await send(500);
    await run({ settings: { filesPerCommit: 1_000 } });
    expect(await commits()).toBe(1);
  });

  test("a single manifest after a quiet time is committed a second after it came", async () => {
    const running = begin();
    clock.after(20_000, () => void send(1));
    await clock.passUntil(running);
    expect(committedRounds().map(({ atMs }) => atMs)).toEqual([21_000]);
  });

  test("a steady stream is committed once an interval", async () => {
    const running = begin();
    for (let at = 0; at < 49_000; at += 300) clock.after(at, () => void send(1));
    await clock.passUntil(running);
    const times = committedRounds().map(({ atMs }) => atMs);
    const gaps = times.slice(1).map((at, i) => at - times[i]!);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(5_000);
    expect(gaps.slice(0, -1).every((gap) => gap >= 10_000)).toBe(true);
    expect(times.length).toBeLessThanOrEqual(6);
    expect(queue.queue.messages).toEqual([]);
  });

  test("the interval is kept from one run to the next", async () => {
    const first = begin();
    clock.after(48_500, () => void send(1));
    const warm = await clock.passUntil(first);
    const end = clock.now();
    expect(warm.lastCommitMs).toBe(end);
    await send(1);
    await run({ warm });
    expect(committedRounds()[1]?.atMs).toBe(10_000);
  });

  test("what comes just before the end of a run is still committed in it", async () => {
    const running = begin();
    clock.after(40_000, () => void send(1));
    clock.after(48_900, () => void send(1));
    await clock.passUntil(running);
    expect(committedRounds().map(({ atMs }) => atMs)).toEqual([41_000, 49_900]);
  });

  test.each([1, 3])(
    "%i files are enough for a commit, and still 5 s lie between two: Spark finds a gap",
    async (filesPerCommit) => {
      const running = begin({ settings: { filesPerCommit } });
      for (let at = 0; at < 49_000; at += 200) clock.after(at, () => void send(1));
      await clock.passUntil(running);
      const times = committedRounds().map(({ atMs }) => atMs);
      const gaps = times.slice(1).map((at, i) => at - times[i]!);
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(MIN_INTERVAL);
      // Nor does a full queue wait longer than that.
      expect(Math.max(...gaps)).toBeLessThan(MIN_INTERVAL + 1_000);
      expect(queue.queue.messages).toEqual([]);
    },
  );

  test("manifests with more sources than a commit may name become two commits, 5 s apart", async () => {
    const sources = Array.from({ length: 30_000 }, (_, i) => i);
    for (const name of ["a", "b"]) {
      const manifest = await world.batch(...sources.map((i) => `${name}-${i}`));
      await queue.send(manifest);
    }
    await run();
    const [first, second] = committedRounds().map(({ atMs }) => atMs);
    expect(second! - first!).toBeGreaterThanOrEqual(MIN_INTERVAL);
    expect(await commits()).toBe(2);
  });

  test("no more is received than soon fits into commits", async () => {
    await send(800);
    const released = deferred();
    const gate: Gate = {
      pass: async (step, moment) => {
        if (step === "log.commit" && moment === "before") await released.promise;
      },
    };
    await world.start();
    const running = begin({ gate: null, ports: { log: gated(world.log, "log", gate) } });
    for (let i = 0; i < 50; i++) await new Promise(setImmediate);
    // 100 to 130 are being committed, 500 wait; each of four polls may bring ten more than there is room for.
    expect(queue.queue.counts().inFlight).toBeLessThanOrEqual(670);
    released.resolve();
    await clock.passUntil(running);
    expect(queue.queue.messages).toEqual([]);
  });
});

describe("a start that takes long", () => {
  const slow = (milliseconds: number): Gate => ({
    pass: async (step, moment) => {
      if (step === "ledger.watermark" && moment === "before") await clock.sleep(milliseconds);
    },
  });

  test("shortens the receiving, so that the run ends before its time limit", async () => {
    await world.start();
    const start = clock.now();
    const running = begin({ gate: slow(60_000) });
    for (let at = 0; at < 99_000; at += 1_000) clock.after(at, () => void send(1));
    await clock.passUntil(running);
    expect(clock.now() - start).toBeLessThanOrEqual(86_000);
    expect(await commits()).toBeGreaterThan(0);
  });

  test("beyond the deadline leaves every message to the next run, which commits it", async () => {
    await world.start();
    await send(3);
    const warm = await run({ gate: slow(101_000) });
    expect(queue.queue.counts()).toEqual({ visible: 3, inFlight: 0 });
    expect(await commits()).toBe(0);
    await run({ warm });
    expect(await commits()).toBe(1);
    expect(queue.queue.messages).toEqual([]);
  });

  test("what waits at the deadline is released, and committed once by the next run", async () => {
    await world.start();
    const start = clock.now();
    await send(1);
    const gate: Gate = {
      pass: async (step, moment) => {
        if (step === "log.commit" && moment === "before") await clock.sleep(101_000);
      },
    };
    const running = begin({ gate });
    clock.after(10_000, () => void send(1));
    const warm = await clock.passUntil(running);
    expect(queue.queue.counts()).toEqual({ visible: 1, inFlight: 0 });
    expect(clock.now() - start).toBeLessThan(110_000);
    await run({ warm });
    expect([...(await world.addedBatches()).values()]).toEqual([1, 1]);
  });
});

describe("a delivery", () => {
  test("that is no manifest goes to the dead letter queue with the reason, its neighbours are committed", async () => {
    queue.queue.send("{broken");
    await send(2);
    await run();
    expect(queue.deadLetters).toEqual([{ text: "{broken", reason: expect.stringContaining("is no JSON") }]);
    expect(await commits()).toBe(1);
    expect(queue.queue.messages).toEqual([]);
  });

  test("that can never be committed does so too", async () => {
    const manifest = await world.batch("a");
    const { files } = manifest;
    await queue.send({ ...manifest, files: [{ ...files[0]!, size: 7 }] });
    await send(1);
    await run();
    expect(queue.deadLetters.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("the manifest says 7"),
    ]);
    expect(await commits()).toBe(1);
  });

  test("of a newer format stays in the queue, and does not stop the others", async () => {
    const manifest = await world.batch("a");
    queue.queue.send(JSON.stringify({ ...manifest, manifestVersion: 2 }));
    await send(1);
    await run();
    expect(left).toEqual([expect.stringContaining("manifest version 2")]);
    expect(await commits()).toBe(1);
    expect(queue.queue.messages).toHaveLength(1);
    expect(queue.deadLetters).toEqual([]);
  });

  test("that comes twice in a round adds its files once, and both are acknowledged", async () => {
    const manifest = await world.batch("a");
    await queue.send(manifest);
    await queue.send(manifest);
    await run();
    expect(await world.addedBatches()).toEqual(new Map([[manifest.batchId, 1]]));
    expect(queue.queue.messages).toEqual([]);
  });
});

describe("a table that must be refused", () => {
  test("leaves every message in the queue, unreceived", async () => {
    await world.start();
    await world.foreignCommit(1, [
      {
        protocol: {
          minReaderVersion: 3,
          minWriterVersion: 7,
          readerFeatures: [],
          writerFeatures: ["fromTheFuture"],
        },
      },
    ]);
    await send(3);
    await expect(run()).rejects.toThrow(TableRefusedError);
    expect(queue.queue.messages.map(({ receiveCount }) => receiveCount)).toEqual([0, 0, 0]);
  });
});

describe("after an error", () => {
  test.each([
    ["log.commit", new CommitInDoubtError("unknown")],
    ["ledger.putCommitted", new RetryableError("throttled")],
    ["ledger.lookup", new RetryableError("throttled")],
    ["manifestQueue.acknowledge", new RetryableError("throttled")],
  ])(
    "of %s nothing is lost: what waits is released, and the next run commits it once",
    async (step, error) => {
      await world.start();
      const manifests = await send(5);
      await expect(run({ gate: failingAt(step, error) })).rejects.toThrow(error);
      expect(queue.queue.counts()).toEqual({ visible: 5, inFlight: 0 });
      await run();
      expect([...(await world.addedBatches()).keys()].sort()).toEqual(
        manifests.map(({ batchId }) => batchId).sort(),
      );
      expect([...(await world.addedBatches()).values()]).toEqual(Array(5).fill(1));
      expect(queue.queue.messages).toEqual([]);
    },
  );

  test("of receiving, nothing more is received", async () => {
    await world.start();
    await send(25);
    let polls = 0;
    const gate: Gate = {
      pass: async (step, moment) => {
        if (step !== "manifestQueue.receive" || moment === "after") return;
        if (++polls === 2) throw new RetryableError("SQS is away");
      },
    };
    await expect(run({ gate })).rejects.toThrow("SQS is away");
    expect(polls).toBeLessThanOrEqual(5);
    expect(queue.queue.counts()).toEqual({ visible: 25, inFlight: 0 });
  });
});

describe("one manifest with a lasting error", () => {
  const VISIBILITY = 240_000;
  /** Steps on the world that fail for the capture named `bad`, and pass for the others. */
  const steps: [DeliveryFailure["step"], (bad: Manifest) => RunOptions["ports"]][] = [
    [
      "files",
      (bad) => ({
        table: Object.assign(Object.create(world.objects) as typeof world.objects, {
          head: async (path: string) => {
            if (path === bad.files[0]!.path) throw new RetryableError("AccessDenied (HTTP 403)");
            return await world.objects.head(path);
          },
        }),
      }),
    ],
    [
      "ledger",
      (bad) => ({
        ledger: Object.assign(Object.create(world.ledger) as typeof world.ledger, {
          lookup: async (ids: readonly string[]) => {
            if (ids.includes(bad.sources[0]!.id)) throw new Error('the unknown status "frozen"');
            return await world.ledger.lookup(ids);
          },
        }),
      }),
    ],
    [
      "send back",
      () => ({
        captures: {
          exists: async () => {
            throw new RetryableError("AccessDenied (HTTP 403)");
          },
        },
      }),
    ],
    [
      "send back",
      () => ({
        captureQueue: {
          send: async () => {
            throw new RetryableError("AccessDenied (HTTP 403)");
          },
        },
      }),
    ],
    [
      "delete captures",
      (bad) => ({
        removeCaptures: async (sources) => {
          if (sources.some(({ id }) => id === bad.sources[0]!.id)) throw new RetryableError("AccessDenied");
        },
      }),
    ],
  ];

  test.each(steps)(
    "at the step %s blocks no other, and is put aside at its last try",
    async (step, portsOf) => {
      const [bad] = await send(1);
      if (step === "send back") await world.removeFiles(bad!);
      const ports = portsOf(bad!) ?? {};
      const others = await send(3);
      await run({ ports });
      const added = [...(await world.addedBatches()).keys()];
      expect(others.every(({ batchId }) => added.includes(batchId))).toBe(true);
      expect(queue.queue.messages).toHaveLength(1);
      expect(failures).toMatchObject([{ step, batchId: bad!.batchId, tries: 1 }]);
      for (let tries = 2; tries < MAX_TRIES; tries++) {
        clock.advance(VISIBILITY);
        await send(1);
        await run({ ports });
        expect(queue.deadLetters).toEqual([]);
      }
      clock.advance(VISIBILITY);
      await send(1);
      await run({ ports });
      expect(queue.deadLetters).toEqual([
        { text: JSON.stringify(bad), reason: expect.stringMatching(`failed ${MAX_TRIES} times .${step}.: `) },
      ]);
      expect(queue.queue.messages).toEqual([]);
      expect([...(await world.addedBatches()).values()].every((times) => times === 1)).toBe(true);
      expect(world.sentBack).toEqual([]);
    },
  );

  test("that is over at the last try commits it", async () => {
    const [bad] = await send(1);
    const [[, portsOf]] = [steps[0]!];
    const ports = portsOf(bad!)!;
    for (let tries = 1; tries < MAX_TRIES; tries++) {
      await expect(run({ ports })).rejects.toThrow("AccessDenied");
      clock.advance(VISIBILITY);
    }
    let asked = 0;
    const head: typeof world.objects.head = async (path) => {
      if (++asked === 1) throw new RetryableError("SlowDown");
      return await world.objects.head(path);
    };
    await run({
      ports: { table: Object.assign(Object.create(world.objects) as typeof world.objects, { head }) },
    });
    expect(queue.deadLetters).toEqual([]);
    expect(await world.addedBatches()).toEqual(new Map([[bad!.batchId, 1]]));
  });

  test("alone in the queue fails the run, and is put aside at its last try too", async () => {
    const [bad] = await send(1);
    const ports = steps[0]![1](bad!)!;
    for (let tries = 1; tries < MAX_TRIES; tries++) {
      await expect(run({ ports })).rejects.toThrow("AccessDenied");
      expect(queue.deadLetters).toEqual([]);
      clock.advance(VISIBILITY);
    }
    await run({ ports });
    expect(queue.deadLetters).toHaveLength(1);
  });

  test("whose dead-letter queue takes nothing stays in the queue, and the others are committed", async () => {
    queue.queue.send("{broken");
    await send(5);
    await run({ gate: failingAt("manifestQueue.deadLetter", new RetryableError("denied")) });
    expect([...(await world.addedBatches()).values()]).toEqual(Array(5).fill(1));
    expect(failures).toMatchObject([{ step: "dead letter", reason: "denied" }]);
    expect(queue.queue.messages).toHaveLength(1);
  });

  test("an unexpected error while one is read costs only that one", async () => {
    const [bad] = await send(1);
    await send(2);
    const verify = ({ batchId }: Manifest) => {
      if (batchId === bad!.batchId) throw new TypeError("a bug");
      return null;
    };
    await run({ ports: { verify } });
    expect(await commits()).toBe(1);
    expect(failures).toMatchObject([{ step: "read", reason: "a bug" }]);
    expect(queue.queue.messages).toHaveLength(1);
  });

  test.each([
    ["one whose text cannot be read is put aside at its last try", 1],
    ["several whose texts cannot be read speak of the store: the run fails, none is put aside", 2],
  ])("%s", async (_, count) => {
    const unread = await send(count);
    await send(2);
    const receive: typeof queue.receive = async (seconds) =>
      (await queue.receive(seconds)).map((delivery) =>
        unread.some(({ batchId }) => delivery.text.includes(`"${batchId}"`))
          ? { ...delivery, receives: MAX_TRIES, unread: { reason: "AccessDenied", isGone: false } }
          : delivery,
      );
    const manifestQueue = Object.assign(Object.create(queue) as typeof queue, { receive });
    const running = run({ ports: { manifestQueue } });
    if (count === 1) await running;
    else await expect(running).rejects.toThrow("AccessDenied");
    expect((await world.addedBatches()).size).toBe(2);
    expect(queue.deadLetters).toHaveLength(count === 1 ? 1 : 0);
    expect(queue.queue.messages).toHaveLength(count === 1 ? 0 : 2);
  });

  test.each([1, 3])(
    "%i whose texts are not there are tried to the last, put aside one by one, and cost no other",
    async (count) => {
      const gone = await send(count);
      await send(2);
      let receives = MAX_TRIES - 1;
      const receive: typeof queue.receive = async (seconds) =>
        (await queue.receive(seconds)).map((delivery) =>
          gone.some(({ batchId }) => delivery.text.includes(`"${batchId}"`))
            ? { ...delivery, receives, unread: { reason: "_manifests/b.json does not exist", isGone: true } }
            : delivery,
        );
      const manifestQueue = Object.assign(Object.create(queue) as typeof queue, { receive });
      await run({ ports: { manifestQueue } });
      expect((await world.addedBatches()).size).toBe(2);
      expect(failures).toHaveLength(count);
      expect(queue.deadLetters).toEqual([]);
      receives = MAX_TRIES;
      for (const { receipt } of queue.queue.messages) queue.queue.changeVisibility(receipt, 0);
      await run({ ports: { manifestQueue } });
      expect(queue.deadLetters.map(({ reason }) => reason)).toEqual(
        gone.map(() => `failed ${MAX_TRIES} times (read): _manifests/b.json does not exist`),
      );
    },
  );

  test("one that was not written by a converter of this table is refused with the reason", async () => {
    const [bad] = await send(1);
    await send(1);
    await run({ ports: { verify: ({ batchId }) => (batchId === bad!.batchId ? "forged" : null) } });
    expect(queue.deadLetters).toEqual([{ text: JSON.stringify(bad), reason: "forged" }]);
    expect(await world.addedBatches()).not.toContain(bad!.batchId);
  });
});

describe("a service that is out for all manifests", () => {
  test.each([
    ["table.head", false],
    ["captures.exists", true],
    ["captureQueue.send", true],
  ])("%s: the run stops, nothing is lost or put aside, however often", async (step, gone) => {
    await world.start();
    const manifests = await send(4);
    if (gone) for (const manifest of manifests) await world.removeFiles(manifest);
    for (let i = 0; i < MAX_TRIES + 2; i++) {
      await expect(run({ gate: failingAt(step, new RetryableError("away")) })).rejects.toThrow("away");
      clock.advance(240_000);
    }
    expect(queue.deadLetters).toEqual([]);
    expect(queue.queue.messages).toHaveLength(4);
    await run();
    expect(queue.queue.messages).toEqual([]);
    if (gone) expect(world.sentBack).toHaveLength(4);
    else expect([...(await world.addedBatches()).values()]).toEqual(Array(4).fill(1));
  });

  test("what else was in the round is committed and acknowledged", async () => {
    const gone = await send(2);
    for (const manifest of gone) await world.removeFiles(manifest);
    await send(3);
    const gate = failingAt("captureQueue.send", new RetryableError("away"));
    await expect(run({ gate })).rejects.toThrow("away");
    expect(await world.addedBatches()).toHaveProperty("size", 3);
    expect(queue.queue.counts()).toEqual({ visible: 2, inFlight: 0 });
  });

  test("a store that is out is not asked for every file", async () => {
    await world.start();
    await send(90);
    let asked = 0;
    const gate: Gate = {
      pass: async (step, moment) => {
        if (step !== "table.head" || moment === "after") return;
        asked++;
        throw new RetryableError("away");
      },
    };
    await expect(run({ gate })).rejects.toThrow("away");
    expect(asked).toBeLessThanOrEqual(64);
  });
});

describe("captures that are deleted once committed", () => {
  test("are those in the table, before the acknowledgement; not those sent back", async () => {
    const [first] = await send(1);
    await run();
    await queue.send(first!);
    const missing = await world.batch("missing");
    await world.removeFiles(missing);
    await queue.send(missing);
    await queue.send(await world.batch("new"));
    const removed: string[] = [];
    const inFlight: number[] = [];
    await run({
      ports: {
        removeCaptures: async (sources) => {
          removed.push(...sources.map(({ id }) => id));
          inFlight.push(queue.queue.counts().inFlight);
        },
      },
    });
    expect(removed.sort()).toEqual([first!.sources[0]!.id, idOf("new")].sort());
    expect(inFlight).toEqual([3, 3]);
    expect(world.sentBack.map(({ id }) => id)).toEqual([idOf("missing")]);
  });

  test("that cannot be deleted now leave the manifest to the next run", async () => {
    await send(1);
    const removeCaptures = async () => {
      throw new RetryableError("S3 is away");
    };
    await expect(run({ ports: { removeCaptures } })).rejects.toThrow("S3 is away");
    expect(queue.queue.counts()).toEqual({ visible: 0, inFlight: 1 });
    expect(await commits()).toBe(1);
  });
});

function failingAt(name: string, error: Error): Gate {
  return {
    pass: async (step, moment) => {
      if (step === name && moment === "before") throw error;
    },
  };
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
