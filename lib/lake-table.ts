import { Duration, RemovalPolicy } from "aws-cdk-lib";
import {
  AttributeType,
  BillingMode,
  type ITable,
  Table,
  TableEncryption,
  type TableProps,
} from "aws-cdk-lib/aws-dynamodb";
import { Effect, type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import { Bucket, type IBucket } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { acknowledgeAccessLogs } from "./capture-intake.ts";
import { KEY_ACTIONS } from "./customer-key.ts";
import { dataBucketProps } from "./data-bucket.ts";
import { allow, allowObjects } from "./object-access.ts";
import { REFERENCE_DAYS } from "./settings/consistency.ts";

/** Where the table lies, and how its writers exclude each other. */
export interface LakeTableProps {
  /** The table's folder: no slashes at its ends, never empty. */
  readonly prefix: string;
  /** The scheme by which Spark is given the table. */
  readonly scheme: "s3a" | "s3";
  /** Name of an existing bucket; undefined makes one. The lifecycle rules of an existing one are its owner's (docs/deploy.md). */
  readonly existingBucket?: string;
  /** Key of the existing bucket. */
  readonly existingBucketKeyArn?: string;
  /** `conditional`: no log store table, for tables that no Spark writes. */
  readonly logStore: "dynamodb" | "conditional";
  /** Name of an existing table of Spark's log store; undefined makes one. */
  readonly existingLogTable?: string;
  /** Encrypts the construct's own bucket and tables. Default: keys that AWS manages. */
  readonly key?: IKey;
}

/** Days in which a file that was deleted or replaced can be brought back. */
const NONCURRENT_DAYS = 7;

/** The Delta table's place: bucket and folder, the log store that Spark shares, the ledger of what was ingested. */
export class LakeTable extends Construct {
  readonly bucket: IBucket;
  readonly prefix: string;
  /** As the functions are told it. */
  readonly uri: string;
  /** As Spark is given it: the log store's key. */
  readonly sparkUri: string;
  /** Undefined where the log store is `conditional`. */
  readonly logTable: ITable | undefined;
  readonly ledger: ITable;
  readonly #bucketKey: IKey | undefined;
  readonly #key: IKey | undefined;

  constructor(scope: Construct, id: string, props: LakeTableProps) {
    super(scope, id);
    const { prefix, scheme, existingBucket, existingBucketKeyArn, existingLogTable, key } = props;
    this.prefix = prefix;
    this.#key = key;
    if (existingBucket === undefined) {
      this.#bucketKey = key;
      this.bucket = this.#ownBucket(prefix, key) as IBucket;
    } else {
      this.#bucketKey =
        existingBucketKeyArn === undefined
          ? undefined
          : Key.fromKeyArn(this, "BucketKey", existingBucketKeyArn);
      this.bucket = Bucket.fromBucketName(this, "Bucket", existingBucket);
    }
    this.uri = `s3://${this.bucket.bucketName}/${prefix}`;
    this.sparkUri = `${scheme}://${this.bucket.bucketName}/${prefix}`;
    this.ledger = ledgerTable(this, key) as ITable;
    if (props.logStore === "dynamodb") {
      this.logTable =
        existingLogTable === undefined
          ? (new Table(this, "LogStore", {
              ...tableProps(key),
              partitionKey: { name: "tablePath", type: AttributeType.STRING },
              sortKey: { name: "fileName", type: AttributeType.STRING },
            }) as ITable)
          : Table.fromTableName(this, "LogStore", existingLogTable);
    }
  }

  /** What the converter needs: it puts new files, and reads of the ledger what is known. */
  grantConvert(role: IRole): void {
    // Reading back tells whether a put whose reply was lost is our own.
    this.#allowObjects(role, ["s3:PutObject", "s3:AbortMultipartUpload", "s3:GetObject"], "");
    // Captures are hostile input: the code that parses them must not be able to write a version.
    this.#denyLog(role, "s3:PutObject");
    this.#allowLedger(role, ["dynamodb:BatchGetItem", "dynamodb:PutItem"]);
  }

  /** What the committer needs: it looks at data files, never writes one, and writes the log and the ledger. */
  grantCommit(role: IRole): void {
    this.#allowObjects(role, ["s3:GetObject"], "");
    this.#allowObjects(role, ["s3:PutObject"], "_delta_log/");
    this.#allowLog(role);
    this.#allowLedger(role, [
      "dynamodb:BatchGetItem",
      "dynamodb:BatchWriteItem",
      "dynamodb:GetItem",
      "dynamodb:UpdateItem",
    ]);
  }

  /** What maintenance needs; only vacuum may delete, and nothing of the log. */
  grantMaintain(role: IRole, { optimize, vacuum }: { optimize: boolean; vacuum: boolean }): void {
    this.#allowObjects(role, ["s3:GetObject"], "");
    const written = optimize ? "" : "_delta_log/";
    this.#allowObjects(role, ["s3:PutObject", "s3:AbortMultipartUpload"], written);
    if (vacuum) {
      this.#allowObjects(role, ["s3:DeleteObject"], "");
      this.#denyLog(role, "s3:DeleteObject");
    }
    this.#allowLog(role);
  }

  #denyLog(role: IRole, action: string): void {
    const resources = [this.bucket.arnForObjects(`${this.prefix}/_delta_log/*`)];
    role.addToPrincipalPolicy(new PolicyStatement({ effect: Effect.DENY, actions: [action], resources }));
  }

  #allowObjects(role: IRole, actions: string[], path: string): void {
    allowObjects(role, this.bucket, `${this.prefix}/${path}`, actions);
    if (this.#bucketKey !== undefined) allow(role, KEY_ACTIONS, this.#bucketKey.keyArn);
  }

  #allowLog(role: IRole): void {
    if (this.logTable === undefined) return;
    const actions = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"];
    allow(role, actions, this.logTable.tableArn);
    if (this.#key !== undefined) allow(role, KEY_ACTIONS, this.#key.keyArn);
  }

  #allowLedger(role: IRole, actions: string[]): void {
    allow(role, actions, this.ledger.tableArn);
    if (this.#key !== undefined) allow(role, KEY_ACTIONS, this.#key.keyArn);
  }

  #ownBucket(prefix: string, key: IKey | undefined): Bucket {
    const bucket = new Bucket(this, "Bucket", {
      ...dataBucketProps(key),
      lifecycleRules: [
        { id: "unfinished-uploads", abortIncompleteMultipartUploadAfter: Duration.days(7) },
        { id: "old-versions", noncurrentVersionExpiration: Duration.days(NONCURRENT_DAYS) },
        // Spark leaves them behind as we do, and repair needs them only while their commit is incomplete.
        { id: "temporary-log-files", prefix: `${prefix}/_delta_log/.tmp/`, expiration: Duration.days(30) },
        // Messages that refer to them may wait so long.
        { id: "manifests", prefix: `${prefix}/_manifests/`, expiration: Duration.days(REFERENCE_DAYS) },
      ],
    });
    acknowledgeAccessLogs(bucket);
    return bucket;
  }
}

/** The index `trouble` holds rejected and damaged captures alone: `deltacap status` lists them, newest first. */
function ledgerTable(scope: Construct, key: IKey | undefined): Table {
  const table = new Table(scope, "Ledger", {
    ...tableProps(key),
    partitionKey: { name: "sourceId", type: AttributeType.STRING },
  });
  table.addGlobalSecondaryIndex({
    indexName: "trouble",
    partitionKey: { name: "trouble", type: AttributeType.STRING },
    sortKey: { name: "noticedAt", type: AttributeType.NUMBER },
  });
  return table;
}

/**
 * Both tables hold an item for each of something that comes in bursts, and DynamoDB forgets items by `expireTime`. Neither is protected
 * from deletion: CloudFormation could then not take back a first deployment that failed. Point-in-time recovery keeps a backup of a
 * deleted table for 35 days, and neither table has the only copy of a row.
 */
function tableProps(key: IKey | undefined): Omit<TableProps, "partitionKey"> {
  return {
    billingMode: BillingMode.PAY_PER_REQUEST,
    timeToLiveAttribute: "expireTime",
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ...(key === undefined
      ? { encryption: TableEncryption.DEFAULT }
      : { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey: key }),
  };
}
