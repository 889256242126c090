import { RetryableError } from "@deltacap/delta";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main } from "../../../cli/deltacap.ts";
import { sendMessage } from "../../../src/aws/sqs-message.ts";
import { Cloud, createTable } from "../../support/aws/cloud.ts";
import { jsonLines, TestStack } from "../../support/aws/test-stack.ts";
import { filling, pcap } from "../../support/captures/capture-builder.ts";
import { RecordingTerminal } from "../../support/command-line.ts";

let cloud: Cloud;
beforeAll(async () => {
  cloud = await Cloud.start();
});
afterAll(() => cloud.close());

const capture = pcap({}, [{ seconds: 1_772_352_000, fraction: 0, bytes: filling(60) }]);

test("status of a new stack says that nothing was committed", async () => {
  const stack = await TestStack.open(cloud, "status-new");
  const { code, out } = await stack.deltacap("status", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({
    stack: "status-new",
    table: "s3://lake/status-new",
    version: null,
    committed: null,
    ledger_complete_to: null,
    incomplete_since: null,
    captures: { waiting: 0, in_flight: 0, delayed: 0 },
    manifests: { waiting: 0, in_flight: 0, delayed: 0 },
    dead_letters: { captures: 0, manifests: 0 },
    rejected: { count: 0, more: false, newest: [] },
    damaged: { count: 0, more: false, newest: [] },
    converter: "on",
    committer: "on",
  });
  expect((await stack.deltacap("status")).out).toContain("nothing was committed yet");
});

test("status tells version, age, ledger, queues and dead letters", async () => {
  const stack = await TestStack.open(cloud, "status-full");
  const version = await stack.ingest({ "car-1/a.pcap": capture });
  const { settings, clients } = stack.stack;
  await sendMessage(clients.sqs, settings.captureDeadLetterUrl, "x", {}, "");
  for (const body of ["1", "2"]) await sendMessage(clients.sqs, settings.manifestQueueUrl, body, {}, "");
  stack.laterMs = 3 * 3_600_000;
  const [facts] = jsonLines((await stack.deltacap("status", "--json")).out);
  expect(facts).toMatchObject({
    version,
    ledger_complete_to: version,
    manifests: { waiting: 2, in_flight: 0 },
    dead_letters: { captures: 1, manifests: 0 },
  });
  const { out } = await stack.deltacap("status");
  expect(out).toContain("3 h ago");
  expect(out).toContain(`complete up to version ${version}`);
  expect(out).toContain(
    '1 of captures, 0 of manifests: see docs/runbook.md, then "deltacap retry --dead-letters"',
  );
});

test("status lists the newest rejected and damaged captures, with where and why", async () => {
  const stack = await TestStack.open(cloud, "status-troubled");
  await stack.ingest({
    "car-1/good.pcap": capture,
    "car-1/cut.pcap": pcap(
      {},
      [1, 2].map((n) => ({ seconds: 1_772_352_000, bytes: filling(60, n) })),
    ).subarray(0, 150),
  });
  for (let i = 0; i < 7; i++) {
    await stack.ingest({ [`car-1/notes-${i}.txt`]: new TextEncoder().encode(`notes ${i}`) });
  }
  const [facts] = jsonLines((await stack.deltacap("status", "--json")).out);
  expect(facts).toMatchObject({
    rejected: { count: 7, more: false },
    damaged: {
      count: 1,
      newest: [{ capture: `s3://${stack.bucket}/car-1/cut.pcap`, offset: 100, reason: expect.any(String) }],
    },
  });
  const rejected = facts?.rejected as { newest: { capture: string }[] } | undefined;
  expect(rejected?.newest.map((each) => each.capture.at(-5))).toEqual(["6", "5", "4", "3", "2"]);
  const { out } = await stack.deltacap("status");
  expect(out).toContain("rejected      7 captures; the newest 5:\n");
  expect(out).toMatch(
    /^ {14}\d{4}-\d\d-\d\dT\S+ {2}s3:\/\/\S+\/car-1\/notes-6.txt, byte 0: .*not a capture/m,
  );
  expect(out).toContain("damaged       1 capture:\n");
});

test("status of a stack whose ledger has no index of them says so, and shows the rest", async () => {
  const stack = await TestStack.open(cloud, "status-older-ledger");
  await createTable(stack.stack.clients, "ledger-of-an-older-stack", { sourceId: "S" });
  Object.assign(stack.stack, {
    settings: { ...stack.stack.settings, ledgerTable: "ledger-of-an-older-stack" },
  });
  const [facts] = jsonLines((await stack.deltacap("status", "--json")).out);
  expect(facts).toMatchObject({ rejected: null, damaged: null, converter: "on" });
  expect((await stack.deltacap("status")).out).toContain("rejected      not known: deploy");
});

test("status tells a commit that its writer left unfinished", async () => {
  const stack = await TestStack.open(cloud, "status-unfinished");
  const { faults, clients } = await cloud.enter();
  await stack.ingest({ "car-1/a.pcap": capture });
  const crashing = await TestStack.open(cloud, "status-unfinished-2");
  Object.assign(crashing.stack, { clients, settings: stack.stack.settings });
  faults.plan({ operation: "s3:PutObject", about: "_delta_log/0000", effect: { kind: "kill before" } });
  const message = await stack.deployment.upload("car-1/b.pcap", capture);
  await expect(crashing.ingestAnnounced([message])).rejects.toThrow();
  const [facts] = jsonLines((await stack.deltacap("status", "--json")).out);
  expect(facts?.incomplete_since).toMatch(/^\d{4}-/);
  expect((await stack.deltacap("status")).out).toContain("unfinished");
});

test("pause stops converter and committer, each alone where wanted; resume undoes it", async () => {
  const stack = await TestStack.open(cloud, "pause");
  const states = async (...argv: string[]) => jsonLines((await stack.deltacap(...argv, "--json")).out)[0];
  expect(await states("pause", "--only", "committer")).toEqual({
    stack: "pause",
    converter: "on",
    committer: "off",
  });
  expect(await states("pause")).toMatchObject({ converter: "off", committer: "off" });
  expect((await stack.deltacap("status")).out).toContain("converter off, committer off: paused");
  expect(await states("resume")).toMatchObject({ converter: "on", committer: "on" });
  expect(await stack.deltacap("pause", "--only", "everything")).toMatchObject({ code: 2 });
  expect(await stack.deltacap("pause", "Fleet")).toMatchObject({ code: 2 });
});

test("a stack that cannot be found out exits 3 with the reason, and no stack trace", async () => {
  const terminal = new RecordingTerminal();
  const refused = () => Promise.reject(new RetryableError("cloudformation:DescribeStacks is not granted"));
  expect(await main(["status"], terminal, refused)).toBe(3);
  expect(terminal.watched).toBe("deltacap status: cloudformation:DescribeStacks is not granted\n");
});
