/**
 * List prices of AWS in US East (N. Virginia), in US dollars, first tier, without free tiers, discounts and taxes: as known on
 * {@link pricesAsOf}, each with the page that AWS keeps it on. Change them here for another region; nothing else states a price.
 */
export const pricesAsOf = "2026-11-30";

/** US dollars, as AWS lists them. Each comment names the unit and the page. */
export const prices = {
  /** A million put, copy, post or list requests, and a million of get and all others: https://aws.amazon.com/s3/pricing/ */
  s3Puts: 5,
  s3Gets: 0.4,
  /** A GB kept for a month, S3 Standard, first 50 TB: the same page. */
  s3GigabyteMonth: 0.023,
  /** A million requests of at most 64 KB each, standard queues: https://aws.amazon.com/sqs/pricing/ */
  sqsRequests: 0.4,
  /** A million invocations, and a GB-second on arm64: https://aws.amazon.com/lambda/pricing/ */
  lambdaRequests: 0.2,
  lambdaGigabyteSecond: 0.0000133334,
  /** A million request units, on demand, and a GB kept for a month: https://aws.amazon.com/dynamodb/pricing/on-demand/ */
  dynamodbWrites: 0.625,
  dynamodbReads: 0.125,
  dynamodbGigabyteMonth: 0.25,
  /** A GB of logs taken in, a custom metric, an alarm and a dashboard for a month: https://aws.amazon.com/cloudwatch/pricing/ */
  logGigabyte: 0.5,
  metricMonth: 0.3,
  alarmMonth: 0.1,
  dashboardMonth: 3,
} as const;

/** Prices by name. */
export type Prices = { readonly [Name in keyof typeof prices]: number };
