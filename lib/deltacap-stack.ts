import { Aws, CfnOutput, Stack, type StackProps, Tags } from "aws-cdk-lib";
import { ManagedPolicy, PermissionsBoundary } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Construct } from "constructs";
import { environmentOf, type FunctionSettings } from "../src/settings.ts";
import { CaptureIntake } from "./capture-intake.ts";
import { Committer } from "./committer.ts";
import { Converter } from "./converter.ts";
import { CustomerKey } from "./customer-key.ts";
import { logCdkFunctions, placeInVpc } from "./every-function.ts";
import { LakeTable } from "./lake-table.ts";
import { Maintenance } from "./maintenance.ts";
import { ManifestQueue } from "./manifest-queue.ts";
import { Observability } from "./observability/observability.ts";
import { ReadingOutputs } from "./reading-outputs.ts";
import type { DeltacapConfiguration } from "./settings/configuration.ts";
import { checkConsistency, visibilitySeconds } from "./settings/consistency.ts";

/** The stack's settings. */
export interface DeltacapStackProps extends StackProps {
  readonly configuration: DeltacapConfiguration;
  /** Folder with the functions' assets, as `npm run build` makes it. */
  readonly assets: string;
}

/** The whole pipeline: captures in, rows out. Reads in the order of the flow. */
export class DeltacapStack extends Stack {
  /** Throws an error when settings contradict each other, or the functions are not built. */
  constructor(scope: Construct, id: string, { configuration, assets, ...props }: DeltacapStackProps) {
    super(scope, id, props);
    checkConsistency(configuration);
    const { messageBytes, alarmEmail, runbookUrl, glueDatabase } = configuration;
    const keyProps = keyOf(this, configuration);

    const intake = new CaptureIntake(this, "Intake", {
      ...existing(configuration.captureBucket, configuration.captureKeyArn),
      prefix: configuration.capturePrefix,
      suffixes: configuration.captureSuffixes,
      expireDays: configuration.captureDays,
      visibilitySeconds: visibilitySeconds(
        configuration.converterTimeoutSeconds,
        configuration.batchWindowSeconds,
      ),
      messageBytes,
      ...keyProps,
    });
    const table = new LakeTable(this, "Table", {
      ...existing(configuration.tableBucket, configuration.tableKeyArn),
      prefix: configuration.tablePrefix,
      scheme: configuration.tableScheme,
      logStore: configuration.logStore,
      ...(configuration.logTable === "" ? {} : { existingLogTable: configuration.logTable }),
      ...keyProps,
    });
    const manifests = new ManifestQueue(this, "ManifestQueue", { messageBytes, ...keyProps });

    const settings = settingsOf(configuration, { intake, table, manifests });
    const logs = { logDays: configuration.logDays, ...keyProps };
    const functions = { assets, environment: environmentOf(settings), ...logs };
    const converter = new Converter(this, "Converter", {
      ...functions,
      intake,
      table,
      manifests,
      memory: configuration.converterMemory,
      timeoutSeconds: configuration.converterTimeoutSeconds,
      batchSize: configuration.batchSize,
      batchWindowSeconds: configuration.batchWindowSeconds,
      concurrency: configuration.converterConcurrency,
    });
    const committer = new Committer(this, "Committer", {
      ...functions,
      intake,
      table,
      manifests,
      memory: configuration.committerMemory,
      reserve: configuration.reserveCommitter,
      deleteCaptures: configuration.deleteCaptures,
    });
    const maintenance = new Maintenance(this, "Maintenance", {
      ...functions,
      table,
      memory: configuration.maintenanceMemory,
      minutes: configuration.maintenanceMinutes,
      optimize: configuration.optimize,
      vacuum: configuration.vacuum,
    });

    const observability = new Observability(this, "Observability", {
      captureQueue: intake.queue,
      captureDeadLetters: intake.deadLetters,
      manifestQueue: manifests.queue,
      manifestDeadLetters: manifests.deadLetters,
      converter: converter.function,
      converterTimeoutSeconds: configuration.converterTimeoutSeconds,
      committer: committer.function,
      maintenance: maintenance.function,
      maintenanceMinutes: configuration.maintenanceMinutes,
      tables: table.logTable === undefined ? [table.ledger] : [table.logTable, table.ledger],
      runbookUrl,
      ...(alarmEmail === "" ? {} : { alarmEmail }),
      ...keyProps,
    });
    new ReadingOutputs(this, "Reading", { table, ...(glueDatabase === "" ? {} : { glueDatabase }) });
    this.#outputs({ intake, table, manifests, converter, committer, maintenance, observability }, settings);
    logCdkFunctions(this, logs);
    this.#constrain(configuration);
  }

