import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, test } from "vitest";
import {
  configurations,
  type Resource,
  resourcesOf,
  stackOf,
  type Template,
  templateOf,
} from "./synthesized.ts";

interface Statement {
  readonly Effect: "Allow" | "Deny";
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

const listed = <Item>(value: Item | readonly Item[]): readonly Item[] =>
  Array.isArray(value) ? (value as readonly Item[]) : [value as Item];

/** Statements of the roles below a construct. */
function statementsOf(template: Template, construct: string): Statement[] {
  return resourcesOf(template, "AWS::IAM::Policy")
    .filter(([id]) => id.startsWith(construct))
    .flatMap(([, { Properties }]) => (Properties.PolicyDocument as { Statement: Statement[] }).Statement);
}

/** An ARN with resources' names in angle brackets. */
function shown(arn: unknown): string {
  if (typeof arn === "string") return arn;
  const value = arn as { "Fn::Join"?: [string, unknown[]]; "Fn::GetAtt"?: [string, string]; Ref?: string };
  if (value["Fn::Join"] !== undefined) return value["Fn::Join"][1].map(shown).join(value["Fn::Join"][0]);
  return `<${value["Fn::GetAtt"]?.join(".") ?? value.Ref}>`;
}

/** IAM's answer: a denial wins, and without an allowance all is denied. */
function mayDo(statements: readonly Statement[], action: string, resource: string): boolean {
  const fitting = statements.filter(
    ({ Action, Resource }) =>
      listed(Action).includes(action) &&
      listed(Resource).some((pattern) => matches(shown(pattern), resource)),
  );
  return fitting.length > 0 && fitting.every(({ Effect }) => Effect === "Allow");
}

function matches(pattern: string, text: string): boolean {
  const literal = pattern.split("*").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*")}$`, "s").test(text);
}

const TABLE = "<TableBucketDA42407C.Arn>/packets";
const files = { data: `${TABLE}/date=2026-01-02/a.parquet`, manifest: `${TABLE}/_manifests/a.json` };
const log = [
  `${TABLE}/_delta_log/00000000000000000001.json`,
  `${TABLE}/_delta_log/.tmp/a`,
  `${TABLE}/_delta_log/_last_checkpoint`,
];

describe.each([
  ["defaults", {}],
  ["all rights that settings add", { key: "create", optimize: true, vacuum: true, deleteCaptures: true }],
])("with %s", (_, given) => {
  const template = templateOf(given);
  const [converter, committer, maintenance] = ["Converter", "Committer", "Maintenance"].map((name) =>
    statementsOf(template, name),
  ) as [Statement[], Statement[], Statement[]];
  const queues = resourcesOf(template, "AWS::SQS::Queue").map(([id]) => id);
  const queue = (name: string) => `<${queues.find((id) => id.startsWith(name))}.Arn>`;
  const ledger = "<TableLedger9D941B61.Arn>";

  test.each(log)("the converter, which parses hostile bytes, may not write %s: that is a version", (key) => {
    expect(mayDo(converter, "s3:PutObject", files.data)).toBe(true);
    expect(mayDo(converter, "s3:PutObject", files.manifest)).toBe(true);
    expect(mayDo(converter, "s3:PutObject", key)).toBe(false);
    expect(mayDo(converter, "s3:DeleteObject", key)).toBe(false);
    const denials = converter.filter(
      ({ Effect, Resource }) => Effect === "Deny" && listed(Resource).some((arn) => matches(shown(arn), key)),
    );
    expect(denials.flatMap(({ Action }) => listed(Action))).toContain("s3:PutObject");
  });

  test("the converter sends to the manifest queue, and not to its dead letter queue, which only the committer fills", () => {
    expect(mayDo(converter, "sqs:SendMessage", queue("ManifestQueueManifestsQueue"))).toBe(true);
    expect(mayDo(converter, "sqs:SendMessage", queue("ManifestQueueManifestsDeadLetters"))).toBe(false);
    expect(mayDo(committer, "sqs:SendMessage", queue("ManifestQueueManifestsDeadLetters"))).toBe(true);
  });

  test("the committer writes the log, no data file; and of the ledger what it calls", () => {
    for (const key of log) expect(mayDo(committer, "s3:PutObject", key)).toBe(true);
    expect(mayDo(committer, "s3:PutObject", files.data)).toBe(false);
    expect(mayDo(committer, "s3:DeleteObject", files.data)).toBe(false);
    for (const action of ["BatchGetItem", "BatchWriteItem", "GetItem", "UpdateItem"])
      expect(mayDo(committer, `dynamodb:${action}`, ledger)).toBe(true);
    expect(mayDo(committer, "dynamodb:PutItem", ledger)).toBe(false);
    expect(mayDo(converter, "dynamodb:PutItem", ledger)).toBe(true);
  });

  test("nobody deletes a version, and only vacuum deletes files", () => {
    for (const statements of [converter, committer, maintenance])
      for (const key of log) expect(mayDo(statements, "s3:DeleteObject", key)).toBe(false);
    expect(mayDo(maintenance, "s3:DeleteObject", files.data)).toBe("vacuum" in given);
  });
});

describe.each(Object.entries(configurations))("logs with %s", (_, given) => {
  const template = templateOf(given);
  const groups = resourcesOf(template, "AWS::Logs::LogGroup");

  test("outlive the stack: why a stack failed is asked after it is gone", () => {
    expect(groups.length).toBeGreaterThanOrEqual(3);
    for (const [, group] of groups)
      expect(group).toMatchObject({ DeletionPolicy: "RetainExceptOnCreate", UpdateReplacePolicy: "Retain" });
  });

  test("are encrypted by the customer's key where there is one, which lets CloudWatch Logs in", () => {
    const key =
      given.key === undefined
        ? undefined
        : given.key === "create"
          ? { "Fn::GetAtt": ["Key9BCD29C7", "Arn"] }
          : given.key;
    for (const [, { Properties }] of groups) expect(Properties.KmsKeyId).toEqual(key);
    for (const [, policy] of resourcesOf(template, "AWS::KMS::Key")) {
      const { Statement } = policy.Properties.KeyPolicy as { Statement: unknown[] };
      expect(JSON.stringify(Statement)).toMatch(/"Service":.*"logs\.",\{"Ref":"AWS::Region"\}/);
      expect(JSON.stringify(Statement)).toContain("kms:EncryptionContext:aws:logs:arn");
    }
  });

  test("are named by every function, CDK's own included: Lambda would make one that is kept forever", () => {
    for (const [id, { Properties }] of resourcesOf(template, "AWS::Lambda::Function")) {
      const { LogGroup } = Properties.LoggingConfig as { LogGroup: { Ref: string } };
      expect(
        groups.map(([name]) => name),
        id,
      ).toContain(LogGroup.Ref);
    }
  });
});

describe("in a VPC", () => {
  const place = {
    vpcSubnetIds: ["subnet-0a1b2c3d", "subnet-0a1b2c3e"],
    vpcSecurityGroupIds: ["sg-0a1b2c3d4e5f60718"],
  };

  test.each(Object.entries(configurations))(
    "every function has subnets and security groups, and its role the network interfaces, with %s",
    (_, given) => {
      const { app } = stackOf({ ...given, ...place });
      expect(
        new AwsSolutionsChecks(app).validateScope(app).violations.map(({ ruleName }) => ruleName),
      ).toEqual([]);
      const template = app.synth().getStackByName("Deltacap").template as Template;
      const functions = resourcesOf(template, "AWS::Lambda::Function");
      expect(functions).toHaveLength(given.captureBucket === undefined ? 3 : 4);
      for (const [, resource] of functions) {
        expect(resource.Properties.VpcConfig).toEqual({
          SubnetIds: place.vpcSubnetIds,
          SecurityGroupIds: place.vpcSecurityGroupIds,
        });
        // Lambda refuses to make the function before its role may do so.
        const interfaces = awaitedStatements(template, resource).filter(({ Action }) =>
          listed(Action).includes("ec2:CreateNetworkInterface"),
        );
        expect(interfaces.map(({ Effect }) => Effect).sort()).toEqual(["Allow", "Deny"]);
      }
    },
  );

  test("no function is placed anywhere, and no role has such rights, without the settings", () => {
    const text = JSON.stringify(templateOf(configurations["everything exists"]!));
    expect(text).not.toContain("VpcConfig");
    expect(text).not.toContain("ec2:");
  });
});

/** Statements of the policies of a function's role that the function waits for. */
function awaitedStatements(template: Template, { Properties, DependsOn = [] }: Resource): Statement[] {
  const [role] = (Properties.Role as { "Fn::GetAtt": [string] })["Fn::GetAtt"];
  return resourcesOf(template, "AWS::IAM::Policy")
    .filter(
      ([id, policy]) =>
        DependsOn.includes(id) && JSON.stringify(policy.Properties.Roles).includes(`"${role}"`),
    )
    .flatMap(([, policy]) => (policy.Properties.PolicyDocument as { Statement: Statement[] }).Statement);
}
