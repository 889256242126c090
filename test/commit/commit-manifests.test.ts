import type { ObjectInfo } from "@deltacap/delta";
import {
  CommitInDoubtError,
  commitFileName,
  type LogStore,
  RetryableError,
  TableRefusedError,
} from "@deltacap/delta";
import type { TableSchema } from "@deltacap/parquet";
import { describe, expect, test } from "vitest";
import { Committer } from "../../src/commit/commit-manifests.ts";
import { MAX_SOURCES, type Manifest } from "../../src/manifest/manifest.ts";
import type { Gate } from "../support/memory/gated.ts";
import { CommitterWorld, idOf, smallTable } from "../support/tables/committer-world.ts";

/** Fails the n-th time (1, 2 ...) that the step is passed. */
function failing(step: string, moment: "before" | "after", error: Error, time = 1): Gate {
  let passed = 0;
  return {
    pass: async (name, at) => {
      if (name === step && at === moment && ++passed === time) throw error;
    },
  };
}

/** Notes the steps that begin. */
function recording(steps: string[]): Gate {
  return {
    pass: async (step, moment) => {
      if (moment === "before") steps.push(step);
    },
  };
}

/** A log store that lets somebody else in just before its first attempt at the version. */
function overtaken(log: LogStore, version: number, byWhom: () => Promise<void>): LogStore {
  let done = false;
  return {
    repair: async () => await log.repair(),
    list: (from) => log.list(from),
    remains: async () => await log.remains(),
    read: async (name, range) => await log.read(name, range),
    commit: async (at, body) => {
      if (at === version && !done) {
        done = true;
        await byWhom();
      }
      return await log.commit(at, body);
    },
  };
}

const outcomes = (results: readonly { outcome: string }[]) => results.map(({ outcome }) => outcome);

describe("manifests become versions", () => {
  test("the first run makes the table as version 0 and adds all manifests in one version", async () => {
    const world = new CommitterWorld();
    const results = await world.run([await world.batch("a", "b"), await world.batch("c")]);
    expect(results).toMatchObject([
      { outcome: "committed", version: 1 },
      { outcome: "committed", version: 1 },
    ]);
    expect(await world.versions()).toEqual([0, 1]);
    expect(await world.addedBatches()).toEqual(
      new Map([
        ["batch-1", 1],
        ["batch-2", 1],
      ]),
    );
  });

  test("nothing to add makes no version", async () => {
    const world = new CommitterWorld();
    expect(await world.run([])).toEqual([]);
    expect(await world.versions()).toEqual([0]);
  });

  test("the ledger says where each source is, and is complete up to the version", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a")]);
    expect(world.ledger.entries.get(idOf("a"))).toEqual({
      status: "committed",
      version: 1,
      batchId: "batch-1",
      capture: "s3://bucket/a",
      packets: 1,
    });
    expect(world.ledger.mark).toBe(1);
  });

  test("losing the race for version 0 is no error: the winner's table is used", async () => {
    const world = new CommitterWorld();
    const winner = new CommitterWorld();
    await winner.start();
    const log = overtaken(world.log, 0, async () => {
      await world.log.commit(0, (await winner.log.read(commitFileName(0)))!);
    });
    const committer = await world.start(null, { log });
    expect(await committer.commit([await world.batch("a")])).toMatchObject([{ outcome: "committed" }]);
    expect(await world.commitText(0)).toBe(await winner.commitText(0));
  });

  test("more sources than one commit may carry become several commits", async () => {
    const world = new CommitterWorld();
    const names = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
    const results = await world.run([
      await world.batch(...names("a", MAX_SOURCES - 1)),
      await world.batch("b"),
      await world.batch("c"),
    ]);
    expect(results).toMatchObject([{ version: 1 }, { version: 1 }, { version: 2 }]);
    expect((await world.addedSources()).size).toBe(MAX_SOURCES + 1);
  });

  test("a run that begins with the last run's snapshot reads what came since, and the commit that the ledger ends at", async () => {
    const world = new CommitterWorld();
    const first = await world.start();
    await first.commit([await world.batch("a")]);
    await world.run([await world.batch("b")]);
    const read: string[] = [];
    const log: LogStore = {
      ...bound(world.log),
      read: async (name) => {
        read.push(name);
        return await world.log.read(name);
      },
    };
    const warm = await Committer.start({ ...world.ports(), log }, smallTable, first.snapshot);
    expect(warm.version).toBe(2);
    expect(read).toEqual([commitFileName(2), commitFileName(2)]);
    await warm.commit([await world.batch("c")]);
    expect(await world.versions()).toEqual([0, 1, 2, 3]);
  });
});