  /** By these names the command line finds what it is to look at; and every setting of the functions is among them. */
  #outputs(parts: Outputs, settings: FunctionSettings): void {
    const { intake, table, manifests, converter, committer, maintenance, observability } = parts;
    const { tableUri, captureQueueUrl, manifestQueueUrl } = settings;
    const outputs: Record<string, string> = {
      Settings: this.toJsonString(environmentOf(settings)),
      CaptureBucket: intake.bucket.bucketName,
      TableUri: tableUri,
      LogTable: table.logTable?.tableName ?? "none",
      LedgerTable: table.ledger.tableName,
      CaptureQueueUrl: captureQueueUrl,
      CaptureDeadLetterUrl: intake.deadLetters.queueUrl,
      ManifestQueueUrl: manifestQueueUrl,
      ManifestDeadLetterUrl: manifests.deadLetters.queueUrl,
      ConverterFunction: converter.function.functionName,
      ConverterEventSource: converter.eventSource.eventSourceMappingId,
      CommitterFunction: committer.function.functionName,
      CommitterSchedule: committer.schedule.ruleName,
      MaintenanceFunction: maintenance.function.functionName,
      AlarmTopic: observability.topic.topicArn,
      DashboardName: observability.dashboard.dashboardName,
    };
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(this, name, { value });
  }

  /** Applies what an account demands of every resource. */
  #constrain({ vpcSubnetIds, vpcSecurityGroupIds, permissionsBoundary, tags }: DeltacapConfiguration): void {
    if (vpcSubnetIds.length > 0)
      placeInVpc(this, { subnetIds: vpcSubnetIds, securityGroupIds: vpcSecurityGroupIds });
    this.#bound(permissionsBoundary);
    for (const tag of tags) {
      const at = tag.indexOf("=");
      Tags.of(this).add(tag.slice(0, at), tag.slice(at + 1));
    }
  }

  /** Roles of CDK's own functions included: where roles without the boundary are forbidden, one is enough to fail. */
  #bound(policyArn: string): void {
    if (policyArn === "") return;
    const policy = ManagedPolicy.fromManagedPolicyArn(this, "PermissionsBoundary", policyArn);
    PermissionsBoundary.of(this).apply(policy);
  }
}

interface Pipeline {
  readonly intake: CaptureIntake;
  readonly table: LakeTable;
  readonly manifests: ManifestQueue;
}

interface Outputs extends Pipeline {
  readonly converter: Converter;
  readonly committer: Committer;
  readonly maintenance: Maintenance;
  readonly observability: Observability;
}

/** Every function is given all: none of it is secret, and each takes what it needs. */
function settingsOf(
  configuration: DeltacapConfiguration,
  { intake, table, manifests }: Pipeline,
): FunctionSettings {
  return {
    stackName: Aws.STACK_NAME,
    tableUri: table.uri,
    tableScheme: configuration.tableScheme,
    logStore: configuration.logStore,
    logTable: table.logTable?.tableName ?? "",
    ledgerTable: table.ledger.tableName,
    ledgerDays: configuration.ledgerDays,
    captureBuckets: [intake.bucket.bucketName],
    keyPattern: configuration.keyPattern,
    hashContent: intake.encryptedByKms,
    someipPorts: configuration.someipPorts.map(Number),
    doipPorts: configuration.doipPorts.map(Number),
    deleteCaptures: configuration.deleteCaptures,
    captureQueueUrl: intake.queue.queueUrl,
    captureDeadLetterUrl: intake.deadLetters.queueUrl,
    manifestQueueUrl: manifests.queue.queueUrl,
    manifestDeadLetterUrl: manifests.deadLetters.queueUrl,
    messageBytes: configuration.messageBytes,
    commitIntervalSeconds: configuration.commitIntervalSeconds,
    filesPerCommit: configuration.filesPerCommit,
    checkpointInterval: configuration.checkpointInterval,
    optimize: configuration.optimize,
    vacuum: configuration.vacuum,
    vacuumHours: configuration.vacuumHours,
  };
}

function keyOf(stack: Stack, { key }: DeltacapConfiguration): { key?: IKey } {
  if (key === "") return {};
  return { key: new CustomerKey(stack, "Key", key === "create" ? {} : { existingArn: key }).key };
}

function existing(name: string, keyArn: string): { existingBucket?: string; existingBucketKeyArn?: string } {
  if (name === "") return {};
  return { existingBucket: name, ...(keyArn === "" ? {} : { existingBucketKeyArn: keyArn }) };
}
