import { UsageError } from "../terminal/command.ts";

/**
 * The SDK's plain error for a region that nobody told, or that is none, as `UsageError`; others as they are. `option` says whether
 * the command has --region.
 */
export function regionExplained(error: unknown, { option = false } = {}): unknown {
  if (!(error instanceof Error) || !/region is missing|region not accepted/i.test(error.message))
    return error;
  const ways = `set AWS_REGION or a profile's region${option ? ", or give --region" : ""}`;
  return new UsageError(`no region is known: ${ways}`);
}
