import { DescribeTableCommand, DescribeTimeToLiveCommand, QueryCommand } from "@aws-sdk/client-dynamodb";
import {
  GetBucketEncryptionCommand,
  GetBucketNotificationConfigurationCommand,
  GetBucketVersioningCommand,
} from "@aws-sdk/client-s3";
import { GetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import { isBucketMissing, translated } from "@deltacap/delta/aws";
import type { AwsClients } from "./clients.ts";

/** What S3 says of a bucket, as far as the pipeline depends on it. */
export interface BucketFacts {
  /** Whether it keeps the versions that it replaces. */
  readonly versioned: boolean;
  /** Whether objects are encrypted by a KMS key: their eTags say nothing of their content then. */
  readonly kms: boolean;
}

/** Where a bucket announces new objects. */
export interface NotificationFacts {
  /** ARNs of queues. */
  readonly queues: readonly string[];
  /** ARNs of SNS topics. */
  readonly topics: readonly string[];
  readonly eventBridge: boolean;
}

/** What SQS says of a queue, as far as the pipeline depends on it. */
export interface QueueFacts {
  readonly arn: string;
  readonly visibilitySeconds: number;
  readonly retentionSeconds: number;
  /** Largest message. */
  readonly messageBytes: number;
  /** ARN of the dead letter queue; null where there is none. */
  readonly deadLetterArn: string | null;
  readonly maxReceiveCount: number;
}

/** What DynamoDB says of a table, as far as the pipeline depends on it. */
export interface DynamoTableFacts {
  /** `tablePath HASH S`, in the order of the schema. */
  readonly keys: readonly string[];
  /** Attribute by which items expire; null where none do. */
  readonly ttlAttribute: string | null;
}

/** What AWS says of a stack's resources. Methods throw `RetryableError` that names the permission where it is not granted. */
export class AccountResources {
  readonly #clients: AwsClients;

  constructor(clients: AwsClients) {
    this.#clients = clients;
  }

  /** Returns null where there is no such bucket. */
  async bucket(name: string): Promise<BucketFacts | null> {
    const { s3 } = this.#clients;
    const versioning = await asked("s3:GetBucketVersioning", name, () =>
      s3.send(new GetBucketVersioningCommand({ Bucket: name })).catch((error: unknown) => {
        if (isBucketMissing(error)) return null;
        throw error;
      }),
    );
    if (versioning === null) return null;
    const encryption = await asked("s3:GetEncryptionConfiguration", name, () =>
      s3.send(new GetBucketEncryptionCommand({ Bucket: name })),
    );
    const algorithms = (encryption.ServerSideEncryptionConfiguration?.Rules ?? []).map(
      ({ ApplyServerSideEncryptionByDefault: byDefault }) => byDefault?.SSEAlgorithm ?? "",
    );
    return {
      versioned: versioning.Status === "Enabled",
      kms: algorithms.some((algorithm) => algorithm.startsWith("aws:kms")),
    };
  }

  async notifications(bucket: string): Promise<NotificationFacts> {
    const found = await asked("s3:GetBucketNotification", bucket, () =>
      this.#clients.s3.send(new GetBucketNotificationConfigurationCommand({ Bucket: bucket })),
    );
    const creation = ({ Events = [] }: { Events?: string[] | undefined }) =>
      Events.some((event) => event.startsWith("s3:ObjectCreated:"));
    return {
      queues: (found.QueueConfigurations ?? []).filter(creation).map(({ QueueArn = "" }) => QueueArn),
      topics: (found.TopicConfigurations ?? []).filter(creation).map(({ TopicArn = "" }) => TopicArn),
      eventBridge: found.EventBridgeConfiguration !== undefined,
    };
  }

  async queue(url: string): Promise<QueueFacts> {
    const { Attributes = {} } = await asked("sqs:GetQueueAttributes", url, () =>
      this.#clients.sqs.send(new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["All"] })),
    );
    const redrive = JSON.parse(Attributes.RedrivePolicy ?? "{}") as {
      deadLetterTargetArn?: string;
      maxReceiveCount?: number | string;
    };
    return {
      arn: Attributes.QueueArn ?? "",
      visibilitySeconds: Number(Attributes.VisibilityTimeout ?? 0),
      retentionSeconds: Number(Attributes.MessageRetentionPeriod ?? 0),
      messageBytes: Number(Attributes.MaximumMessageSize ?? 0),
      deadLetterArn: redrive.deadLetterTargetArn ?? null,
      maxReceiveCount: Number(redrive.maxReceiveCount ?? 0),
    };
  }

  async table(name: string): Promise<DynamoTableFacts> {
    const { dynamodb } = this.#clients;
    const { Table } = await asked("dynamodb:DescribeTable", name, () =>
      dynamodb.send(new DescribeTableCommand({ TableName: name })),
    );
    const { TimeToLiveDescription: ttl } = await asked("dynamodb:DescribeTimeToLive", name, () =>
      dynamodb.send(new DescribeTimeToLiveCommand({ TableName: name })),
    );
    const types = new Map(Table?.AttributeDefinitions?.map((of) => [of.AttributeName, of.AttributeType]));
    const isOn = ttl?.TimeToLiveStatus === "ENABLED" || ttl?.TimeToLiveStatus === "ENABLING";
    return {
      keys: (Table?.KeySchema ?? []).map(
        ({ AttributeName, KeyType }) => `${AttributeName} ${KeyType} ${types.get(AttributeName)}`,
      ),
      ttlAttribute: isOn ? (ttl.AttributeName ?? null) : null,
    };
  }

  /** Whether the log store's table has a commit of the Delta table at this path. */
  async hasCommits(logTable: string, tablePath: string): Promise<boolean> {
    const { Count = 0 } = await asked("dynamodb:Query", logTable, () =>
      this.#clients.dynamodb.send(
        new QueryCommand({
          TableName: logTable,
          KeyConditionExpression: "tablePath = :path",
          ExpressionAttributeValues: { ":path": { S: tablePath } },
          Limit: 1,
          ConsistentRead: true,
        }),
      ),
    );
    return Count > 0;
  }
}

async function asked<Answer>(action: string, name: string, call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    throw translated(error, `${action} of ${name} failed`);
  }
}