describe("a manifest is atomic", () => {
  test("all its sources known: dropped, and its files stay", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a", "b")]);
    const again = await world.batch("a", "b");
    expect(outcomes(await world.run([again]))).toEqual(["duplicate"]);
    expect(await world.versions()).toEqual([0, 1]);
    expect(await world.objects.head(again.files[0]!.path)).not.toBeNull();
  });

  test("the same manifest delivered twice in one round is added once", async () => {
    const world = new CommitterWorld();
    const manifest = await world.batch("a");
    expect(outcomes(await world.run([manifest, structuredClone(manifest)]))).toEqual([
      "committed",
      "duplicate",
    ]);
    expect(await world.addedBatches()).toEqual(new Map([["batch-1", 1]]));
  });

  test("mixed: nothing of it is added, its new sources are sent back, and only after the commit", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a")]);
    const steps: string[] = [];
    const results = await world.run(
      [await world.batch("a", "b", "c"), await world.batch("d")],
      recording(steps),
    );
    expect(results).toMatchObject([{ outcome: "sent back", sources: 2 }, { outcome: "committed" }]);
    expect(world.sentBack.map(({ key }) => key)).toEqual(["b", "c"]);
    expect(steps.indexOf("captureQueue.send")).toBeGreaterThan(steps.indexOf("ledger.putCommitted"));
    expect((await world.addedBatches()).has("batch-2")).toBe(false);
  });

  test("two manifests of one round that share a source are checked in order", async () => {
    const world = new CommitterWorld();
    const results = await world.run([
      await world.batch("a"),
      await world.batch("b", "a"),
      await world.batch("b"),
    ]);
    expect(outcomes(results)).toEqual(["committed", "sent back", "committed"]);
    expect(world.sentBack.map(({ key }) => key)).toEqual(["b"]);
    expect(await world.addedSources()).toEqual(
      new Map([
        [idOf("a"), 1],
        [idOf("b"), 1],
      ]),
    );
  });

  test("a known id with another key is refused, not a duplicate, and nothing of it may be deleted", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a")]);
    const honest = await world.batch("a");
    const [source] = honest.sources;
    const forged = { ...source!, key: "other", capture: "s3://bucket/other" };
    const results = await world.run([honest, { ...honest, sources: [forged] }]);
    expect(results).toMatchObject([
      { outcome: "duplicate", named: [{ capture: "s3://bucket/a" }] },
      { outcome: "refused", reason: expect.stringMatching(/s3:..bucket.other.*s3:..bucket.a/) as string },
    ]);
  });

  test("of a duplicate whose ledger entry names no capture, none may be deleted", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a")]);
    world.ledger.entries.set(idOf("a"), { status: "committed", version: 1 });
    expect(await world.run([await world.batch("a")])).toMatchObject([{ outcome: "duplicate", named: [] }]);
  });

  test("one that repeats a source within itself is refused, and its neighbours go on", async () => {
    const world = new CommitterWorld();
    const results = await world.run([await world.batch("a", "b", "a"), await world.batch("b")]);
    expect(results).toMatchObject([{ outcome: "refused" }, { outcome: "committed" }]);
    expect(results[0]).toMatchObject({ reason: expect.stringContaining(idOf("a")) as string });
  });

  test("a source that was rejected or empty before is not known", async () => {
    const world = new CommitterWorld();
    await world.ledger.putSetAside(new Map([[idOf("a"), { status: "empty", capture: "s3://bucket/a" }]]));
    expect(outcomes(await world.run([await world.batch("a")]))).toEqual(["committed"]);
  });
});

