import { Duration } from "aws-cdk-lib";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction as FunctionTarget } from "aws-cdk-lib/aws-events-targets";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";

/**
 * Calls the function every so many minutes. A call that could not run within a minute is dropped, and none is tried again:
 * the next one does its work, where calls that pile up would run one after the other.
 */
export function everyMinutes(scope: Construct, minutes: number, target: LambdaFunction): Rule {
  const maxEventAge = Duration.seconds(60);
  target.configureAsyncInvoke({ retryAttempts: 0, maxEventAge });
  return new Rule(scope, "Schedule", {
    schedule: Schedule.rate(Duration.minutes(minutes)),
    targets: [new FunctionTarget(target, { retryAttempts: 0, maxEventAge })],
  });
}
