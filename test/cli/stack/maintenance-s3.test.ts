import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { commitFileName } from "@deltacap/delta";
import { incompleteItem } from "@deltacap/delta/aws";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { main } from "../../../cli/deltacap.ts";
import { Cloud, LOG_TABLE, type Visitor } from "../../support/aws/cloud.ts";
import { enterByShell } from "../../support/aws/shell-environment.ts";
import { jsonLines, TestStack } from "../../support/aws/test-stack.ts";
import { RecordingTerminal } from "../../support/command-line.ts";
import { livePaths } from "../../support/tables/live-paths.ts";
import { captureOf, DAY } from "../../support/tables/packets-world.ts";

let cloud: Cloud;
/** By whose doors the command line comes in: appends come by others. */
let visitor: Visitor;

beforeAll(async () => {
  cloud = await Cloud.start();
  visitor = await cloud.enter();
});
afterAll(() => cloud.close());

beforeEach(() => enterByShell(visitor));
afterEach(() => vi.unstubAllEnvs());

/** A stack whose table has versions 1 and 2, one file each; both have rows of car-1. */
async function stackWithRows(name: string, logStore: "dynamodb" | "conditional" = "dynamodb") {
  const stack = await TestStack.open(cloud, name, { logStore });
  await stack.ingest({ "car-1/a.pcap": captureOf(4), "car-2/a.pcap": captureOf(5, DAY, 1) });
  await stack.ingest({ "car-1/b.pcap": captureOf(6, DAY, 2), "car-3/b.pcap": captureOf(7, DAY, 3) });
  return stack;
}

/** The command line on the stack, through the visitor's doors. */
async function deltacap(stack: TestStack, ...argv: string[]) {
  const terminal = new RecordingTerminal();
  const code = await main(argv, terminal, () =>
    Promise.resolve({ ...stack.stack, clients: visitor.clients }),
  );
  return { code, out: terminal.written, err: terminal.watched };
}

async function rowsByVehicle(stack: TestStack) {
  const query = "select vehicle_id, count(*)::int as n from packets group by 1 order by 1";
  const { out } = await stack.deltacap("sql", stack.stack.settings.tableUri, query, "--json");
  return Object.fromEntries(jsonLines(out).map(({ vehicle_id, n }) => [vehicle_id, n]));
}

/** Just before the command's first commit, its version is taken by an append. */
function appendBeforeCommit(stack: TestStack, version: number, captures: Record<string, Uint8Array>): void {
  const shared = stack.stack.settings.logStore === "dynamodb";
  const run = async () => void (await stack.ingest(captures));
  visitor.faults.plan({
    operation: shared ? "dynamodb:PutItem" : "s3:PutObject",
    about: commitFileName(version),
    effect: { kind: "meanwhile", run },
  });
}

const lastLine = (text: string) => jsonLines(text).at(-1);

describe.each(["dynamodb", "conditional"] as const)("on a stack's table, log store %s", (logStore) => {
  test("forget removes a vehicle's rows, those of an append that was faster too, and leaves all others", async () => {
    const stack = await stackWithRows(`forget-${logStore}`, logStore);
    const late = { "car-1/late.pcap": captureOf(8, DAY, 4), "car-4/late.pcap": captureOf(9, DAY, 5) };
    appendBeforeCommit(stack, 3, late);
    const { code, out } = await deltacap(stack, "forget", "--stack", "s", "--vehicle", "car-1", "--json");
    expect(code).toBe(0);
    expect(lastLine(out)).toMatchObject({ vehicle: "car-1", rows: 18, late_files: 1, remaining: [] });
    expect(visitor.faults.unused).toEqual([]);
    expect(await rowsByVehicle(stack)).toEqual({ "car-2": 5, "car-3": 7, "car-4": 9 });
    expect(visitor.faults.count("dynamodb:PutItem") > 0).toBe(logStore === "dynamodb");
    // The committer goes on where it left off.
    await stack.ingest({ "car-2/after.pcap": captureOf(3, DAY, 6) });
    expect(await rowsByVehicle(stack)).toEqual({ "car-2": 8, "car-3": 7, "car-4": 9 });
  });

  test("optimize beside an append, a checkpoint, then vacuum: every row stays, what was replaced is gone", async () => {
    const stack = await stackWithRows(`upkeep-${logStore}`, logStore);
    appendBeforeCommit(stack, 3, { "car-4/late.pcap": captureOf(9, DAY, 5) });
    const uri = stack.stack.settings.tableUri;
    const optimized = await deltacap(stack, "optimize", uri, "--stack", "s", "--json");
    expect(lastLine(optimized.out)).toMatchObject({ version: 4, removed_files: 2, rows: 22, given_up: 0 });
    expect(visitor.faults.unused).toEqual([]);
    const written = await deltacap(stack, "checkpoint", "--stack", "s", "--json");
    expect(lastLine(written.out)).toMatchObject({ outcome: "written", version: 4, files: 2 });
    const short = ["--retention-hours", "0", "--allow-short-retention", "--delete", "--json"];
    const vacuumed = await deltacap(stack, "vacuum", "--stack", "s", ...short);
    expect(vacuumed.code).toBe(0);
    expect(lastLine(vacuumed.out)).toMatchObject({ files: 2, deleted: true });
    const stored: string[] = [];
    for await (const { path } of stack.table.store.list("date=")) stored.push(path);
    expect(stored.sort()).toEqual(await livePaths(stack.table.log));
    expect(await rowsByVehicle(stack)).toEqual({ "car-1": 10, "car-2": 5, "car-3": 7, "car-4": 9 });
  });
});