describe("files are looked at before they are added", () => {
  test("a missing file sends the manifest's sources back, and the rest of the round commits", async () => {
    const world = new CommitterWorld();
    const vacuumed = await world.batch("a", "b");
    await world.removeFiles(vacuumed);
    const results = await world.run([vacuumed, await world.batch("c"), await world.batch("a")]);
    expect(outcomes(results)).toEqual(["sent back", "committed", "committed"]);
    expect(world.sentBack.map(({ key }) => key)).toEqual(["a", "b"]);
  });

  test("! nothing is sent back when a raw object is gone: refused, files kept", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a")]);
    const mixed = await world.batch("a", "b", "c");
    world.gone.add("c");
    const results = await world.run([mixed]);
    expect(results).toMatchObject([
      { outcome: "refused", reason: expect.stringContaining("s3://bucket/c") as string },
    ]);
    expect(world.sentBack).toEqual([]);
    expect(await world.objects.head(mixed.files[0]!.path)).not.toBeNull();
  });

  test("a file of another size, or with other partition columns, is refused with both values", async () => {
    const world = new CommitterWorld();
    const good = await world.batch("a");
    const change = (file: Partial<Manifest["files"][number]>): Manifest => ({
      ...good,
      files: good.files.map((old) => ({ ...old, ...file })),
    });
    const results = await world.run([change({ size: 7 }), change({ partitionValues: { day: "1" } })]);
    expect(results).toMatchObject([
      { outcome: "refused", reason: expect.stringMatching(/101 bytes.* 7/) as string },
      { outcome: "refused", reason: expect.stringContaining("[day]") as string },
    ]);
  });

  test.each<[string, (info: ObjectInfo | null) => ObjectInfo | null]>([
    ["that finds nothing", () => null],
    ["with a shorter size", (info) => info && { ...info, size: info.size - 1 }],
  ])(
    "one HEAD %s decides over no manifest: nothing is committed, refused or sent back",
    async (_, change) => {
      const world = new CommitterWorld();
      const committer = await world.start();
      const manifest = await world.batch("a");
      const head = world.objects.head.bind(world.objects);
      let looks = 0;
      world.objects.head = async (path) => (looks++ === 0 ? change(await head(path)) : await head(path));
      const error = expect.any(RetryableError) as Error;
      expect(await committer.commit([manifest])).toMatchObject([{ outcome: "failed", step: "files", error }]);
      expect(world.sentBack).toEqual([]);
      expect(await committer.commit([manifest])).toMatchObject([{ outcome: "committed" }]);
    },
  );

  test("a file that the check does not like is refused with its reason", async () => {
    const world = new CommitterWorld();
    const committer = await world.start(null, { checkFile: async () => "it is no Parquet file" });
    expect(await committer.commit([await world.batch("a")])).toMatchObject([
      { outcome: "refused", reason: "it is no Parquet file" },
    ]);
  });

  test("files are looked at once, however many conflicts the commit meets", async () => {
    const world = new CommitterWorld();
    const steps: string[] = [];
    await world.start();
    const committer = await world.start(recording(steps), {
      log: overtaken(world.log, 1, async () => await world.foreignCommit(1, [])),
    });
    await committer.commit([await world.batch("a")]);
    expect(await world.versions()).toEqual([0, 1, 2]);
    expect(steps.filter((step) => step === "table.head")).toHaveLength(1);
  });
});

describe("! the committer never deletes", () => {
  test("no run removes a data file, whatever becomes of its manifest", async () => {
    const world = new CommitterWorld();
    const steps: string[] = [];
    await world.run([await world.batch("a")]);
    const wrong = await world.batch("x", "x");
    await world.run([await world.batch("a"), await world.batch("a", "b"), wrong], recording(steps));
    expect(steps.filter((step) => step === "table.remove" || step === "table.put")).toEqual([]);
  });
});

