import type { Action } from "@deltacap/delta";
import { describe, expect, test } from "vitest";
import { commitTags, forgottenTags, readForgotten } from "../../src/commit/commit-tags.ts";
import { LedgerReplay } from "../../src/commit/ledger-replay.ts";
import type { LedgerEntry } from "../../src/manifest/ledger.ts";
import { MemoryLedger } from "../support/memory/memory-ledger.ts";
import { CommitterWorld, idOf } from "../support/tables/committer-world.ts";

const full: LedgerEntry = {
  status: "committed",
  version: 3,
  capture: "s3://bucket/a",
  batchId: "batch-1",
  packets: 7,
  damage: { offset: 2 ** 33, reason: "x".repeat(1_000) },
};

async function replayed(ledger: MemoryLedger, damage?: { offset: number; reason: string }): Promise<void> {
  const manifest = await new CommitterWorld().batch("a");
  const [source] = manifest.sources;
  const sources = [{ ...source!, ...(damage === undefined ? {} : { damage }) }];
  const actions: Action[] = [{ commitInfo: { txnId: "t", tags: commitTags([{ ...manifest, sources }]) } }];
  const replay = new LedgerReplay(ledger);
  await replay.add(3, actions);
  await replay.flush();
}

test("a replay keeps capture, batch, packets and the whole damage that the ledger knew", async () => {
  const ledger = new MemoryLedger();
  ledger.entries.set(idOf("a"), full);
  await replayed(ledger, full.damage);
  expect(ledger.entries.get(idOf("a"))).toEqual(full);
  expect(ledger.mark).toBe(3);
});

test("a replay of what was set aside keeps the capture's name", async () => {
  const ledger = new MemoryLedger();
  ledger.entries.set(idOf("a"), { status: "empty", capture: "s3://bucket/a" });
  await replayed(ledger);
  expect(ledger.entries.get(idOf("a"))).toEqual({
    status: "committed",
    version: 3,
    capture: "s3://bucket/a",
  });
});

test("a replay into an empty ledger writes what the log knows", async () => {
  const ledger = new MemoryLedger();
  await replayed(ledger, { offset: 5, reason: "cut" });
  const damage = { offset: 5, reason: "cut" };
  expect(ledger.entries.get(idOf("a"))).toEqual({ status: "committed", version: 3, damage });
});

describe("a source whose vehicle was forgotten", () => {
  const commit = async (id: string): Promise<Action[]> => {
    const manifest = await new CommitterWorld().batch(id);
    return [{ commitInfo: { txnId: "t", tags: commitTags([manifest]) } }];
  };
  const forgetting = (...ids: string[]): Action[] => [
    { commitInfo: { txnId: "f", tags: forgottenTags(ids.map(idOf)) } },
  ];
  /** One replay, or one for each version. */
  async function replay(ledger: MemoryLedger, versions: readonly Action[][], isOne: boolean): Promise<void> {
    let replay = new LedgerReplay(ledger);
    for (const [version, actions] of versions.entries()) {
      await replay.add(version, actions);
      if (isOne) continue;
      await replay.flush();
      replay = new LedgerReplay(ledger);
    }
    await replay.flush();
  }

  test.each([true, false])(
    "is known as such, until it was committed again (in one replay: %s)",
    async (isOne) => {
      const ledger = new MemoryLedger();
      const versions = [
        await commit("a"),
        await commit("b"),
        forgetting("a"),
        await commit("b"),
        await commit("a"),
      ];
      await replay(ledger, versions.slice(0, 3), isOne);
      expect(ledger.entries.get(idOf("a"))).toEqual({ status: "committed", version: 0, forgottenIn: 2 });
      await replay(new MemoryLedger(), versions, isOne);
      const whole = new MemoryLedger();
      await replay(whole, versions, isOne);
      expect(whole.entries.get(idOf("a"))).toEqual({ status: "committed", version: 4 });
      expect(whole.entries.get(idOf("b"))).toEqual({ status: "committed", version: 3 });
    },
  );

  test("keeps what the ledger knew of it", async () => {
    const ledger = new MemoryLedger();
    ledger.entries.set(idOf("a"), full);
    const replay = new LedgerReplay(ledger);
    await replay.add(5, forgetting("a"));
    await replay.flush();
    expect(ledger.entries.get(idOf("a"))).toEqual({ ...full, forgottenIn: 5 });
  });

  test("stays unknown where the ledger does not know it: it was released meanwhile", async () => {
    const ledger = new MemoryLedger();
    ledger.entries.set(idOf("b"), { status: "empty", capture: "b" });
    const replay = new LedgerReplay(ledger);
    await replay.add(5, forgetting("a", "b"));
    await replay.flush();
    expect([...ledger.entries]).toEqual([[idOf("b"), { status: "empty", capture: "b" }]]);
    expect(ledger.mark).toBe(5);
  });

  test("that another run has committed again since is left so", async () => {
    const ledger = new MemoryLedger();
    ledger.entries.set(idOf("a"), { status: "committed", version: 7 });
    await replay(ledger, [await commit("a"), forgetting("a")], true);
    expect(ledger.entries.get(idOf("a"))).toEqual({ status: "committed", version: 7 });
  });

  test("that has no id, as another writer's rows may say, is not in the tag", () => {
    expect(readForgotten(forgottenTags(["car-1", idOf("a"), idOf("b").toUpperCase(), ""]))).toEqual([
      idOf("a"),
    ]);
    expect(forgottenTags(["car-1"])).toEqual({});
  });

  test("a tag that cannot be read is refused: what is left out would not be known", () => {
    expect(() => readForgotten({ "deltacap.forgotten": "%%%" })).toThrow(/deltacap.forgotten is no base64/);
    expect(readForgotten({ other: "x" })).toEqual([]);
  });
});
