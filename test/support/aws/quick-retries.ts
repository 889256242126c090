import type { DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";

type Strategy = Extract<
  NonNullable<DynamoDBClientConfig["retryStrategy"]>,
  { acquireInitialRetryToken: unknown }
>;
type Token = Awaited<ReturnType<Strategy["acquireInitialRetryToken"]>>;

/** The SDK's rules of what is tried again, as often as we have it, with next to no time in between. */
export function quickRetries(attempts = 5): Strategy {
  const token = (count: number): Token => ({ getRetryCount: () => count, getRetryDelay: () => 1 });
  return {
    acquireInitialRetryToken: async () => token(0),
    refreshRetryTokenForRetry: async (last, { errorType }) => {
      const count = last.getRetryCount() + 1;
      if (errorType === "CLIENT_ERROR" || count >= attempts) throw new Error("no further attempt");
      return token(count);
    },
    recordSuccess: () => {},
  };
}