describe("conflicts", () => {
  test("the winner's sources are known to the new plan, which goes one version higher", async () => {
    const world = new CommitterWorld();
    await world.start();
    const first = await world.batch("a");
    const log = overtaken(world.log, 1, async () => void (await world.run([first])));
    const committer = await world.start(null, { log });
    const results = await committer.commit([await world.batch("a"), await world.batch("b")]);
    expect(results).toMatchObject([{ outcome: "duplicate" }, { outcome: "committed", version: 2 }]);
    expect(await world.addedSources()).toEqual(
      new Map([
        [idOf("a"), 1],
        [idOf("b"), 1],
      ]),
    );
  });

  test("! the winner's tags are replayed even if the winner died before its own ledger write", async () => {
    const world = new CommitterWorld();
    await world.start();
    const first = await world.batch("a");
    const died = new Error("killed");
    const log = overtaken(world.log, 1, async () => {
      await expect(world.run([first], failing("ledger.putCommitted", "before", died))).rejects.toBe(died);
    });
    const committer = await world.start(null, { log });
    expect(outcomes(await committer.commit([await world.batch("a")]))).toEqual(["duplicate"]);
    expect(world.ledger.entries.get(idOf("a"))).toMatchObject({ status: "committed", version: 1 });
    expect(world.ledger.mark).toBe(1);
  });

  test("a winner that changed the table into one we must not write to stops the commit", async () => {
    const world = new CommitterWorld();
    await world.start();
    const protocol = {
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: [],
      writerFeatures: ["rowTracking"],
    };
    const log = overtaken(world.log, 1, async () => await world.foreignCommit(1, [{ protocol }]));
    const committer = await world.start(null, { log });
    await expect(committer.commit([await world.batch("a")])).rejects.toThrow(/rowTracking/);
    expect(await world.versions()).toEqual([0, 1]);
  });

  test("a winner that left its commit prepared is finished first, then replayed", async () => {
    const world = new CommitterWorld();
    await world.start();
    const winner = new CommitterWorld();
    await winner.run([await winner.batch("a")]);
    const prepared = (await winner.log.read(commitFileName(1)))!;
    let repairs = 0;
    const log: LogStore = {
      ...bound(world.log),
      commit: async (version, body) => (repairs < 2 ? "conflict" : await world.log.commit(version, body)),
      // At the start there was nothing to repair yet.
      repair: async () => {
        if (++repairs === 2) await world.log.commit(1, prepared);
      },
    };
    const committer = await world.start(null, { log });
    const results = await committer.commit([await world.batch("a"), await world.batch("b")]);
    expect(results).toMatchObject([{ outcome: "duplicate" }, { outcome: "committed", version: 2 }]);
    expect(world.waits).toHaveLength(1);
  });

  test("waits grow with jitter, and end with an error that acknowledges nothing", async () => {
    const world = new CommitterWorld();
    await world.start();
    const committer = await world.start(null, {
      log: { ...bound(world.log), commit: async () => "conflict" },
    });
    await expect(committer.commit([await world.batch("a")])).rejects.toThrow(RetryableError);
    expect(world.waits).toHaveLength(20);
    expect(world.waits.slice(0, 6)).toEqual([50, 100, 200, 400, 500, 500]);
  });

  test("no further attempt is made after the deadline", async () => {
    const world = new CommitterWorld();
    await world.start();
    const committer = await world.start(null, {
      log: { ...bound(world.log), commit: async () => "conflict" },
    });
    await expect(committer.commit([await world.batch("a")], 1)).rejects.toThrow(RetryableError);
    expect(world.waits).toEqual([]);
  });
});

