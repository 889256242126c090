import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Stack } from "aws-cdk-lib";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, test } from "vitest";
import { committerRun, type FunctionSettings, settingsFrom } from "../../src/settings.ts";
import {
  configurations,
  type Resource,
  resourcesOf,
  stackOf,
  type Template,
  templateOf,
} from "./synthesized.ts";

interface Statement {
  readonly Effect: string;
  readonly Action: string | string[];
  readonly Principal?: unknown;
  readonly Resource?: unknown;
  readonly Condition?: unknown;
}

const policyTypes = [
  "AWS::IAM::Policy",
  "AWS::SQS::QueuePolicy",
  "AWS::S3::BucketPolicy",
  "AWS::SNS::TopicPolicy",
];

function statementsOf(resource: Resource, document: string): Statement[] {
  const policy = resource.Properties[document] as { Statement?: Statement[] } | undefined;
  return policy?.Statement ?? [];
}

function allStatements(template: Template): Statement[] {
  return [
    ...policyTypes.flatMap((type) =>
      resourcesOf(template, type).flatMap(([, resource]) => statementsOf(resource, "PolicyDocument")),
    ),
    ...resourcesOf(template, "AWS::KMS::Key").flatMap(([, resource]) => statementsOf(resource, "KeyPolicy")),
  ];
}

const listed = (value: string | string[]): string[] => (Array.isArray(value) ? value : [value]);

/** The account itself, which every key must name so that it can still be managed. */
const isAccountRoot = ({ Principal }: Statement) => JSON.stringify(Principal ?? "").includes(":root");

