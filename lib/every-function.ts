import { CfnResource, type Stack } from "aws-cdk-lib";
import { Effect, PolicyStatement, Role } from "aws-cdk-lib/aws-iam";
import { CfnFunction } from "aws-cdk-lib/aws-lambda";
import { type FunctionLogProps, functionLog } from "./function-log.ts";
import { acknowledgeResource } from "./object-access.ts";

/** Where functions run, for accounts that forbid functions outside a VPC. */
export interface VpcPlacement {
  readonly subnetIds: readonly string[];
  readonly securityGroupIds: readonly string[];
}

/** What Lambda calls, under the function's role, to attach a function to a VPC. */
const NETWORK_ACTIONS = [
  "ec2:AssignPrivateIpAddresses",
  "ec2:CreateNetworkInterface",
  "ec2:DeleteNetworkInterface",
  "ec2:DescribeNetworkInterfaces",
  "ec2:DescribeSubnets",
  "ec2:UnassignPrivateIpAddresses",
];

/**
 * Places every function of the stack in the subnets, those that CDK makes for its own resources included: where functions outside a
 * VPC are forbidden, one of them is enough to fail the deployment.
 */
export function placeInVpc(stack: Stack, { subnetIds, securityGroupIds }: VpcPlacement): void {
  for (const resource of functionsOf(stack)) {
    resource.addPropertyOverride("VpcConfig", { SubnetIds: subnetIds, SecurityGroupIds: securityGroupIds });
    const role = resource.node.scope?.node.tryFindChild("Role") ?? roleBeside(resource);
    if (!(role instanceof Role)) throw new Error(`the function ${resource.node.path} has no role to extend`);
    role.addToPolicy(new PolicyStatement({ actions: NETWORK_ACTIONS, resources: ["*"] }));
    // Lambda itself makes these calls. The function's own code never needs them.
    role.addToPolicy(
      new PolicyStatement({
        effect: Effect.DENY,
        actions: NETWORK_ACTIONS,
        resources: ["*"],
        conditions: { Null: { "lambda:SourceFunctionArn": "false" } },
      }),
    );
    acknowledgeResource(role, "*", "EC2 lets nobody name a network interface before it exists");
  }
}

/** Gives CDK's own functions a log group like that of the others: Lambda would make one without a key that is kept forever. */
export function logCdkFunctions(stack: Stack, props: FunctionLogProps): void {
  for (const resource of functionsOf(stack)) {
    if (resource instanceof CfnFunction || resource.node.scope === undefined) continue;
    const { logGroupName } = functionLog(resource.node.scope, "Log", props);
    resource.addPropertyOverride("LoggingConfig", { LogGroup: logGroupName });
  }
}

/** Functions of CDK's own are plain resources of this type. */
function functionsOf(stack: Stack): CfnResource[] {
  return stack.node
    .findAll()
    .filter((node) => CfnResource.isCfnResource(node))
    .filter(({ cfnResourceType }) => cfnResourceType === "AWS::Lambda::Function");
}

/** The role of an {@link EngineFunction}, which stands beside the function. */
function roleBeside(resource: CfnResource) {
  return resource.node.scope?.node.scope?.node.tryFindChild("Role");
}
