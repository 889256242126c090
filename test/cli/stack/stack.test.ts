import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { settingsOf } from "../../../cli/stack/stack.ts";
import { PipelineSwitch } from "../../../src/aws/pipeline-switch.ts";
import { createStackClients, type StackClients } from "../../../src/aws/stack-clients.ts";
import { stackOutputs } from "../../../src/aws/stack-outputs.ts";
import { environmentOf, functionDefaults } from "../../../src/settings.ts";
import { type Door, openDoor } from "../../support/aws/door.ts";
import { Faults } from "../../support/aws/faults.ts";
import { quickRetries } from "../../support/aws/quick-retries.ts";
import { StackServer } from "../../support/aws/stack-server.ts";

const environment = environmentOf({
  ...functionDefaults,
  stackName: "fleet",
  tableUri: "s3://lake/packets",
  logTable: "log",
  ledgerTable: "ledger",
  captureBuckets: ["uploads"],
  captureQueueUrl: "https://queues/capture",
  captureDeadLetterUrl: "https://queues/capture-dead",
  manifestQueueUrl: "https://queues/manifest",
  manifestDeadLetterUrl: "https://queues/manifest-dead",
});

const faults = new Faults();
let server: StackServer;
let door: Door;
let clients: StackClients;
let pipeline: PipelineSwitch;

beforeAll(async () => {
  server = new StackServer("Fleet", { Settings: JSON.stringify(environment), TableUri: "s3://lake/packets" });
  door = await openDoor(server, faults);
  clients = createStackClients({
    region: "eu-central-1",
    endpoint: door.url,
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
    retryStrategy: quickRetries(),
  });
  pipeline = new PipelineSwitch({ ...clients, eventSource: "mapping-1", schedule: "rule-1" });
});
beforeEach(() => faults.forget());
afterAll(() => door.close());

describe("a stack's outputs", () => {
  test("come over CloudFormation's protocol, and hold the functions' settings", async () => {
    const outputs = await stackOutputs(clients.cloudformation, "Fleet");
    expect(outputs?.get("TableUri")).toBe("s3://lake/packets");
    expect(settingsOf("Fleet", outputs ?? new Map())).toMatchObject({
      tableUri: "s3://lake/packets",
      captureBuckets: ["uploads"],
      ledgerDays: 90,
    });
  });

  test("of a stack that is not there are null", async () => {
    expect(await stackOutputs(clients.cloudformation, "Other")).toBeNull();
  });

  test("that may not be read name the permission that is missing", async () => {
    faults.plan({
      operation: "cloudformation:DescribeStacks",
      effect: { kind: "refuse", status: 403, code: "AccessDenied" },
    });
    await expect(stackOutputs(clients.cloudformation, "Fleet")).rejects.toThrow(
      /cannot read the outputs of the stack Fleet, which needs cloudformation:DescribeStacks: AccessDenied/,
    );
  });

  test.each([
    ["none", undefined, "no output Settings"],
    ["no JSON", "{", "cannot be read"],
    ["one setting less", JSON.stringify({ ...environment, DELTACAP_TABLE: undefined }), "DELTACAP_TABLE"],
  ])("whose Settings are %s say what to do", (_, text, message) => {
    const outputs = new Map(text === undefined ? [] : [["Settings", text]]);
    expect(() => settingsOf("Fleet", outputs)).toThrow(message);
    expect(() => settingsOf("Fleet", outputs)).toThrow("Deploy the version of this command line");
  });
});

describe("the pipeline's switches", () => {
  test("turn the converter's event source and the committer's schedule off and on, each for itself", async () => {
    expect(await pipeline.state()).toEqual({ converter: "on", committer: "on" });
    await pipeline.switchConverter(false);
    expect(await pipeline.state()).toEqual({ converter: "off", committer: "on" });
    await pipeline.switchCommitter(false);
    expect(await pipeline.state()).toEqual({ converter: "off", committer: "off" });
    await pipeline.switchConverter(true);
    await pipeline.switchCommitter(true);
    expect(await pipeline.state()).toEqual({ converter: "on", committer: "on" });
  });

  test("name the action that failed", async () => {
    const other = new PipelineSwitch({ ...clients, eventSource: "mapping-1", schedule: "gone" });
    await expect(other.switchCommitter(false)).rejects.toThrow("events:DisableRule of gone failed");
  });
});
