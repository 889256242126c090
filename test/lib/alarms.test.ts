import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { resourcesOf, templateOf } from "./synthesized.ts";

interface MetricUse {
  readonly namespace: string;
  readonly name: string;
  readonly service: string;
  /** Whether it is counted for this stack alone. */
  readonly ofStack: boolean;
}

const template = templateOf({ runbookUrl: "https://wiki.example.com/runbook" });
const alarms = resourcesOf(template, "AWS::CloudWatch::Alarm").map(([, alarm]) => alarm.Properties);
const runbook = readFileSync("docs/runbook.md", "utf8");
/** Sections of the runbook by their name, as an address' fragment has it. */
const sections = new Map(
  runbook
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split("\n", 1)[0] ?? "", section] as const),
);

const linked = (alarm: Record<string, unknown>) =>
  /https:\/\/wiki\.example\.com\/runbook#([a-z-]+)$/.exec(String(alarm.AlarmDescription))?.[1] ?? "";

test("every alarm tells somebody when it rises and when it falls: one without an action rings in an empty room", () => {
  expect(alarms.length).toBeGreaterThanOrEqual(17);
  const topic = [{ Ref: expect.stringMatching(/^ObservabilityAlarms/) as unknown }];
  for (const alarm of alarms) expect(alarm).toMatchObject({ AlarmActions: topic, OKActions: topic });
});

test("the topic lets CloudWatch publish: with a policy for TLS alone, alarms are dropped without an error", () => {
  const [[, policy] = []] = resourcesOf(template, "AWS::SNS::TopicPolicy");
  const { Statement } = policy!.Properties.PolicyDocument as { Statement: unknown[] };
  expect(Statement).toContainEqual(
    expect.objectContaining({
      Effect: "Allow",
      Principal: { Service: "cloudwatch.amazonaws.com" },
      Action: "sns:Publish",
    }),
  );
});

test.each(alarms.map((alarm) => [linked(alarm)]))(
  "the runbook says of %s what it means, what to look at, what to do",
  (id) => {
    expect(id).not.toBe("");
    const section = sections.get(id) ?? "";
    for (const part of ["**Means.**", "**Look at.**", "**Do.**"]) expect(section).toContain(part);
  },
);

test("the runbook has no section of an alarm that is gone", () => {
  const ids = alarms.map(linked);
  expect([...sections.keys()].filter((name) => /^[a-z-]+$/.test(name) && !ids.includes(name))).toEqual([]);
});

test("no data is fine for what counts failures, and an alarm for the heartbeat: a committer that never runs writes nothing", () => {
  const breaching = alarms.filter((alarm) => alarm.TreatMissingData === "breaching").map(linked);
  expect(breaching).toEqual(["committer-heartbeat"]);
  for (const alarm of alarms) expect(alarm.TreatMissingData).toMatch(/^(notBreaching|breaching)$/);
});

test("our own metrics are read of this stack alone: else its alarms ring for what another stack does", () => {
  const used = [
    ...resourcesOf(template, "AWS::CloudWatch::Alarm"),
    ...resourcesOf(template, "AWS::CloudWatch::Dashboard"),
  ]
    .flatMap(([, resource]) => metricsIn(resource.Properties))
    .filter(({ namespace }) => namespace === "Deltacap");
  expect(used.length).toBeGreaterThan(25);
  expect(used.filter(({ ofStack }) => !ofStack)).toEqual([]);
});

describe.each(["converter", "committer", "maintenance"])("the metrics that are read of the %s", (service) => {
  const read = new Set(
    [
      ...resourcesOf(template, "AWS::CloudWatch::Alarm"),
      ...resourcesOf(template, "AWS::CloudWatch::Dashboard"),
    ]
      .flatMap(([, resource]) => metricsIn(resource.Properties))
      .filter((metric) => metric.namespace === "Deltacap" && metric.service === service)
      .map(({ name }) => name),
  );

  test.skipIf(!existsSync(`lambdas/${service}`))(
    "are written by it: an alarm on a misspelt metric never rises",
    () => {
      const sources = readdirSync(`lambdas/${service}`).map((name) =>
        readFileSync(`lambdas/${service}/${name}`, "utf8"),
      );
      expect(read.size).toBeGreaterThan(0);
      expect(
        [...read].filter(
          (name) => !sources.some((source) => source.includes(`"${name}"`) || source.includes(`${name}:`)),
        ),
      ).toEqual([]);
    },
  );
});

/** Metrics in the properties of an alarm, alone or in an expression; or in the text of a dashboard. */
function metricsIn(properties: Record<string, unknown>): MetricUse[] {
  const text = JSON.stringify(properties).replaceAll('\\"', '"');
  const ofAlarms = [
    ...text.matchAll(
      /"Dimensions":\[\{"Name":"service","Value":"(\w+)"\}(,\{"Name":"stack","Value":\{"Ref":"AWS::StackName"\}\})?\],"MetricName":"(\w+)","Namespace":"(\w+)"/g,
    ),
  ].map(([, service = "", stack, name = "", namespace = ""]) => ({
    namespace,
    name,
    service,
    ofStack: stack !== undefined,
  }));
  const single = properties.MetricName === undefined ? [] : [singleMetric(properties)];
  const ofDashboards = [
    ...text.matchAll(/\["(Deltacap)","(\w+)","service","(\w+)"(,"stack","",\{"Ref":"AWS::StackName"\})?/g),
  ].map(([, namespace = "", name = "", service = "", stack]) => ({
    namespace,
    name,
    service,
    ofStack: stack !== undefined,
  }));
  return [...ofAlarms, ...single, ...ofDashboards];
}

function singleMetric({ Namespace, MetricName, Dimensions }: Record<string, unknown>): MetricUse {
  const dimensions = (Dimensions ?? []) as { Name: string; Value: unknown }[];
  const dimension = (name: string) => dimensions.find(({ Name }) => Name === name)?.Value;
  return {
    namespace: String(Namespace),
    name: String(MetricName),
    service: String(dimension("service")),
    ofStack: JSON.stringify(dimension("stack")) === '{"Ref":"AWS::StackName"}',
  };
}