describe.each(Object.entries(configurations))("the template with %s", (_, given) => {
  const template = templateOf(given);
  const functions = resourcesOf(template, "AWS::Lambda::Function").filter(
    ([id]) => !id.startsWith("BucketNotificationsHandler"),
  );

  test("allows no wildcard action: what AWS adds to a service next year must not be granted today", () => {
    const allowed = allStatements(template).filter((statement) => statement.Effect === "Allow");
    const wide = allowed.filter(
      (statement) =>
        !isAccountRoot(statement) && listed(statement.Action).some((action) => action.includes("*")),
    );
    expect(allowed.length).toBeGreaterThan(10);
    expect(wide).toEqual([]);
  });

  test("has no public access: a bucket policy that was pasted from a tutorial has published fleets before", () => {
    for (const [, bucket] of resourcesOf(template, "AWS::S3::Bucket")) {
      expect(bucket.Properties.PublicAccessBlockConfiguration).toEqual({
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      });
    }
    const everyone = allStatements(template).filter(
      ({ Effect, Principal }) =>
        Effect === "Allow" && (Principal === "*" || JSON.stringify(Principal ?? "").includes('"*"')),
    );
    expect(everyone).toEqual([]);
  });

  test("lets services in for this account only: else a stranger's bucket could fill the queue", () => {
    const services = allStatements(template).filter(({ Principal }) =>
      JSON.stringify(Principal ?? "").includes("amazonaws.com"),
    );
    expect(services.length).toBeGreaterThan(0);
    for (const statement of services)
      expect(JSON.stringify(statement.Condition)).toMatch(
        /aws:Source(Account|Arn)|:aws:logs:arn".*"AWS::AccountId"/,
      );
  });

  test("takes TLS only, at every bucket, queue and topic of its own", () => {
    const guarded = ["AWS::S3::Bucket", "AWS::SQS::Queue", "AWS::SNS::Topic"].flatMap((type) =>
      resourcesOf(template, type),
    );
    const refusals = policyTypes
      .flatMap((type) => resourcesOf(template, type))
      .filter(([, policy]) => JSON.stringify(policy.Properties).includes('"aws:SecureTransport":"false"'));
    for (const [id] of guarded)
      expect(
        refusals.some(([, policy]) => JSON.stringify(policy).includes(id)),
        id,
      ).toBe(true);
  });

  test("encrypts every bucket, queue and table", () => {
    for (const [, bucket] of resourcesOf(template, "AWS::S3::Bucket"))
      expect(bucket.Properties).toHaveProperty("BucketEncryption");
    for (const [, queue] of resourcesOf(template, "AWS::SQS::Queue")) {
      const { SqsManagedSseEnabled, KmsMasterKeyId } = queue.Properties;
      expect(SqsManagedSseEnabled === true || KmsMasterKeyId !== undefined).toBe(true);
    }
  });

  test("gives each queue a dead letter queue: without, a poison message comes back for two weeks", () => {
    const queues = resourcesOf(template, "AWS::SQS::Queue");
    const deadLetters = queues.flatMap(([, { Properties }]) => {
      const policy = Properties.RedrivePolicy as
        | { deadLetterTargetArn: { "Fn::GetAtt": [string] } }
        | undefined;
      return policy === undefined ? [] : [policy.deadLetterTargetArn["Fn::GetAtt"][0]];
    });
    const without = queues.filter(
      ([id, { Properties }]) => Properties.RedrivePolicy === undefined && !deadLetters.includes(id),
    );
    expect(deadLetters).toHaveLength(2);
    expect(without).toEqual([]);
  });

  test("hides captures for six time-outs and the window: under that, Lambda's own retries double the work", () => {
    const [mapping] = resourcesOf(template, "AWS::Lambda::EventSourceMapping")[0] ?? [];
    const source = template.Resources[mapping ?? ""]!.Properties;
    const queue =
      template.Resources[(source.EventSourceArn as { "Fn::GetAtt": [string] })["Fn::GetAtt"][0]]!.Properties;
    const converter = template.Resources[(source.FunctionName as { Ref: string }).Ref]!.Properties;
    const least = 6 * Number(converter.Timeout) + Number(source.MaximumBatchingWindowInSeconds);
    expect(queue.VisibilityTimeout).toBeGreaterThanOrEqual(least);
    expect((queue.RedrivePolicy as { maxReceiveCount: number }).maxReceiveCount).toBeGreaterThanOrEqual(5);
    expect(source.FunctionResponseTypes).toEqual(["ReportBatchItemFailures"]);
  });

  test("calls the committer every minute without retries: calls that pile up would run all day", () => {
    const rules = resourcesOf(template, "AWS::Events::Rule").map(([, rule]) => rule.Properties);
    expect(rules.map((rule) => rule.ScheduleExpression)).toContain("rate(1 minute)");
    const once = { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 };
    for (const rule of rules)
      expect((rule.Targets as { RetryPolicy: unknown }[])[0]?.RetryPolicy).toEqual(once);
    const invokes = resourcesOf(template, "AWS::Lambda::EventInvokeConfig").map(
      ([, config]) => config.Properties,
    );
    expect(invokes).toHaveLength(2);
    for (const config of invokes) expect(config).toMatchObject(once);
  });

  test("reserves one committer, unless the account is too small for it", () => {
    const reserved = functions
      .map(([, { Properties }]) => Properties.ReservedConcurrentExecutions)
      .filter((n) => n !== undefined);
    expect(reserved).toEqual(given.reserveCommitter === false ? [] : [1]);
    const [, committer] = functions.find(([id]) => id.startsWith("Committer"))!;
    expect(committer.Properties.Timeout).toBe(committerRun.timeoutSeconds);
  });

  test("runs on arm64 and Node 24 alone: a function on another architecture fails at its first native module", () => {
    expect(functions).toHaveLength(3);
    for (const [, { Properties }] of functions) {
      expect(Properties).toMatchObject({
        Architectures: ["arm64"],
        Runtime: "nodejs24.x",
        Handler: "index.handler",
      });
    }
  });

  test("tells each function every setting: one that is missing ends it at its start", () => {
    const names = Object.keys(settingNames) as (keyof FunctionSettings)[];
    for (const [, { Properties }] of functions) {
      const { Variables } = Properties.Environment as { Variables: Record<string, unknown> };
      const environment = Object.fromEntries(
        Object.entries(Variables).map(([name, value]) => [
          name,
          typeof value === "string" ? value : "a-resource",
        ]),
      );
      expect(Object.keys(settingsFrom(names, environment)).sort()).toEqual([...names].sort());
    }
  });

  test("keeps data when the stack is deleted or a resource is replaced, and removes what a failed first deployment made", () => {
    const types = ["AWS::S3::Bucket", "AWS::DynamoDB::Table", "AWS::KMS::Key"];
    const data = types.flatMap((type) => resourcesOf(template, type));
    expect(data.length).toBeGreaterThan(0);
    for (const [, resource] of data) {
      expect(resource).toMatchObject({
        DeletionPolicy: "RetainExceptOnCreate",
        UpdateReplacePolicy: "Retain",
      });
      // CloudFormation could not remove a protected table.
      expect(resource.Properties).not.toHaveProperty("DeletionProtectionEnabled");
    }
  });

  test("bounds every role, CDK's own included: where a boundary is demanded, one role without it fails the deployment", () => {
    const roles = resourcesOf(template, "AWS::IAM::Role");
    expect(roles.length).toBeGreaterThanOrEqual(3);
    for (const [, role] of roles) expect(role.Properties.PermissionsBoundary).toBe(given.permissionsBoundary);
  });

  test("breaks none of cdk-nag's rules, what is acknowledged aside", () => {
    const { app } = stackOf(given);
    const { violations } = new AwsSolutionsChecks(app).validateScope(app);
    expect(violations.map(({ ruleName }) => ruleName)).toEqual([]);
  });
});

