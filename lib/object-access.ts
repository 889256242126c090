import { CfnElement, Stack, Token, Validations } from "aws-cdk-lib";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IBucket } from "aws-cdk-lib/aws-s3";

/** Lets the role do something, named in full, with one resource. */
export function allow(role: IRole, actions: readonly string[], resource: string): void {
  role.addToPrincipalPolicy(new PolicyStatement({ actions: [...actions], resources: [resource] }));
}

/**
 * Lets the role do something with the bucket's objects whose key begins with `prefix`; and list the bucket, since S3 answers
 * 403 for missing objects to who may not.
 */
export function allowObjects(role: IRole, bucket: IBucket, prefix: string, actions: readonly string[]): void {
  allow(role, actions, bucket.arnForObjects(`${prefix}*`));
  allow(role, ["s3:ListBucket"], bucket.bucketArn);
  acknowledgeResource(
    role,
    `${shownArn(bucket)}/${prefix}*`,
    "Keys are named after vehicles, days and versions, which nobody knows beforehand: the prefix is the bound",
  );
}

/**
 * Accepts a wildcard resource in the role's policy. `Validations.acknowledge` writes spaces of an id as dashes and takes brackets for its
 * own, and cdk-nag compares the id as it is, with `>` for `}`. So the id is recorded where both of them look.
 */
export function acknowledgeResource(role: IRole, resource: string, reason: string): void {
  role.node.addMetadata(Validations.ACKNOWLEDGED_RULES_METADATA_KEY, {
    [`Annotation::AwsSolutions-IAM5[Resource::${resource.replaceAll("}", ">")}]`]: reason,
  });
}

/** The bucket's ARN as cdk-nag writes it. */
function shownArn(bucket: IBucket): string {
  const resource = bucket.node.defaultChild;
  if (resource !== undefined && CfnElement.isCfnElement(resource))
    return `<${Stack.of(bucket).getLogicalId(resource)}.Arn>`;
  const name = Token.isUnresolved(bucket.bucketName) ? "*" : bucket.bucketName;
  return `arn:<AWS::Partition>:s3:::${name}`;
}
