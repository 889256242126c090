import { App } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import { configurationDefaults } from "../../lib/settings/configuration.ts";
import { configurationFrom, givenIn } from "../../lib/settings/given-settings.ts";
import { nearestName } from "../../lib/settings/nearest-name.ts";
import { resourcesOf, templateOf } from "./synthesized.ts";

const read = (context: Record<string, unknown>) => () =>
  configurationFrom(givenIn(new App({ context }).node));

describe("a misspelled setting is refused with the name that was probably meant", () => {
  test.each<[Record<string, unknown>, string]>([
    [{ "deltacap:alarmEmial": "a@example.com" }, "there is no setting alarmEmial: did you mean alarmEmail?"],
    [{ "deltacap:alarmemail": "a@example.com" }, "did you mean alarmEmail?"],
    [{ "deltacap:tablebuket": "lake" }, "did you mean tableBucket?"],
    [{ deltacap: { filesPerComit: 5 } }, "did you mean filesPerCommit?"],
    [{ "deltcap:alarmEmail": "a@example.com" }, "did you mean deltacap:alarmEmail?"],
    [{ "Deltacap:vacuum": "true" }, "did you mean deltacap:vacuum?"],
    [{ alarmEmail: "a@example.com" }, "did you mean --context deltacap:alarmEmail=VALUE?"],
    [{ deltcap: { vacuum: true } }, "did you mean deltacap?"],
    [{ stak: "Other" }, "did you mean stack?"],
    [{ asset: "dist" }, "did you mean assets?"],
    [{ deltacap: "vacuum=true" }, "an object of settings is expected"],
    [{ deltacap: ["vacuum"] }, "an object of settings is expected"],
  ])("%j", (context, message) => {
    expect(read(context)).toThrow(message);
  });

  test("every setting, with two letters swapped, missing or doubled", () => {
    const names = Object.keys(configurationDefaults);
    const misspelled = names.flatMap((name) => [
      [name, `${name.slice(0, 1)}${name[2]}${name[1]}${name.slice(3)}`] as const,
      [name, name.slice(0, -1)] as const,
      [name, `${name.slice(0, 2)}${name.slice(1)}`] as const,
    ]);
    const wrong = misspelled.filter(([, given]) => !names.includes(given));
    expect(wrong.length).toBeGreaterThan(100);
    for (const [name, given] of wrong)
      expect(read({ [`deltacap:${given}`]: "1" }), given).toThrow(`did you mean ${name}?`);
  });

  test("one that is like none is refused with all that there are", () => {
    expect(read({ "deltacap:colour": "red" })).toThrow(
      /there is no setting colour: the settings are captureBucket, .*tags/,
    );
    expect(nearestName("x", ["y"])).toBe(null);
  });
});

test("context of CDK and of others passes", () => {
  const context = {
    "@aws-cdk/core:checkSecretUsage": true,
    "aws:cdk:bundling-stacks": ["**"],
    "availability-zones:account=1:region=eu-central-1": ["eu-central-1a"],
    "cli-telemetry": false,
    stage: "prod",
    stack: "Other",
    assets: "dist/lambdas",
    deltacap: { vacuum: true },
    "deltacap:batchSize": "5",
  };
  expect(read(context)()).toEqual({ ...configurationDefaults, vacuum: true, batchSize: 5 });
});

describe("tags", () => {
  test("reach every resource that can have them", () => {
    const template = templateOf({ tags: ["cost-center=4711", "owner=fleet data=lake"] });
    const expected = [
      { Key: "cost-center", Value: "4711" },
      { Key: "owner", Value: "fleet data=lake" },
    ];
    const types = [
      "AWS::S3::Bucket",
      "AWS::SQS::Queue",
      "AWS::DynamoDB::Table",
      "AWS::Lambda::Function",
      "AWS::IAM::Role",
    ];
    for (const type of types) {
      expect(resourcesOf(template, type).length).toBeGreaterThan(0);
      for (const [, { Properties }] of resourcesOf(template, type))
        expect(Properties.Tags).toEqual(expect.arrayContaining(expected));
    }
  });

  test.each([
    ["cost-center", "is not KEY=VALUE"],
    ["=4711", "is not KEY=VALUE"],
    ["aws:owner=me", "reserved"],
    ["AWS:owner=me", "reserved"],
    ["owner=a;b", "may have up to 256"],
    ["own*er=a", "may have 1 to 128"],
    [`${"k".repeat(129)}=v`, "may have 1 to 128"],
    [`k=${"v".repeat(257)}`, "may have up to 256"],
  ])("%j is refused before CloudFormation refuses it", (tag, message) => {
    expect(() => configurationFrom({ tags: [tag] })).toThrow(message);
  });

  test("one key twice, and more than a resource can have", () => {
    expect(() => configurationFrom({ tags: ["a=1", "a=2"] })).toThrow("the tag key a is given twice");
    const many = Array.from({ length: 51 }, (_, n) => `k${n}=v`);
    expect(() => configurationFrom({ tags: many })).toThrow("at most 50 are allowed, and 51 are given");
  });
});
