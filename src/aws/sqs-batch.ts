import { RetryableError } from "@deltacap/delta";

/** A batch call's answer, as SQS gives it: entry by entry. */
export interface BatchAnswer {
  readonly Successful?: readonly { readonly Id?: string | undefined }[] | undefined;
  readonly Failed?:
    | readonly {
        readonly Id?: string | undefined;
        readonly Code?: string | undefined;
        readonly Message?: string | undefined;
        readonly SenderFault?: boolean | undefined;
      }[]
    | undefined;
}

/** SQS's limit of entries a call. */
const BATCH = 10;
/** Calls for one batch until every entry of it succeeded, the first one included. */
const ROUNDS = 5;
/** Milliseconds before the second call; doubled each time. */
const FIRST_DELAY = 50;

/**
 * Calls `send` with batches of at most ten items, and at most `maximumBytes` by `size`, until every single item succeeded:
 * only those named as successful did; what the answer does not mention failed. Throws `RetryableError` with the number of
 * items that did not succeed.
 */
export async function sendInBatches<T>(
  items: readonly T[],
  what: string,
  { size, maximumBytes }: { readonly size: (item: T) => number; readonly maximumBytes: number },
  send: (entries: readonly { readonly id: string; readonly item: T }[]) => Promise<BatchAnswer>,
): Promise<void> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    if (batch.length === BATCH || (batch.length > 0 && bytes + size(item) > maximumBytes)) {
      await sendBatch(batch, what, send);
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size(item);
  }
  if (batch.length > 0) await sendBatch(batch, what, send);
}

async function sendBatch<T>(
  items: readonly T[],
  what: string,
  send: (entries: readonly { readonly id: string; readonly item: T }[]) => Promise<BatchAnswer>,
): Promise<void> {
  let entries = items.map((item, i) => ({ id: String(i), item }));
  let reason = "";
  for (let round = 1; round <= ROUNDS; round++) {
    if (round > 1) await delay(FIRST_DELAY * 2 ** (round - 2));
    const { Successful, Failed } = await send(entries);
    const done = new Set(Successful?.map(({ Id }) => Id));
    entries = entries.filter(({ id }) => !done.has(id));
    if (entries.length === 0) return;
    const failed = Failed?.[0];
    reason = failed === undefined ? "the answer left entries out" : `${failed.Code} ${failed.Message ?? ""}`;
    // The same entry would fail again.
    if (Failed?.length === entries.length && Failed.every(({ SenderFault }) => SenderFault)) break;
  }
  throw new RetryableError(`${what}: ${entries.length} of ${items.length} entries failed: ${reason.trim()}`);
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
