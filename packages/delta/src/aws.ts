export { expireTime, incompleteItem } from "./aws/commit-item.ts";
export { DynamoDbLogStore } from "./aws/dynamodb-log-store.ts";
export {
  isBucketMissing,
  isConditionalCheckFailed,
  isNotFound,
  isPreconditionFailed,
  translated,
} from "./aws/errors.ts";
export { type ByteStream, IDLE_TIMEOUT, withIdleTimeout } from "./aws/idle-timeout.ts";
export { replyTimeout } from "./aws/reply-timeout.ts";
export { S3ObjectStore } from "./aws/s3-object-store.ts";
