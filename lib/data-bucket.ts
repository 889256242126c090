import { RemovalPolicy } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { BlockPublicAccess, BucketEncryption, type BucketProps } from "aws-cdk-lib/aws-s3";

/**
 * Properties of every bucket with data: nothing public, TLS only, encrypted, versioned, kept when the stack goes. An empty bucket of a
 * first deployment that failed is removed again (`RetainExceptOnCreate`).
 */
export function dataBucketProps(key: IKey | undefined): BucketProps {
  return {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    enforceSSL: true,
    versioned: true,
    ...(key === undefined
      ? { encryption: BucketEncryption.S3_MANAGED }
      : { encryption: BucketEncryption.KMS, encryptionKey: key, bucketKeyEnabled: true }),
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
  };
}
