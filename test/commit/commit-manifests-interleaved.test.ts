import { setImmediate } from "node:timers/promises";
import { CommitInDoubtError, RetryableError } from "@deltacap/delta";
import { describe, expect, test } from "vitest";
import type { Manifest } from "../../src/manifest/manifest.ts";
import type { Gate } from "../support/memory/gated.ts";
import { Random, testSeed } from "../support/random.ts";
import { CommitterWorld } from "../support/tables/committer-world.ts";

const SEED = testSeed(20_260_102);
const HISTORIES = Number(process.env.DELTACAP_HISTORIES ?? 300);
const SOURCES = 12;

/** Lets one of the waiting steps go on at a time, which one is chance: every interleaving of the processes can come. */
class Scheduler {
  readonly #random: Random;
  readonly #waiting: (() => void)[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  async turn(): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async runUntil(done: Promise<unknown>): Promise<void> {
    let finished = false;
    void done.then(() => {
      finished = true;
    });
    while (!finished) {
      // All that can go on without a turn has done so.
      await setImmediate();
      const chosen = this.#random.below(Math.max(1, this.#waiting.length));
      for (const go of this.#waiting.splice(chosen, 1)) go();
    }
  }
}

/** Passes steps in turns; now and then the process is killed, a store fails, or a reply is lost. */
function unreliable(scheduler: Scheduler, random: Random, trouble: number): Gate {
  let killed = false;
  return {
    pass: async (step, moment) => {
      await scheduler.turn();
      if (killed) throw new Error("killed");
      if (!random.chance(trouble)) return;
      if (random.chance(0.5)) {
        killed = true;
        throw new Error("killed");
      }
      if (step === "log.commit") throw new CommitInDoubtError(`lost ${moment}`);
      throw new RetryableError(`failed ${moment} ${step}`);
    },
  };
}

/** One process after another works on a share of the deliveries, as a scheduled function does. */
async function committerProcess(world: CommitterWorld, deliveries: Manifest[], gate: Gate, random: Random) {
  for (let run = 0; run < 3; run++) {
    try {
      const committer = await world.start(gate);
      while (deliveries.length > 0) {
        const round = deliveries.slice(0, random.between(1, 3));
        await committer.commit(round);
        // Acknowledged: not before everything is done.
        await gate.pass("queue.acknowledge", "before");
        deliveries.splice(0, round.length);
      }
      return;
    } catch (error) {
      if (!/killed|lost|failed/.test((error as Error).message)) throw error;
      if ((error as Error).message === "killed") return;
    }
  }
}

async function history(seed: number): Promise<void> {
  const random = new Random(seed);
  const world = new CommitterWorld();
  const name = () => `s${random.below(SOURCES)}`;
  const manifests: Manifest[] = [];
  for (let i = 0; i < 8; i++) {
    const names = new Set(Array.from({ length: random.between(1, 3) }, name));
    const manifest = await world.batch(...names);
    if (random.chance(0.1)) await world.removeFiles(manifest);
    manifests.push(manifest);
  }
  // Delivered to both, in different orders, some of them twice.
  const shuffled = () => {
    const all = [...manifests, random.pick(manifests)];
    for (let i = all.length - 1; i > 0; i--) {
      const j = random.below(i + 1);
      [all[i], all[j]] = [all[j]!, all[i]!];
    }
    return all;
  };
  const scheduler = new Scheduler(random);
  const trouble = random.pick([0, 0.01, 0.05]);
  const processes = Array.from({ length: random.between(2, 3) }, async () => {
    await committerProcess(world, shuffled(), unreliable(scheduler, random, trouble), random);
  });
  await scheduler.runUntil(Promise.allSettled(processes));
  await Promise.all(processes);
  if (random.chance(0.2)) {
    world.ledger.entries.clear();
    world.ledger.mark = null;
  }
  await settle(world, manifests);

  const wanted = new Set(manifests.flatMap(({ sources }) => sources.map(({ id }) => id)));
  const added = await world.addedSources();
  expect(new Set(added.keys())).toEqual(wanted);
  expect([...added.values()].filter((times) => times !== 1)).toEqual([]);
  const batches = [...(await world.addedBatches()).values()];
  expect(batches.filter((times) => times !== 1)).toEqual([]);
  const known = [...world.ledger.entries].filter(([, { status }]) => status === "committed");
  expect(new Set(known.map(([id]) => id))).toEqual(wanted);
}

/** What is still in the queues is delivered, until they are empty. */
async function settle(world: CommitterWorld, manifests: readonly Manifest[]): Promise<void> {
  let round: Manifest[] = [...manifests];
  for (let i = 0; round.length > 0; i++) {
    if (i > 20) throw new Error("sources are sent back for ever");
    await world.run(round);
    const again = new Map(world.sentBack.splice(0).map((source) => [source.key, source]));
    round = await Promise.all([...again.keys()].map(async (key) => await world.batch(key)));
  }
}

describe("committers that run at once", () => {
  test(`${HISTORIES} histories from seed ${SEED}: every source exactly once, no hole in the log`, async () => {
    for (let i = 0; i < HISTORIES; i++) {
      try {
        await history(SEED + i);
      } catch (error) {
        throw new Error(`history with seed ${SEED + i} (DELTACAP_SEED=${SEED + i} DELTACAP_HISTORIES=1)`, {
          cause: error,
        });
      }
    }
  });
});
