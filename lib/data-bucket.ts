import { RemovalPolicy } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { BlockPublicAccess, BucketEncryption, type BucketProps } from "aws-cdk-lib/aws-s3";

/** What every bucket with data has: nothing public, TLS only, encrypted, versioned, kept when the stack goes. */
export function dataBucketProps(key: IKey | undefined): BucketProps {
  return {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    enforceSSL: true,
    versioned: true,
    ...(key === undefined
      ? { encryption: BucketEncryption.S3_MANAGED }
      : { encryption: BucketEncryption.KMS, encryptionKey: key, bucketKeyEnabled: true }),
    removalPolicy: RemovalPolicy.RETAIN,
  };
}