/** Every setting of the functions: a new one that is not here does not compile. */
const settingNames: Readonly<Record<keyof FunctionSettings, true>> = {
  stackName: true,
  tableUri: true,
  tableScheme: true,
  logStore: true,
  logTable: true,
  ledgerTable: true,
  ledgerDays: true,
  captureBuckets: true,
  keyPattern: true,
  hashContent: true,
  someipPorts: true,
  doipPorts: true,
  deleteCaptures: true,
  captureQueueUrl: true,
  captureDeadLetterUrl: true,
  manifestQueueUrl: true,
  manifestDeadLetterUrl: true,
  messageBytes: true,
  commitIntervalSeconds: true,
  filesPerCommit: true,
  checkpointInterval: true,
  optimize: true,
  vacuum: true,
  vacuumHours: true,
};

test("cdk-nag's check goes red: a bucket without TLS is found", () => {
  const { app, stack } = stackOf({});
  new Bucket(Stack.of(stack), "Careless");
  const { violations } = new AwsSolutionsChecks(app).validateScope(app);
  expect(violations.map(({ ruleName }) => ruleName)).toContain("AwsSolutions-S10");
});

test("logical ids of data are what they were: another id makes another, empty bucket beside the retained one", () => {
  const template = templateOf({ key: "create" });
  const types = ["AWS::S3::Bucket", "AWS::DynamoDB::Table", "AWS::KMS::Key"];
  const ids = types.flatMap((type) => resourcesOf(template, type).map(([id]) => id));
  expect(ids).toEqual([
    "IntakeBucketDF3620F2",
    "TableBucketDA42407C",
    "TableLedger9D941B61",
    "TableLogStore38CA1D6C",
    "Key9BCD29C7",
  ]);
});

test("the log store's table is Spark's: other names of keys, and Spark's writer fails at its first commit", () => {
  const [[, logStore] = []] = resourcesOf(templateOf({}), "AWS::DynamoDB::Table").filter(([id]) =>
    id.includes("LogStore"),
  );
  expect(logStore?.Properties).toMatchObject({
    KeySchema: [
      { AttributeName: "tablePath", KeyType: "HASH" },
      { AttributeName: "fileName", KeyType: "RANGE" },
    ],
    TimeToLiveSpecification: { AttributeName: "expireTime", Enabled: true },
    BillingMode: "PAY_PER_REQUEST",
  });
});

