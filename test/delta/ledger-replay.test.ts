import { expect, test } from "vitest";
import type { Action } from "../../src/delta/actions.ts";
import { commitTags } from "../../src/delta/commit-tags.ts";
import { LedgerReplay } from "../../src/delta/ledger-replay.ts";
import type { LedgerEntry } from "../../src/manifest/ledger.ts";
import { CommitterWorld, idOf } from "../support/committer-world.ts";
import { MemoryLedger } from "../support/memory-ledger.ts";

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
