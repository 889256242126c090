import { Duration } from "aws-cdk-lib";
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  PeriodOverride,
  TextWidget,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import { engineMetric, type PipelineParts, throttledRequests } from "./pipeline-metrics.ts";

/** What the dashboard shows. */
export interface PipelineDashboardProps {
  readonly parts: PipelineParts;
  readonly alarms: readonly Alarm[];
  readonly runbookUrl: string;
}

/** Columns of CloudWatch's grid that half of a row has. */
const HALF = 12;
const period = Duration.minutes(1);

/** The pipeline on one page, from left to right and top to bottom as data flows; each row says what it answers. */
export function pipelineDashboard(scope: Construct, props: PipelineDashboardProps): Dashboard {
  const { parts, alarms, runbookUrl } = props;
  return new Dashboard(scope, "Dashboard", {
    periodOverride: PeriodOverride.INHERIT,
    widgets: [
      [
        text(
          `# Deltacap\nCaptures are uploaded, **converted** to Parquet, then **committed** as rows of the Delta table. Runbook: ${runbookUrl}`,
        ),
      ],
      [new AlarmStatusWidget({ title: "Alarms", alarms: [...alarms], width: 24, height: 4 })],
      ...freshness(parts),
      ...quality(),
      ...costs(parts),
    ],
  });
}

function freshness(parts: PipelineParts): IWidget[][] {
  const age = (statistic: string) => engineMetric("committer", "UploadToCommitAge", statistic, 1);
  return [
    [
      text(
        "## Is data fresh?\nThe age says how long after its upload a capture's rows could be read. Queues that grow say who is behind.",
      ),
    ],
    [
      graph("Upload to row, ms", [age("p50"), age("p99")]),
      graph("Waiting messages", [
        depth(parts.captureQueue, "captures"),
        depth(parts.manifestQueue, "manifests"),
        depth(parts.captureDeadLetters, "captures given up"),
        depth(parts.manifestDeadLetters, "manifests refused"),
      ]),
    ],
    [
      graph(
        "Captures a minute, and packets",
        [engineMetric("converter", "Captures", "Sum", 1)],
        [engineMetric("converter", "Packets", "Sum", 1)],
      ),
      graph(
        "Files a commit, and the time of a commit, ms",
        [engineMetric("committer", "FilesPerCommit", "Average", 1)],
        [
          engineMetric("committer", "CommitLatency", "p50", 1),
          engineMetric("committer", "CommitLatency", "p99", 1),
        ],
      ),
    ],
  ];
}

function quality(): IWidget[][] {
  const converter = (
    name: "Rejected" | "Damaged" | "Duplicates" | "Superseded" | "Gone" | "Failed" | "Empty",
  ) => engineMetric("converter", name, "Sum", 1);
  const committer = (name: "Conflicts" | "Repairs" | "SentBack" | "Refused" | "ManifestFailures") =>
    engineMetric("committer", name, "Sum", 1);
  return [
    [
      text(
        "## Is data whole?\nRejected captures give no rows, damaged ones those before the damage. Duplicates are uploads that were known: they cost a look-up.",
      ),
    ],
    [
      graph("Captures that were not plain", [
        converter("Rejected"),
        converter("Damaged"),
        converter("Failed"),
        converter("Duplicates"),
        converter("Superseded"),
        converter("Gone"),
        converter("Empty"),
      ]),
      graph("Commits that were not plain", [
        committer("Conflicts"),
        committer("Repairs"),
        committer("SentBack"),
        committer("Refused"),
        committer("ManifestFailures"),
      ]),
    ],
  ];
}

function costs({ converter, committer, maintenance, tables, captureQueue }: PipelineParts): IWidget[][] {
  return [
    [
      text(
        "## What does it cost?\nLambda's bill is the time of its functions times their memory; S3's is files written and bytes kept; SQS's and DynamoDB's are requests.",
      ),
    ],
    [
      graph(
        "Function time, ms a minute",
        [converter, committer, maintenance].map((target) =>
          target.metricDuration({ period, statistic: "Sum" }),
        ),
        [
          converter.metric("ConcurrentExecutions", {
            period,
            statistic: "Maximum",
            label: "converters at once",
          }),
        ],
      ),
      graph(
        "Files written, and captured bytes",
        [engineMetric("converter", "Files", "Sum", 1)],
        [engineMetric("converter", "CaptureBytes", "Sum", 1)],
      ),
    ],
    [
      graph("DynamoDB: units a minute", [
        ...tables.flatMap((table) => [
          table.metricConsumedReadCapacityUnits({ period }),
          table.metricConsumedWriteCapacityUnits({ period }),
        ]),
        throttledRequests(tables, 1),
      ]),
      graph(
        "Upload events, and the table's small files",
        [captureQueue.metricNumberOfMessagesSent({ period })],
        [engineMetric("maintenance", "SmallFiles", "Maximum", 60)],
      ),
    ],
  ];
}

function depth(queue: PipelineParts["captureQueue"], label: string): IMetric {
  return queue.metricApproximateNumberOfMessagesVisible({ period, statistic: "Maximum", label });
}

function graph(title: string, left: IMetric[], right: IMetric[] = []): GraphWidget {
  return new GraphWidget({
    title,
    left,
    right,
    width: HALF,
    height: 6,
    leftYAxis: { min: 0 },
    rightYAxis: { min: 0 },
  });
}

function text(markdown: string): TextWidget {
  return new TextWidget({ markdown, width: 24, height: 2 });
}