describe("! the ledger and its watermark", () => {
  test("no watermark on a table with versions: every commit is replayed", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a")]);
    await world.run([await world.batch("b", "c")]);
    world.ledger.entries.clear();
    world.ledger.mark = null;
    expect(outcomes(await world.run([await world.batch("a"), await world.batch("b", "c")]))).toEqual([
      "duplicate",
      "duplicate",
    ]);
    expect(world.ledger.mark).toBe(2);
  });

  test("a run replays what was committed after the watermark, and only that", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a")]);
    await world.run([await world.batch("b")]);
    world.ledger.entries.clear();
    world.ledger.mark = 1;
    await world.start();
    expect([...world.ledger.entries.keys()]).toEqual([idOf("b")]);
  });

  test("the watermark does not pass a version whose entries were not written", async () => {
    const world = new CommitterWorld();
    const error = new RetryableError("throttled");
    const gate = failing("ledger.putCommitted", "before", error);
    await expect(world.run([await world.batch("a")], gate)).rejects.toBe(error);
    expect(world.ledger.mark).toBe(0);
  });

  test("a commit whose ledger write failed is not repeated by the same committer", async () => {
    const world = new CommitterWorld();
    const error = new RetryableError("throttled");
    const committer = await world.start(failing("ledger.putCommitted", "before", error));
    const manifest = await world.batch("a");
    await expect(committer.commit([manifest])).rejects.toBe(error);
    expect(outcomes(await committer.commit([manifest]))).toEqual(["duplicate"]);
    expect(await world.addedBatches()).toEqual(new Map([["batch-1", 1]]));
  });

  test("entries are written before the watermark that covers them", async () => {
    const world = new CommitterWorld();
    const steps: string[] = [];
    await world.start();
    await world.run([await world.batch("a")], recording(steps));
    const writes = steps.filter((step) => /putCommitted|advanceWatermark|log.commit/.test(step));
    expect(writes).toEqual(["log.commit", "ledger.putCommitted", "ledger.advanceWatermark"]);
  });

  test("the version after the watermark is gone from the log: refused, nothing written", async () => {
    const world = new CommitterWorld();
    for (const name of ["a", "b", "c"]) await world.run([await world.batch(name)]);
    const { snapshot } = await world.start();
    await world.objects.remove([0, 1, 2].map((version) => `_delta_log/${commitFileName(version)}`));
    const start = async (watermark: number | null) => {
      world.ledger.mark = watermark;
      return await Committer.start(world.ports(), smallTable, snapshot);
    };
    await expect(start(1)).rejects.toThrow(/version 2 is no longer in the log/);
    await expect(start(null)).rejects.toThrow(/version 0 is no longer in the log/);
    await expect(start(1)).rejects.toThrow(TableRefusedError);
    expect((await start(2)).version).toBe(3);
    expect((await start(3)).version).toBe(3);
  });

  test("a ledger that is ahead of the log belongs to another table: refused", async () => {
    const world = new CommitterWorld();
    world.ledger.mark = 4;
    await expect(world.start()).rejects.toThrow(/up to version 4.*ends at nothing/);
    expect(await world.versions()).toEqual([]);
    world.ledger.mark = null;
    await world.run([await world.batch("a")]);
    world.ledger.mark = 4;
    await expect(world.start()).rejects.toThrow(/up to version 4.*ends at 1/);
  });

  test("a log put back from a backup that another writer went on with: refused, nothing skipped", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a")]);
    const { snapshot } = await world.start();
    await world.run([await world.batch("b")]);
    await world.objects.remove([`_delta_log/${commitFileName(2)}`]);
    await world.foreignCommit(2, []);
    for (const warm of [null, snapshot]) {
      const start = Committer.start(world.ports(), smallTable, warm);
      await expect(start).rejects.toThrow(
        /version 2 is the commit id-\d+, and the log's is foreign-2.*Clear the memory/,
      );
      await expect(start).rejects.toThrow(TableRefusedError);
    }
    world.ledger.entries.clear();
    world.ledger.mark = null;
    expect(outcomes(await world.run([await world.batch("a"), await world.batch("b")]))).toEqual([
      "duplicate",
      "committed",
    ]);
  });

  test("commits of other writers are told apart by their txnId, or by all that they say", async () => {
    for (const [first, second] of [
      ['{"commitInfo":{"txnId":"x"}}', '{"commitInfo":{"txnId":"y"}}'],
      ['{"commitInfo":{"timestamp":1}}', '{"commitInfo":{"timestamp":2}}'],
      ['{"commitInfo":{"txnId":""}}', '{"commitInfo":{"txnId":null}}'],
      ['{"txn":{"appId":"a","version":1}}', '{"txn":{"appId":"a","version":2}}'],
    ] as const) {
      const world = new CommitterWorld();
      await world.start();
      const path = `_delta_log/${commitFileName(1)}`;
      await world.objects.putIfAbsent(path, new TextEncoder().encode(first));
      await world.start();
      await world.start();
      expect(world.ledger.mark).toBe(1);
      await world.objects.remove([path]);
      await world.objects.putIfAbsent(path, new TextEncoder().encode(second));
      await expect(world.start(), `${first} ${second}`).rejects.toThrow(/an index of another log/);
    }
  });

  test("a ledger of an older Deltacap does not say which commit it means, and is believed", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a")]);
    world.ledger.commits.clear();
    expect(outcomes(await world.run([await world.batch("a"), await world.batch("b")]))).toEqual([
      "duplicate",
      "committed",
    ]);
    expect([...world.ledger.commits.keys()]).toEqual([2]);
  });

  test("a watermark that another committer moves while this one starts is no error", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a")]);
    const gate: Gate = {
      pass: async (step, moment) => {
        if (step === "ledger.watermark" && moment === "after") await world.run([await world.batch("b")]);
      },
    };
    expect((await world.start(gate)).version).toBe(2);
  });
});

