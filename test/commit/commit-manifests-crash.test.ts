import { CommitInDoubtError, RetryableError } from "@deltacap/delta";
import { describe, expect, test } from "vitest";
import type { Manifest } from "../../src/manifest/manifest.ts";
import type { Gate } from "../support/memory/gated.ts";
import { CommitterWorld } from "../support/tables/committer-world.ts";

/** A round with every kind of manifest, on a table that another run has begun. */
async function fullRound(): Promise<{ world: CommitterWorld; manifests: Manifest[] }> {
  const world = new CommitterWorld();
  await world.run([await world.batch("old1", "old2")]);
  // The run before was killed between its commit and its ledger write.
  const killed = gateAt(
    (step, moment) => step === "ledger.putCommitted" && moment === "before",
    new Error("killed"),
  );
  await world.run([await world.batch("old3")], killed).catch(() => {});
  const vacuumed = await world.batch("v1", "v2");
  await world.removeFiles(vacuumed);
  const manifests = [
    await world.batch("new1", "new2"),
    await world.batch("old1", "old2"),
    await world.batch("old3", "mixed"),
    vacuumed,
    await world.batch("new3"),
  ];
  return { world, manifests };
}

function gateAt(where: (step: string, moment: "before" | "after") => boolean, error: Error): Gate {
  let failed = false;
  return {
    pass: async (step, moment) => {
      // A process that was killed does nothing more.
      if (failed) throw error;
      if (!where(step, moment)) return;
      failed = true;
      throw error;
    },
  };
}

/** Everything is delivered again, what was sent back is converted again, until nothing is left to do. */
async function finish(world: CommitterWorld, manifests: readonly Manifest[]): Promise<void> {
  let round = [...manifests];
  for (let i = 0; round.length > 0; i++) {
    if (i > 10) throw new Error("sources are sent back for ever");
    world.sentBack.length = 0;
    await world.run(round);
    round = await Promise.all(world.sentBack.map(async (source) => await world.batch(source.key)));
  }
}

const SOURCES = ["old1", "old2", "old3", "new1", "new2", "new3", "mixed", "v1", "v2"];

async function requireExactlyOnce(world: CommitterWorld): Promise<void> {
  // Throws for a hole.
  await world.versions();
  const sources = await world.addedSources();
  expect([...sources.values()].every((times) => times === 1)).toBe(true);
  expect(sources.size).toBe(SOURCES.length);
  const batches = await world.addedBatches();
  expect([...batches.values()].every((times) => times === 1)).toBe(true);
  // The ledger says the same as the log.
  const committed = [...world.ledger.entries.values()].filter(({ status }) => status === "committed");
  expect(committed).toHaveLength(SOURCES.length);
  expect(world.ledger.mark).toBe((await world.versions()).at(-1));
}

/** Names of the steps of an undisturbed run, in order. */
async function stepsOfRun(): Promise<string[]> {
  const { world, manifests } = await fullRound();
  const steps: string[] = [];
  await world.run(manifests, {
    pass: async (step, moment) => void steps.push(`${moment} ${step}`),
  });
  return steps;
}

const steps = await stepsOfRun();

describe("a process killed at any step loses nothing and repeats nothing", () => {
  test("the round takes every kind of step", () => {
    const kinds = ["log.repair", "ledger.watermark", "log.read", "log.list", "ledger.putCommitted"];
    kinds.push("ledger.advanceWatermark", "ledger.lookup", "table.head", "log.commit", "captures.exists");
    for (const kind of [...kinds, "captureQueue.send"]) expect(steps).toContain(`after ${kind}`);
  });

  test.each(steps.map((step, number) => ({ step, number })))("step $number: $step", async ({ number }) => {
    const { world, manifests } = await fullRound();
    let passed = 0;
    const killed = new Error("killed");
    const gate = gateAt(() => passed++ === number, killed);
    // What concerns one manifest only is that manifest's result.
    const results = await world.run(manifests, gate).catch((thrown: unknown) => [{ error: thrown }]);
    expect(results).toContainEqual(expect.objectContaining({ error: killed }));
    await finish(world, manifests);
    await requireExactlyOnce(world);
  });

  test.each(steps.map((step, number) => ({ step, number })))(
    "an error at step $number ($step), and the same process goes on",
    async ({ step, number }) => {
      const { world, manifests } = await fullRound();
      let passed = 0;
      const error = step.endsWith("log.commit")
        ? new CommitInDoubtError("no answer")
        : new RetryableError("throttled");
      const gate: Gate = {
        pass: async () => {
          if (passed++ === number) throw error;
        },
      };
      const committer = await world.start(gate).catch(async (thrown: unknown) => {
        expect(thrown).toBe(error);
        return await world.start(gate);
      });
      await committer.commit(manifests).catch(async (thrown: unknown) => {
        expect(thrown).toBe(error);
        await committer.commit(manifests);
      });
      await finish(world, manifests);
      await requireExactlyOnce(world);
    },
  );
});
