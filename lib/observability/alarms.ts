import { Duration } from "aws-cdk-lib";
import { type IMetric, MathExpression } from "aws-cdk-lib/aws-cloudwatch";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { engineMetric, type PipelineParts, throttledRequests } from "./pipeline-metrics.ts";

/** One alarm. Its id is also the name of its section in docs/runbook.md, which a test checks. */
export interface AlarmDefinition {
  readonly id: string;
  /** One sentence that says what is wrong. */
  readonly what: string;
  readonly metric: IMetric;
  readonly raisedWhen: "over" | "under";
  readonly threshold: number;
  /** Periods of the metric in a row that must be so. */
  readonly periods: number;
  /** What it means when there is no data: `fine`, or `bad` for a heartbeat. */
  readonly missing: "fine" | "bad";
}

const FIVE_MINUTES = Duration.minutes(5);

/** All alarms, in the order of the flow. */
export function alarmsOf(parts: PipelineParts): AlarmDefinition[] {
  return [
    ...intakeAlarms(parts),
    ...converterAlarms(parts),
    ...committerAlarms(parts),
    ...tableAlarms(parts),
  ];
}

function intakeAlarms({
  captureQueue,
  captureDeadLetters,
  manifestQueue,
  manifestDeadLetters,
}: PipelineParts) {
  return [
    over(
      "capture-dead-letters",
      "captures were given up after repeated failures",
      messages(captureDeadLetters),
      0,
    ),
    over(
      "manifest-dead-letters",
      "files wait uncommitted: their manifest was refused",
      messages(manifestDeadLetters),
      0,
    ),
    over("capture-queue-age", "captures wait longer than 15 minutes", oldest(captureQueue), 900),
    over(
      "manifest-queue-age",
      "converted captures wait longer than 10 minutes for their commit",
      oldest(manifestQueue),
      600,
    ),
  ];
}

function converterAlarms({ converter, converterTimeoutSeconds }: PipelineParts): AlarmDefinition[] {
  const period = FIVE_MINUTES;
  const near = Math.floor(converterTimeoutSeconds * 800);
  return [
    over("converter-errors", "the converter fails as a whole", converter.metricErrors({ period }), 0, 2),
    over(
      "converter-throttles",
      "the account has no room for another converter",
      converter.metricThrottles({ period }),
      0,
      3,
    ),
    over(
      "converter-time",
      `a converter ran for more than 80 % of its ${converterTimeoutSeconds} s`,
      converter.metricDuration({ period, statistic: "Maximum" }),
      near,
    ),
    over(
      "rejected-captures",
      "captures were rejected: no rows come from them",
      engineMetric("converter", "Rejected", "Sum", 5),
      0,
    ),
    over(
      "captures-gone",
      "captures were deleted before they were read, and nothing replaced them",
      engineMetric("converter", "Gone", "Sum", 5),
      0,
    ),
    over("damaged-share", "more than 5 % of the captures are damaged part way", damagedShare(), 5, 2),
  ];
}

function committerAlarms({ committer, manifestQueue }: PipelineParts): AlarmDefinition[] {
  const period = FIVE_MINUTES;
  return [
    over(
      "committer-errors",
      "the committer fails: rows do not become visible",
      committer.metricErrors({ period }),
      0,
      2,
    ),
    {
      id: "committer-heartbeat",
      what: "the committer has not run for 10 minutes",
      metric: engineMetric("committer", "Runs", "Sum", 5),
      raisedWhen: "under",
      threshold: 1,
      periods: 2,
      missing: "bad",
    },
    over(
      "newer-manifests",
      "the converters write a newer format of manifests than the committer reads",
      engineMetric("committer", "NewerManifests", "Sum", 5),
      0,
      2,
    ),
    over(
      "manifest-failures",
      "manifests fail by themselves and are tried again",
      engineMetric("committer", "ManifestFailures", "Sum", 5),
      0,
      3,
    ),
    over("commit-staleness", "manifests wait and nothing is committed", staleness(manifestQueue), 0, 3),
    over(
      "incomplete-log-item",
      "a commit has been half done for more than 10 minutes",
      engineMetric("committer", "IncompleteItemAge", "Maximum", 5),
      600,
    ),
    over(
      "commit-conflicts",
      "another writer takes most of the versions",
      engineMetric("committer", "Conflicts", "Sum", 5),
      50,
      3,
    ),
  ];
}

function tableAlarms({ maintenance, maintenanceMinutes, tables }: PipelineParts): AlarmDefinition[] {
  const period = Duration.minutes(60);
  const run = Math.max(60, maintenanceMinutes);
  return [
    over(
      "maintenance-errors",
      "maintenance fails: readers become slower",
      maintenance.metricErrors({ period }),
      0,
      2,
    ),
    over(
      "checkpoint-failures",
      "checkpoints cannot be written",
      engineMetric("maintenance", "CheckpointFailures", "Sum", 60),
      0,
      2,
    ),
    over(
      "small-files",
      "the table has more than 20,000 small files: queries become slow",
      engineMetric("maintenance", "SmallFiles", "Maximum", run),
      20_000,
    ),
    over(
      "dynamodb-throttles",
      "DynamoDB refuses requests because of their rate",
      throttledRequests(tables, 5),
      0,
      2,
    ),
  ];
}

function over(id: string, what: string, metric: IMetric, threshold: number, periods = 1): AlarmDefinition {
  // All of these count what goes wrong, or measure what waits: without data nothing does.
  return { id, what, metric, raisedWhen: "over", threshold, periods, missing: "fine" };
}

function messages(queue: Queue): IMetric {
  return queue.metricApproximateNumberOfMessagesVisible({ period: FIVE_MINUTES, statistic: "Maximum" });
}

function oldest(queue: Queue): IMetric {
  return queue.metricApproximateAgeOfOldestMessage({ period: FIVE_MINUTES, statistic: "Maximum" });
}

/** Percent. A single damaged capture among few says nothing: at least twenty are asked for. */
function damagedShare(): IMetric {
  return new MathExpression({
    expression: "IF(captures >= 20, 100 * FILL(damaged, 0) / captures, 0)",
    usingMetrics: {
      captures: engineMetric("converter", "Captures", "Sum", 15),
      damaged: engineMetric("converter", "Damaged", "Sum", 15),
    },
    label: "damaged captures, %",
    period: Duration.minutes(15),
  });
}

/** 1 while manifests wait all the time and no commit is made. */
function staleness(queue: Queue): IMetric {
  return new MathExpression({
    expression: "IF(FILL(waiting, 0) > 0 AND FILL(commits, 0) == 0, 1, 0)",
    usingMetrics: {
      waiting: queue.metricApproximateNumberOfMessagesVisible({ period: FIVE_MINUTES, statistic: "Minimum" }),
      commits: engineMetric("committer", "Commits", "Sum", 5),
    },
    label: "manifests wait, nothing is committed",
    period: FIVE_MINUTES,
  });
}