describe("order and outcomes after the commit point", () => {
  test("in doubt: nothing is written to the ledger, nothing sent back, and the next run finds out", async () => {
    for (const written of [true, false]) {
      const world = new CommitterWorld();
      await world.run([await world.batch("a")]);
      const moment = written ? "after" : "before";
      const gate = failing("log.commit", moment, new CommitInDoubtError("no answer"));
      const manifests = [await world.batch("b"), await world.batch("a", "c")];
      await expect(world.run(manifests, gate)).rejects.toThrow(CommitInDoubtError);
      expect(world.ledger.entries.has(idOf("b"))).toBe(false);
      expect(world.sentBack).toEqual([]);
      expect(outcomes(await world.run(manifests))).toEqual([
        written ? "duplicate" : "committed",
        "sent back",
      ]);
      expect((await world.addedSources()).get(idOf("b"))).toBe(1);
    }
  });

  test("repair comes first, then the gate, and only then anything is written", async () => {
    const world = new CommitterWorld();
    const steps: string[] = [];
    await world.start(recording(steps));
    expect(steps[0]).toBe("log.repair");
    const refused = new CommitterWorld();
    const columns: TableSchema = { ...smallTable, partitionColumn: "n" };
    await Committer.start(refused.ports(), columns);
    const later: string[] = [];
    await expect(refused.start(recording(later))).rejects.toThrow(/partitioned by \[n\]/);
    expect(later.filter((step) => /commit|put|advance|send/.test(step))).toEqual([]);
  });
});

describe("a table that must be refused", () => {
  test("is left alone, and so is its ledger, however much is to be replayed into it", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch(...Array.from({ length: 6_000 }, (_, i) => `s${i}`))]);
    const protocol = {
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: [],
      writerFeatures: ["rowTracking"],
    };
    await world.foreignCommit(2, [{ protocol }]);
    world.ledger.entries.clear();
    world.ledger.mark = null;
    await expect(world.start()).rejects.toThrow(/rowTracking/);
    expect(world.ledger.entries.size).toBe(0);
    expect(await world.versions()).toEqual([0, 1, 2]);
  });
});

describe("the schema grows", () => {
  const wider: TableSchema = {
    ...smallTable,
    columns: [...smallTable.columns, { name: "extra", type: "string", meaning: "new", statistics: true }],
  };

  test("new columns come at the end, in the first commit that needs them and no other", async () => {
    const world = new CommitterWorld();
    await world.run([await world.batch("a")]);
    const committer = await Committer.start(world.ports(), wider);
    await committer.commit([await world.batch("b")]);
    await committer.commit([await world.batch("c")]);
    const changes = await Promise.all(
      [1, 2, 3].map(async (version) =>
        (await world.actions(version)).flatMap(({ metaData }) => metaData ?? []),
      ),
    );
    expect(changes.map((metadata) => metadata.length)).toEqual([0, 1, 0]);
    const schema = JSON.parse(changes[1]![0]!.schemaString) as { fields: { name: string }[] };
    expect(schema.fields.map(({ name }) => name)).toEqual(["date", "n", "frame", "extra"]);
    expect(changes[1]![0]!.configuration["delta.dataSkippingStatsColumns"]).toBe("n,extra");
    expect((await world.start()).version).toBe(3);
  });

  test("a column of another type is refused by name", async () => {
    const world = new CommitterWorld();
    await world.start();
    const other: TableSchema = {
      ...smallTable,
      columns: smallTable.columns.map((column) =>
        column.name === "n" ? { ...column, type: "string" } : column,
      ),
    };
    await expect(Committer.start(world.ports(), other)).rejects.toThrow(/column n "long".*n "string"/);
  });
});

/** Methods of a class instance as an object's own, so that it can be spread. */
function bound(log: LogStore): LogStore {
  return {
    repair: async () => await log.repair(),
    list: (from) => log.list(from),
    remains: async () => await log.remains(),
    read: async (name, range) => await log.read(name, range),
    commit: async (version, body) => await log.commit(version, body),
  };
}
