import { Aspects } from "aws-cdk-lib";
import { CfnAlarm } from "aws-cdk-lib/aws-cloudwatch";
import { app } from "../../bin/deltacap.ts";

/**
 * The app as it is deployed to ministack, which refuses alarms over an expression of several metrics: these alarms look at one
 * metric that does not exist instead. Everything else is the product's own.
 */
Aspects.of(app).add({
  visit: (node) => {
    if (!(node instanceof CfnAlarm) || node.metrics === undefined) return;
    node.metrics = undefined;
    node.namespace = "ministack";
    node.metricName = "expression";
    node.statistic = "Sum";
    node.period = 300;
  },
});