test("appends, optimize and forget at once, in whatever order their commits come: no row is lost or doubled", async () => {
  const stack = await stackWithRows("busy");
  const appends = async () => {
    for (let i = 0; i < 3; i++) {
      const captures = {
        [`car-1/${i}.pcap`]: captureOf(1, DAY, i),
        [`car-2/${i}.pcap`]: captureOf(2, DAY, i),
      };
      await stack.ingest(captures);
    }
  };
  await Promise.all([
    appends(),
    deltacap(stack, "optimize", "--stack", "s"),
    deltacap(stack, "forget", "--stack", "s", "--vehicle", "car-1"),
  ]);
  // Again, for what came after it had ended.
  const { code, out } = await deltacap(stack, "forget", "--stack", "s", "--vehicle", "car-1", "--json");
  expect([code, lastLine(out)]).toMatchObject([0, { remaining: [] }]);
  expect(await rowsByVehicle(stack)).toEqual({ "car-2": 11, "car-3": 7 });
});

test("forget of a stack's table puts the commit that a killed writer left unfinished into its place first", async () => {
  const stack = await stackWithRows("unfinished");
  const { store } = stack.table;
  const body = (await store.read(`_delta_log/${commitFileName(2)}`)) ?? new Uint8Array();
  await store.remove([`_delta_log/${commitFileName(2)}`]);
  await store.put("_delta_log/.tmp/left", body);
  const item = incompleteItem("s3a://lake/unfinished", commitFileName(2), ".tmp/left");
  await visitor.clients.dynamodb.send(new PutItemCommand({ TableName: LOG_TABLE, Item: item }));
  const { out } = await deltacap(stack, "forget", "--stack", "s", "--vehicle", "car-1", "--json");
  expect(lastLine(out)).toMatchObject({ rows: 10, version: 3, remaining: [] });
});

describe("a table on S3 of which no stack tells", () => {
  let shared: TestStack;
  let conditional: TestStack;
  beforeAll(async () => {
    shared = await stackWithRows("bare-shared");
    conditional = await stackWithRows("bare-conditional", "conditional");
  });
  const sharedUri = "s3://lake/bare-shared";
  const conditionalUri = "s3://lake/bare-conditional";

  test("is forgotten from by the log store that its writers use", async () => {
    appendBeforeCommit(shared, 3, { "car-1/late.pcap": captureOf(8, DAY, 4) });
    const argv = ["forget", sharedUri, "--log-table", LOG_TABLE, "--vehicle", "car-1", "--json"];
    const { code, out } = await deltacap(shared, ...argv);
    expect([code, lastLine(out)]).toMatchObject([0, { rows: 18, late_files: 1 }]);
    expect(await rowsByVehicle(shared)).toEqual({ "car-2": 5, "car-3": 7 });
  });

  test("is optimized by conditional puts where nobody uses a log store", async () => {
    appendBeforeCommit(conditional, 3, { "car-4/late.pcap": captureOf(9, DAY, 5) });
    const { code, out } = await deltacap(conditional, "optimize", conditionalUri, "--conditional", "--json");
    expect([code, lastLine(out)]).toMatchObject([0, { version: 4, removed_files: 2 }]);
    expect(visitor.faults.counts()).not.toHaveProperty("dynamodb:PutItem");
    expect(await rowsByVehicle(conditional)).toEqual({ "car-1": 10, "car-2": 5, "car-3": 7, "car-4": 9 });
  });

  test.each([
    [[sharedUri], "how do the table's writers exclude each other?"],
    [[sharedUri, "--conditional"], "which Spark's log store left"],
    [[sharedUri, "--log-table", LOG_TABLE, "--table-scheme", "s3"], "give --table-scheme s3a"],
    [[conditionalUri, "--log-table", LOG_TABLE], "was written within a day"],
    [[sharedUri, "--log-table", LOG_TABLE, "--conditional"], "all commit in one way"],
    [[sharedUri, "--log-table", LOG_TABLE, "--table-scheme", "s3n"], "--table-scheme s3n"],
    [[sharedUri, "--conditional", "--table-scheme", "s3"], "--table-scheme is for --log-table"],
    [["s3://lake/nothing", "--conditional"], "is no Delta table"],
    [["s3://lake", "--conditional"], "bucket's root"],
    [[conditionalUri, "--stack", "s"], "is not the table of the stack"],
    [[sharedUri, "--stack", "s", "--conditional"], "--conditional and --stack s"],
    [["folder", "--conditional"], "--conditional is for a table on S3"],
    [[sharedUri, conditionalUri], "one TABLE is expected"],
    [[], "TABLE is missing"],
  ])("wrong use changes nothing and exits 2: %j", async (argv, message) => {
    const { code, err } = await deltacap(shared, "forget", ...argv, "--vehicle", "car-1");
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
    const operations = Object.keys(visitor.faults.counts());
    expect(operations.filter((operation) => /Put|Update|Delete/.test(operation))).toEqual([]);
  });

  test("and a log table that is not there exits 3", async () => {
    const argv = ["forget", sharedUri, "--log-table", "no-such-table", "--vehicle", "car-1"];
    const { code, err } = await deltacap(shared, ...argv);
    expect([code, err]).toEqual([3, expect.stringContaining("the DynamoDB table in the settings")]);
  });
});

test("a stack that has committed nothing yet has no table to look after", async () => {
  const stack = await TestStack.open(cloud, "empty");
  const { code, err } = await deltacap(stack, "optimize", "--stack", "s");
  expect([code, err]).toEqual([2, expect.stringContaining("has no table yet")]);
});
