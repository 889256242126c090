import { describe, expect, test } from "vitest";
import { MemoryObjectStore } from "../../../../test/support/memory/memory-object-store.ts";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { livePaths } from "../../../../test/support/tables/live-paths.ts";
import { TableHistory } from "../../../../test/support/tables/table-history.ts";
import { logicalKey, type TableModel } from "../../../../test/support/tables/table-model.ts";
import type { ReconciledLog } from "../../src/actions/reconciled-log.ts";
import { schemaFields } from "../../src/actions/schema.ts";
import { reconcileLog } from "../../src/log/reconcile.ts";
import { readSnapshot, refreshed, type Snapshot } from "../../src/log/snapshot.ts";

const SEED = testSeed(20_261_130);
const HISTORIES = 200;
const STEPS = 12;

/** What the model says, in the words of the log's state. */
function expected(model: TableModel) {
  return {
    version: model.version,
    protocol: model.protocol,
    columns: model.columns,
    configuration: model.configuration,
    transactions: [...model.transactions].sort(),
    domains: [...model.domains].sort(),
    files: [...model.files.values()].map((file) => [logicalKey(file), file.values.length, file.size]).sort(),
    removed: [...model.removed.keys()].sort(),
  };
}

async function found(state: ReconciledLog | null) {
  if (state === null) throw new Error("there is no table");
  const files: unknown[][] = [];
  const removed: string[] = [];
  const keyOf = (file: { path: string; deletionVector?: unknown }) => {
    const vector = file.deletionVector as { pathOrInlineDv: string; offset: number } | null | undefined;
    const id = vector ? `u${vector.pathOrInlineDv}@${vector.offset}` : null;
    return logicalKey({ path: decodeURIComponent(file.path), vector: id });
  };
  for await (const actions of state.files()) {
    for (const { add, remove } of actions) {
      if (remove !== undefined) removed.push(keyOf(remove));
      if (add === undefined) continue;
      const rows = (JSON.parse(add.stats ?? "{}") as { numRecords?: number }).numRecords;
      files.push([keyOf(add), rows, add.size]);
    }
  }
  return {
    version: state.version,
    protocol: state.protocol,
    columns: schemaFields(state.metadata.schemaString).map(({ name }) => name),
    configuration: state.metadata.configuration,
    transactions: state.transactions.map(({ appId, version }) => [appId, version]).sort(),
    domains: state.domains.map(({ domain, configuration }) => [domain, configuration]).sort(),
    files: files.sort(),
    removed: removed.sort(),
  };
}

async function checkNow(history: TableHistory, earlier: Snapshot | null): Promise<Snapshot> {
  const model = history.now;
  expect(await found(await reconcileLog(history.log))).toEqual(expected(model));
  const snapshot = await readSnapshot(history.log);
  if (snapshot === null) throw new Error("there is no table");
  expect(snapshot).toMatchObject({ version: model.version, protocol: model.protocol });
  expect(snapshot.metadata.configuration).toEqual(model.configuration);
  expect(snapshot.transactions).toEqual(model.transactions);
  if (earlier !== null) expect(await refreshed(history.log, earlier)).toEqual(snapshot);
  if ([...model.files.values()].every(({ vector }) => vector === null)) {
    expect(await livePaths(history.log)).toEqual([...model.files.keys()].sort());
  }
  return snapshot;
}

describe(`random histories of a table give the model's state, seed ${SEED}`, () => {
  test.each(Array.from({ length: HISTORIES / 20 }, (_, i) => i * 20))("from number %i on", async (first) => {
    for (let number = first; number < first + 20; number++) {
      const random = new Random(SEED + number);
      const history = new TableHistory(random, new MemoryObjectStore(), { data: false, unreadable: true });
      try {
        await history.begin();
        let snapshot: Snapshot | null = null;
        for (let step = 0; step < STEPS; step++) {
          await history.step();
          snapshot = await checkNow(history, random.chance(0.5) ? snapshot : null);
        }
        const version = random.between(history.earliest, history.now.version);
        const then = await reconcileLog(history.log, version);
        expect(await found(then)).toEqual(expected(history.models[version]!));
      } catch (error) {
        const steps = history.steps.join(", ");
        throw new Error(`history ${number} of seed ${SEED}: ${steps}`, { cause: error });
      }
    }
  });
});
