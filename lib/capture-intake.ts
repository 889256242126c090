import { Duration, Stack, Validations } from "aws-cdk-lib";
import { type IRole, PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import { Bucket, type CfnBucket, EventType, type IBucket } from "aws-cdk-lib/aws-s3";
import { SqsDestination } from "aws-cdk-lib/aws-s3-notifications";
import type { CfnQueuePolicy, Queue } from "aws-cdk-lib/aws-sqs";
import { Construct, type IConstruct } from "constructs";
import { KEY_ACTIONS } from "./customer-key.ts";
import { dataBucketProps } from "./data-bucket.ts";
import { MessageQueue } from "./message-queue.ts";
import { allow, allowObjects } from "./object-access.ts";
import { REFERENCE_DAYS } from "./settings/consistency.ts";
import { encodedForFilter } from "./settings/notification-filter.ts";

/** Where captures come from, and what takes them. */
export interface CaptureIntakeProps {
  /** Name of an existing bucket; undefined makes one. */
  readonly existingBucket?: string;
  /** Key of the existing bucket. */
  readonly existingBucketKeyArn?: string;
  /** Key prefix of captures. Default: any. */
  readonly prefix?: string;
  /** Keys of captures end in one of these, none of which ends in another. Default: any. */
  readonly suffixes?: readonly string[];
  /** Days after which captures in the construct's own bucket expire; 0: never. */
  readonly expireDays?: number;
  /** Seconds: see `visibilitySeconds` in consistency.ts. */
  readonly visibilitySeconds: number;
  readonly messageBytes: number;
  /** Encrypts the construct's own bucket and the queues. Default: keys that AWS manages. */
  readonly key?: IKey;
}

/**
 * Deliveries of a message before it is given up. A capture's own trouble is answered at once; what comes back here is trouble
 * around it, and ten deliveries outlast hours of it.
 */
const MAX_RECEIVE_COUNT = 10;

/** Where captures come in: a bucket, of its own or an existing one, whose uploads are announced in a queue. */
export class CaptureIntake extends Construct {
  readonly bucket: IBucket;
  readonly queue: Queue;
  readonly deadLetters: Queue;
  /** Whether eTags are no hash of the content: see `hashContent` in src/settings.ts. */
  readonly encryptedByKms: boolean;
  readonly #bucketKey: IKey | undefined;
  readonly #queueKey: IKey | undefined;
  readonly #prefix: string;

  constructor(scope: Construct, id: string, props: CaptureIntakeProps) {
    super(scope, id);
    const { visibilitySeconds, messageBytes, existingBucket, existingBucketKeyArn, key } = props;
    this.#prefix = props.prefix ?? "";
    const queues = new MessageQueue(this, "Captures", {
      visibilitySeconds,
      messageBytes,
      maxReceiveCount: MAX_RECEIVE_COUNT,
      ...(key === undefined ? {} : { key }),
    });
    this.queue = queues.queue;
    this.deadLetters = queues.deadLetters;
    this.#queueKey = key;
    this.#bucketKey =
      existingBucket === undefined
        ? key
        : existingBucketKeyArn === undefined
          ? undefined
          : Key.fromKeyArn(this, "BucketKey", existingBucketKeyArn);
    this.encryptedByKms = this.#bucketKey !== undefined;
    this.bucket =
      existingBucket === undefined
        ? (this.#ownBucket(props) as IBucket)
        : this.#existingBucket(existingBucket, props);
  }

  grantRead(role: IRole): void {
    allowObjects(role, this.bucket, this.#prefix, ["s3:GetObject", "s3:GetObjectVersion"]);
    if (this.#bucketKey !== undefined) allow(role, ["kms:Decrypt"], this.#bucketKey.keyArn);
  }

  /** What deleting a capture needs once its rows are committed. */
  grantDelete(role: IRole): void {
    allowObjects(role, this.bucket, this.#prefix, ["s3:DeleteObject", "s3:DeleteObjectVersion"]);
  }

  /** What receiving announcements needs, of Lambda's event source: it acts under the function's role. */
  grantConsume(role: IRole): void {
    allow(
      role,
      ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"],
      this.queue.queueArn,
    );
    this.#grantQueueKey(role);
  }

  /** What sending to a queue of the intake needs: sources sent back, or messages set aside. */
  grantSend(role: IRole, queue: Queue): void {
    allow(role, ["sqs:SendMessage"], queue.queueArn);
    this.#grantQueueKey(role);
  }

  #grantQueueKey(role: IRole): void {
    if (this.#queueKey !== undefined) allow(role, KEY_ACTIONS, this.#queueKey.keyArn);
  }

  #ownBucket({ expireDays = 0, key, prefix = "", suffixes = [] }: CaptureIntakeProps): Bucket {
    const bucket = new Bucket(this, "Bucket", {
      ...dataBucketProps(key),
      lifecycleRules: [
        { id: "unfinished-uploads", abortIncompleteMultipartUploadAfter: Duration.days(7) },
        // An event names a version; it may be replaced while the event waits.
        { id: "replaced-captures", noncurrentVersionExpiration: Duration.days(REFERENCE_DAYS) },
        ...(expireDays === 0 ? [] : [{ id: "captures", expiration: Duration.days(expireDays), prefix }]),
      ],
    });
    acknowledgeAccessLogs(bucket);
    this.#notify(bucket, prefix, suffixes);
    return bucket;
  }

  /**
   * The notification as a property of the bucket, which needs no function with rights over all buckets. S3 tries the queue when
   * the property is set: the queue's policy must stand by then, and must not name the bucket, which does not exist yet. It
   * names the account instead; the converter refuses buckets that it was not told of.
   */
  #notify(bucket: Bucket, prefix: string, suffixes: readonly string[]): void {
    const { account } = Stack.of(this);
    this.queue.addToResourcePolicy(
      new PolicyStatement({
        sid: "Notifications",
        principals: [new ServicePrincipal("s3.amazonaws.com")],
        actions: ["sqs:SendMessage"],
        resources: [this.queue.queueArn],
        conditions: { StringEquals: { "aws:SourceAccount": account } },
      }),
    );
    const resource = bucket.node.defaultChild as CfnBucket;
    resource.notificationConfiguration = {
      queueConfigurations: ["s3:ObjectCreated:*", "s3:ObjectRestore:Completed"].flatMap((event) =>
        filtersOf(prefix, suffixes).map((rules) => ({
          event,
          queue: this.queue.queueArn,
          ...(rules.length === 0 ? {} : { filter: { s3Key: { rules } } }),
        })),
      ),
    };
    resource.addResourceDependency(this.queue.node.findChild("Policy").node.defaultChild as CfnQueuePolicy);
  }

  /** CDK's function reads the bucket's notifications, and puts them back with ours: others' are kept. */
  #existingBucket(name: string, { prefix = "", suffixes = [] }: CaptureIntakeProps): IBucket {
    const bucket = Bucket.fromBucketName(this, "Bucket", name);
    const destination = new SqsDestination(this.queue);
    for (const suffix of suffixes.length === 0 ? [undefined] : suffixes) {
      for (const event of [EventType.OBJECT_CREATED, EventType.OBJECT_RESTORE_COMPLETED]) {
        bucket.addEventNotification(event, destination, {
          ...(prefix === "" ? {} : { prefix: encodedForFilter(prefix) }),
          ...(suffix === undefined ? {} : { suffix: encodedForFilter(suffix) }),
        });
      }
    }
    const handler = Stack.of(this).node.tryFindChild(NOTIFICATIONS_HANDLER);
    if (handler !== undefined) acknowledgeNotificationsHandler(handler);
    return bucket;
  }
}

/** Name of CDK's function in the stack: one for all existing buckets. */
const NOTIFICATIONS_HANDLER = "BucketNotificationsHandler050a0587b7544547bf325f094a3db834";

function acknowledgeNotificationsHandler(handler: IConstruct): void {
  const reason = "CDK's own function, which puts notifications on existing buckets when the stack changes";
  Validations.of(handler).acknowledge(
    {
      id: "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]",
      reason,
    },
    { id: "AwsSolutions-IAM5[Resource::*]", reason },
    { id: "AwsSolutions-L1", reason },
  );
}

function filtersOf(prefix: string, suffixes: readonly string[]): { name: string; value: string }[][] {
  const beginning = prefix === "" ? [] : [{ name: "prefix", value: encodedForFilter(prefix) }];
  if (suffixes.length === 0) return [beginning];
  return suffixes.map((suffix) => [...beginning, { name: "suffix", value: encodedForFilter(suffix) }]);
}

/** A server access log would be a third bucket with a record for each of a fleet's requests. */
export function acknowledgeAccessLogs(bucket: Bucket): void {
  Validations.of(bucket).acknowledge({
    id: "AwsSolutions-S1",
    reason: "Access is logged where the account wants it, by CloudTrail data events; see docs/deploy.md",
  });
}
