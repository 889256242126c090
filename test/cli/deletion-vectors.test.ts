import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { readableFiles } from "../../cli/tables/live-files.ts";
import { Cloud, type Visitor } from "../support/aws/cloud.ts";
import { enterByShell } from "../support/aws/shell-environment.ts";
import { jsonLines, TestStack } from "../support/aws/test-stack.ts";
import { filling, pcap } from "../support/captures/capture-builder.ts";
import { storedVector } from "../support/tables/deletion-vectors.ts";

let cloud: Cloud;
let stack: TestStack;
let visitor: Visitor;

const capture = (byte: number) =>
  pcap({}, [{ seconds: 1_772_352_000 + byte, fraction: 0, bytes: filling(60, byte) }]);

beforeAll(async () => {
  cloud = await Cloud.start();
  stack = await TestStack.open(cloud, "vectors");
  await stack.ingest({ "car-1/a.pcap": capture(1) });
  await stack.ingest({ "car-2/b.pcap": capture(2) });
  visitor = await cloud.enter();
});
afterAll(() => cloud.close());

beforeEach(() => enterByShell(visitor));
afterEach(() => vi.unstubAllEnvs());

test("rows of a table on S3 that a deletion vector deletes are left out by sql, and not counted by log and inspect", async () => {
  const { log, store } = stack.table;
  const [file] = (await readableFiles(log)).filter(({ add }) => add.stats?.includes("car-1"));
  const { path } = file!.add;
  const deletionVector = await storedVector(store, [0], 1);
  const actions = [
    { commitInfo: { operation: "DELETE", txnId: "delete" } },
    { remove: { path, dataChange: true } },
    { add: { ...file!.add, deletionVector } },
  ];
  const body = actions.map((action) => JSON.stringify(action)).join("\n");
  expect(await log.commit(3, new TextEncoder().encode(body))).toBe("committed");
  const { out } = await stack.deltacap(
    "sql",
    "s3://lake/vectors",
    "select distinct vehicle_id from packets",
    "--json",
  );
  expect(jsonLines(out)).toEqual([{ vehicle_id: "car-2" }]);
  const facts = jsonLines((await stack.deltacap("inspect", "s3://lake/vectors", "--json")).out)[0];
  expect(facts).toMatchObject({ version: 3, files: 2, rows: 1, deleted_rows: 1 });
  const versions = jsonLines((await stack.deltacap("log", "s3://lake/vectors", "--json")).out);
  expect(versions.at(-1)).toMatchObject({ version: 3, files: 1, removed: 1, rows: 0 });
});