describe("the notification", () => {
  test("of an own bucket is the bucket's property, and waits for the queue's policy: S3 refuses it otherwise", () => {
    const template = templateOf({ capturePrefix: "upload/", captureSuffixes: [".pcap", ".pcapng"] });
    const bucket = template.Resources.IntakeBucketDF3620F2!;
    const { QueueConfigurations } = bucket.Properties.NotificationConfiguration as {
      QueueConfigurations: unknown[];
    };
    expect(QueueConfigurations).toMatchObject(
      ["s3:ObjectCreated:*", "s3:ObjectRestore:Completed"].flatMap((Event) =>
        [".pcap", ".pcapng"].map((Value) => ({
          Event,
          Filter: {
            S3Key: {
              Rules: [
                { Name: "prefix", Value: "upload/" },
                { Name: "suffix", Value },
              ],
            },
          },
        })),
      ),
    );
    const [policy] = resourcesOf(template, "AWS::SQS::QueuePolicy").find(([, { Properties }]) =>
      JSON.stringify(Properties).includes("s3.amazonaws.com"),
    )!;
    expect(bucket.DependsOn).toContain(policy);
    expect(resourcesOf(template, "Custom::S3BucketNotifications")).toEqual([]);
  });

  test("of an existing bucket is added beside those of other teams", () => {
    const template = templateOf(configurations["everything exists"]!);
    const [[, notifications] = []] = resourcesOf(template, "Custom::S3BucketNotifications");
    // False: the function keeps what it finds on the bucket.
    expect(notifications?.Properties).toMatchObject({ BucketName: "the-captures", Managed: false });
    expect(resourcesOf(template, "AWS::S3::Bucket")).toEqual([]);
  });

  test("reaches a queue that is encrypted by a customer's key: without the statement uploads vanish silently", () => {
    const template = templateOf({ key: "create" });
    const [[, key] = []] = resourcesOf(template, "AWS::KMS::Key");
    for (const service of ["s3.amazonaws.com", "cloudwatch.amazonaws.com"]) {
      expect(statementsOf(key!, "KeyPolicy")).toContainEqual(
        expect.objectContaining({
          Effect: "Allow",
          Principal: { Service: service },
          Action: ["kms:Decrypt", "kms:GenerateDataKey"],
        }),
      );
    }
  });
});

test("lifecycle rules remove what is left over, and nothing of the table", () => {
  const template = templateOf({ captureDays: 60, ledgerDays: 120, capturePrefix: "upload/" });
  const rulesOf = (id: string) =>
    (template.Resources[id]!.Properties.LifecycleConfiguration as { Rules: Record<string, unknown>[] }).Rules;
  expect(
    rulesOf("TableBucketDA42407C")
      .filter((rule) => rule.ExpirationInDays !== undefined)
      .map((rule) => [rule.Prefix, rule.ExpirationInDays]),
  ).toEqual([
    ["packets/_delta_log/.tmp/", 30],
    ["packets/_manifests/", 30],
  ]);
  expect(rulesOf("IntakeBucketDF3620F2")).toContainEqual(
    expect.objectContaining({ Prefix: "upload/", ExpirationInDays: 60 }),
  );
  for (const id of ["TableBucketDA42407C", "IntakeBucketDF3620F2"]) {
    expect(rulesOf(id)).toContainEqual(
      expect.objectContaining({ AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 } }),
    );
    expect(rulesOf(id).some((rule) => rule.NoncurrentVersionExpiration !== undefined)).toBe(true);
  }
});

/** For each call of the adapters: the action that IAM wants for it. */
const actionsOfCalls: Readonly<Record<string, string>> = {
  AbortMultipartUpload: "s3:AbortMultipartUpload",
  CompleteMultipartUpload: "s3:PutObject",
  CreateMultipartUpload: "s3:PutObject",
  UploadPart: "s3:PutObject",
  PutObject: "s3:PutObject",
  GetObject: "s3:GetObject",
  HeadObject: "s3:GetObject",
  DeleteObject: "s3:DeleteObject",
  DeleteObjects: "s3:DeleteObject",
  ListObjectsV2: "s3:ListBucket",
  SendMessage: "sqs:SendMessage",
  SendMessageBatch: "sqs:SendMessage",
  ReceiveMessage: "sqs:ReceiveMessage",
  DeleteMessageBatch: "sqs:DeleteMessage",
  ChangeMessageVisibilityBatch: "sqs:ChangeMessageVisibility",
  BatchGetItem: "dynamodb:BatchGetItem",
  BatchWriteItem: "dynamodb:BatchWriteItem",
  GetItem: "dynamodb:GetItem",
  PutItem: "dynamodb:PutItem",
  UpdateItem: "dynamodb:UpdateItem",
  Query: "dynamodb:Query",
};

