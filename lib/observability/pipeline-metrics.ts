import { Aws, Duration } from "aws-cdk-lib";
import { type IMetric, MathExpression, Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { ITable } from "aws-cdk-lib/aws-dynamodb";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { metricsNamespace } from "../../src/settings.ts";

/** Everything that alarms and the dashboard look at. */
export interface PipelineParts {
  readonly captureQueue: Queue;
  readonly captureDeadLetters: Queue;
  readonly manifestQueue: Queue;
  readonly manifestDeadLetters: Queue;
  readonly converter: LambdaFunction;
  readonly converterTimeoutSeconds: number;
  readonly committer: LambdaFunction;
  readonly maintenance: LambdaFunction;
  /** Minutes between two runs of maintenance. */
  readonly maintenanceMinutes: number;
  /** The ledger, and the log store's table where there is one. */
  readonly tables: readonly ITable[];
}

/** The functions, by the name that stands in their metrics. */
export type Service = "converter" | "committer" | "maintenance";

/** What the functions count; lambdas/ writes them under these names. */
export type MetricName =
  | "Captures"
  | "Packets"
  | "CaptureBytes"
  | "Rejected"
  | "Damaged"
  | "Duplicates"
  | "Superseded"
  | "Gone"
  | "Empty"
  | "Failed"
  | "Files"
  | "Commits"
  | "FilesPerCommit"
  | "Sources"
  | "CommitLatency"
  | "Conflicts"
  | "Repairs"
  | "UploadToCommitAge"
  | "SentBack"
  | "Refused"
  | "NewerManifests"
  | "ManifestFailures"
  | "Runs"
  | "IncompleteItemAge"
  | "Checkpoints"
  | "CheckpointFailures"
  | "SmallFiles"
  | "Optimized"
  | "Vacuumed";

/** A metric of the functions' own, of this stack's alone. */
export function engineMetric(service: Service, name: MetricName, statistic: string, minutes: number): Metric {
  return new Metric({
    namespace: metricsNamespace,
    metricName: name,
    dimensionsMap: { service, stack: Aws.STACK_NAME },
    statistic,
    period: Duration.minutes(minutes),
  });
}

/** Requests that DynamoDB refused because of their rate, over all of the tables. */
export function throttledRequests(tables: readonly ITable[], minutes: number): IMetric {
  const names = ["ReadThrottleEvents", "WriteThrottleEvents"];
  const metrics = tables.flatMap((table) =>
    names.map((metricName) =>
      table.metric(metricName, { statistic: "Sum", period: Duration.minutes(minutes) }),
    ),
  );
  const usingMetrics = Object.fromEntries(metrics.map((metric, index) => [`t${index}`, metric]));
  return new MathExpression({
    // A table that throttles nothing has no such metric.
    expression: Object.keys(usingMetrics)
      .map((name) => `FILL(${name}, 0)`)
      .join(" + "),
    usingMetrics,
    label: "throttled requests",
    period: Duration.minutes(minutes),
  });
}
