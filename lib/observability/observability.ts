import { Stack } from "aws-cdk-lib";
import { Alarm, ComparisonOperator, type Dashboard, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Construct } from "constructs";
import { type AlarmDefinition, alarmsOf } from "./alarms.ts";
import { pipelineDashboard } from "./dashboard.ts";
import type { PipelineParts } from "./pipeline-metrics.ts";

/** What is watched, and who is told. */
export interface ObservabilityProps extends PipelineParts {
  /** Receives the alarms by mail; undefined: subscribe to the topic. */
  readonly alarmEmail?: string;
  /** The runbook's address; an alarm's section follows after `#`. */
  readonly runbookUrl: string;
  /** Encrypts the topic. Default: none, since an AWS managed key lets no alarm in. */
  readonly key?: IKey;
}

/** Alarms that reach somebody, each with its section of the runbook, and a dashboard. */
export class Observability extends Construct {
  readonly topic: Topic;
  readonly dashboard: Dashboard;

  constructor(scope: Construct, id: string, props: ObservabilityProps) {
    super(scope, id);
    this.topic = new Topic(this, "Alarms", {
      enforceSSL: true,
      ...(props.key === undefined ? {} : { masterKey: props.key }),
    });
    // A policy of one's own replaces the one by which the account's alarms may publish.
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        sid: "Alarms",
        principals: [new ServicePrincipal("cloudwatch.amazonaws.com")],
        actions: ["sns:Publish"],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { "aws:SourceAccount": Stack.of(this).account } },
      }),
    );
    if (props.alarmEmail !== undefined) this.topic.addSubscription(new EmailSubscription(props.alarmEmail));
    const definitions = alarmsOf(props);
    const alarms = definitions.map((definition) => this.#alarm(definition, props.runbookUrl));
    this.dashboard = pipelineDashboard(this, { parts: props, alarms, runbookUrl: props.runbookUrl });
  }

  #alarm(
    { id, what, metric, raisedWhen, threshold, periods, missing }: AlarmDefinition,
    runbookUrl: string,
  ): Alarm {
    const alarm = new Alarm(this, id, {
      alarmDescription: `${what}. What to do: ${runbookUrl}#${id}`,
      metric,
      threshold,
      comparisonOperator:
        raisedWhen === "over"
          ? ComparisonOperator.GREATER_THAN_THRESHOLD
          : ComparisonOperator.LESS_THAN_THRESHOLD,
      evaluationPeriods: periods,
      treatMissingData: missing === "fine" ? TreatMissingData.NOT_BREACHING : TreatMissingData.BREACHING,
    });
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
    return alarm;
  }
}