/** The handlers and everything they import: operators' commands, with rights of their own, use other files of src/aws. */
function filesOfFunctions(): Set<string> {
  const handlers = ["converter", "committer", "maintenance"].map((name) =>
    join("lambdas", name, "handler.ts"),
  );
  const found = new Set(handlers.filter((path) => existsSync(path)));
  for (const path of found) {
    for (const [, target = ""] of readFileSync(path, "utf8").matchAll(/from "([.@][^"]+)"/g)) {
      const [, name, entry = name] = /^@deltacap\/(\w+)(?:\/(\w+))?$/.exec(target) ?? [];
      if (name !== undefined) found.add(`packages/${name}/src/${entry}.ts`);
      else if (target.startsWith(".")) found.add(join(dirname(path), target));
    }
  }
  return found;
}

test("functions may do what the adapters call, and nothing that none of them calls", () => {
  const calls = new Set(
    [...filesOfFunctions()].flatMap((path) =>
      [...readFileSync(path, "utf8").matchAll(/new (\w+)Command\(/g)].map(([, call]) => call ?? ""),
    ),
  );
  expect(calls.size).toBeGreaterThan(10);
  expect([...calls].filter((call) => actionsOfCalls[call] === undefined)).toEqual([]);
  const needed = new Set([...calls].map((call) => actionsOfCalls[call]));
  const template = templateOf({ vacuum: true, optimize: true, deleteCaptures: true });
  const allowed = new Set(
    resourcesOf(template, "AWS::IAM::Policy")
      .flatMap(([, policy]) => statementsOf(policy, "PolicyDocument"))
      .filter(({ Effect }) => Effect === "Allow")
      .flatMap(({ Action }) => listed(Action))
      .filter((action) => !action.startsWith("logs:")),
  );
  // A version is read and deleted by the same calls; Lambda itself asks for the queue's attributes, and gives messages back.
  const beside = [
    "s3:GetObjectVersion",
    "s3:DeleteObjectVersion",
    "sqs:GetQueueAttributes",
    "sqs:ChangeMessageVisibility",
  ];
  expect([...needed].filter((action) => !allowed.has(action ?? ""))).toEqual([]);
  expect([...allowed].filter((action) => !needed.has(action) && !beside.includes(action))).toEqual([]);
});

test("outputs name the Spark settings of the very log store, scheme and region", () => {
  const outputs = templateOf({ tableScheme: "s3" }).Outputs;
  const settings = JSON.stringify(outputs.SparkSettings?.Value);
  expect(settings).toContain("spark.delta.logStore.s3.impl=io.delta.storage.S3DynamoDBLogStore");
  expect(settings).toContain('S3DynamoDBLogStore.ddb.tableName=",{"Ref":"TableLogStore38CA1D6C"}');
  expect(settings).toContain('S3DynamoDBLogStore.ddb.region=",{"Ref":"AWS::Region"}');
  for (const name of ["SparkRead", "AthenaStatement", "DuckDbStatement", "DeltaRsStatement"])
    expect(outputs).toHaveProperty(name);
});

test("ports that carry SOME/IP and DoIP reach the converter", () => {
  const template = templateOf({ someipPorts: ["30490", "30501"], doipPorts: ["13401"] });
  const environments = resourcesOf(template, "AWS::Lambda::Function").map(
    ([, { Properties }]) => Properties.Environment as { Variables: object } | undefined,
  );
  const ports = { DELTACAP_SOMEIP_PORTS: "30490,30501", DELTACAP_DOIP_PORTS: "13401" };
  expect(environments).toContainEqual({ Variables: expect.objectContaining(ports) as object });
});

test("the output Settings is the functions' environment, for the command line to read as they do", () => {
  const { Outputs, Resources } = templateOf({});
  const settings = Outputs.Settings?.Value as { "Fn::Join": [string, unknown[]] };
  const text = settings["Fn::Join"][1].map((part) =>
    typeof part === "string" ? part : JSON.stringify(part).replaceAll('"', "'"),
  );
  const environments = Object.values(Resources)
    .filter(({ Type }) => Type === "AWS::Lambda::Function")
    .map(({ Properties }) => Properties.Environment as { Variables: object } | undefined);
  const names = Object.keys(JSON.parse(text.join("")) as object);
  expect(names).toContain("DELTACAP_TABLE");
  expect(Object.keys(environments[0]?.Variables ?? {})).toEqual(expect.arrayContaining(names));
});
