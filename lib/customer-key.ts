import { RemovalPolicy, Stack } from "aws-cdk-lib";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";

/** Actions by which S3, SQS and DynamoDB use a key for whoever calls them. */
export const KEY_ACTIONS = [
  "kms:Decrypt",
  "kms:DescribeKey",
  "kms:Encrypt",
  "kms:GenerateDataKey",
  "kms:GenerateDataKeyWithoutPlaintext",
  "kms:ReEncryptFrom",
  "kms:ReEncryptTo",
];

/** Whose key it is. */
export interface CustomerKeyProps {
  /** ARN of a key that exists; undefined makes one. The policy of an existing key is its owner's: docs/deploy.md says what it needs. */
  readonly existingArn?: string;
}

/**
 * A key of the customer's own for buckets, queues, tables, logs and the alarms' topic. S3 may use it to send to an encrypted queue and
 * CloudWatch to publish to an encrypted topic: without these statements the notifications are lost without an error anywhere.
 */
export class CustomerKey extends Construct {
  readonly key: IKey;

  constructor(scope: Construct, id: string, { existingArn }: CustomerKeyProps = {}) {
    super(scope, id);
    if (existingArn !== undefined) {
      this.key = Key.fromKeyArn(this, "Key", existingArn);
      return;
    }
    const key = new Key(this, "Key", {
      description: "Deltacap: captures, table, queues",
      enableKeyRotation: true,
      // Without the key nothing that was stored can be read again.
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    });
    key.addToResourcePolicy(this.#logsStatement());
    for (const service of ["s3.amazonaws.com", "cloudwatch.amazonaws.com"]) {
      key.addToResourcePolicy(
        new PolicyStatement({
          sid: service.startsWith("s3") ? "NotificationsToQueue" : "AlarmsToTopic",
          principals: [new ServicePrincipal(service)],
          actions: ["kms:Decrypt", "kms:GenerateDataKey"],
          resources: ["*"],
          conditions: { StringEquals: { "aws:SourceAccount": Stack.of(this).account } },
        }),
      );
    }
    this.key = key;
  }

  /** CloudWatch Logs refuses to make an encrypted log group until the key's policy names it. */
  #logsStatement(): PolicyStatement {
    const { partition, region, account } = Stack.of(this);
    return new PolicyStatement({
      sid: "Logs",
      principals: [new ServicePrincipal(`logs.${region}.amazonaws.com`)],
      actions: KEY_ACTIONS,
      resources: ["*"],
      conditions: {
        ArnLike: {
          "kms:EncryptionContext:aws:logs:arn": `arn:${partition}:logs:${region}:${account}:log-group:*`,
        },
      },
    });
  }
}
