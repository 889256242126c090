import { type CloudFormationClient, DescribeStacksCommand } from "@aws-sdk/client-cloudformation";
import { translated } from "@deltacap/delta/aws";

/**
 * A stack's outputs by name; null when there is no such stack in the region. Needs `cloudformation:DescribeStacks`; throws
 * `RetryableError` that says so where it is not granted.
 */
export async function stackOutputs(
  cloudformation: CloudFormationClient,
  stack: string,
): Promise<ReadonlyMap<string, string> | null> {
  try {
    const { Stacks } = await cloudformation.send(new DescribeStacksCommand({ StackName: stack }));
    const outputs = Stacks?.[0]?.Outputs ?? [];
    return new Map(outputs.map(({ OutputKey = "", OutputValue = "" }) => [OutputKey, OutputValue]));
  } catch (error) {
    if (isMissing(error)) return null;
    throw translated(
      error,
      `cannot read the outputs of the stack ${stack}, which needs cloudformation:DescribeStacks`,
    );
  }
}

/** CloudFormation has no error of its own for it. */
function isMissing(error: unknown): boolean {
  return (
    error instanceof Error && error.name === "ValidationError" && error.message.includes("does not exist")
  );
}
