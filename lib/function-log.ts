import { RemovalPolicy } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

/** Where a function's log goes, and for how long. */
export interface FunctionLogProps {
  /** Days that a line is kept. */
  readonly logDays: number;
  /** Encrypts the log, which names vehicles and captures. Default: a key that AWS owns. */
  readonly key?: IKey;
}

/** Makes the log group of a function. It outlives the stack, because the log explains why a stack failed. */
export function functionLog(scope: Construct, id: string, { logDays, key }: FunctionLogProps): LogGroup {
  return new LogGroup(scope, id, {
    retention: logDays as RetentionDays,
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ...(key === undefined ? {} : { encryptionKey: key }),
  });
}
