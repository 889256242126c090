import { UsageError } from "./command.ts";

/** The SDK's plain error for a region that nobody told, or that is none, as `UsageError`; others as they are. */
export function regionExplained(error: unknown): unknown {
  if (!(error instanceof Error) || !/region is missing|region not accepted/i.test(error.message))
    return error;
  return new UsageError("no region is known: set AWS_REGION or a profile's region, or give --region");
}
