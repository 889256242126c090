import type { Action, LogStore } from "@deltacap/delta";
import { liveFiles, serializeActions } from "@deltacap/delta";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { deployedTable } from "../../src/aws/deployed-table.ts";
import { createTableBody } from "../../src/commit/commit-body.ts";
import { packetTable } from "../../src/packets/packet-table.ts";
import type { FunctionSettings } from "../../src/settings.ts";
import { Cloud } from "../support/aws/cloud.ts";
import { bundledFunctions, Deployment } from "../support/aws/deployment.ts";

let cloud: Cloud;
let assets: Awaited<ReturnType<typeof bundledFunctions>>;
let deployments = 0;
beforeAll(async () => {
  [cloud, assets] = await Promise.all([Cloud.start(), bundledFunctions(["maintenance"])]);
});
afterAll(async () => {
  await cloud.close();
  assets.remove();
});

const done = { outcome: "response", response: null };
const file = (version: number, size: number) => ({
  path: `date=2026-01-01/${version}.parquet`,
  partitionValues: { date: "2026-01-01" },
  size,
  modificationTime: 1,
  dataChange: true,
});

/** A function, and a table at version 0. `append` adds a version with a file of this size. */
async function deploy(changes: Partial<FunctionSettings>) {
  const deployment = await Deployment.open(cloud, assets.folder, `m${++deployments}`, changes);
  onTestFinished(() => deployment.close());
  const { fn } = await deployment.start("maintenance");
  const { clients } = await cloud.enter();
  const { log, store } = deployedTable(clients, deployment.settings);
  await log.commit(0, createTableBody(packetTable, "t", { txnId: "0", timestamp: 1, engineInfo: "test" }));
  let version = 0;
  const append = async (size: number) => {
    version++;
    const actions: Action[] = [{ commitInfo: { txnId: String(version) } }, { add: file(version, size) }];
    expect(await log.commit(version, serializeActions(actions))).toBe("committed");
  };
  return { fn, log, store, append };
}

async function checkpoints(log: LogStore): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of log.list("")) if (name.includes(".checkpoint.")) names.push(name);
  return names;
}

test("a run before a checkpoint is due writes nothing and succeeds", async () => {
  const { fn, log, append } = await deploy({ checkpointInterval: 3 });
  await append(1);
  expect(await fn.invoke({})).toEqual(done);
  expect(await checkpoints(log)).toEqual([]);
  expect(fn.metrics().get("Checkpoints")).toBeUndefined();
  // The alarm must not wait for a checkpoint.
  expect(fn.metrics().get("SmallFiles")).toEqual([1]);
  expect(fn.output).toContain(`"Dimensions":[["service","stack"]]`);
  expect(fn.output).toMatch(/"service":"maintenance","stack":"m\d+"/);
});

test("the checkpoint that is due is written once, in the table that Spark shares, and its small files are counted", async () => {
  const { fn, log, store, append } = await deploy({ checkpointInterval: 3 });
  for (const size of [1, 2, 2 ** 30]) await append(size);
  expect(await fn.invoke({})).toEqual(done);
  expect(await fn.invoke({})).toEqual(done);
  expect(await checkpoints(log)).toEqual(["00000000000000000003.checkpoint.parquet"]);
  expect(fn.metrics().get("Checkpoints")).toEqual([1]);
  expect(fn.metrics().get("SmallFiles")).toEqual([2, 2]);
  const paths: string[] = [];
  for await (const adds of liveFiles(log)) paths.push(...adds.map(({ path }) => path));
  expect(paths.sort()).toEqual([1, 2, 3].map((version) => file(version, 0).path));
  const hint = Buffer.from((await store.read("_delta_log/_last_checkpoint")) ?? []).toString();
  expect(JSON.parse(hint)).toMatchObject({ version: 3, size: 5, numOfAddFiles: 3 });
});

test("a checkpoint that fails is told by its metric and its log line, and the run succeeds", async () => {
  const { fn, log, append } = await deploy({ checkpointInterval: 1 });
  await append(0.5);
  expect(await fn.invoke({})).toEqual(done);
  expect(await checkpoints(log)).toEqual([]);
  expect(fn.metrics().get("CheckpointFailures")).toEqual([1]);
  expect(fn.output).toMatch(/checkpoint failed.*add\.size/);
});
