import type { PageCompressor } from "@deltacap/parquet";
import { NestedWriter } from "@deltacap/parquet";
import type { Action } from "../actions/actions.ts";
import type { ReconciledLog } from "../actions/reconciled-log.ts";
import { tombstoneRetention } from "../actions/retention.ts";
import type { ObjectStore } from "../stores/object-store.ts";
import { CheckpointCheck } from "./checkpoint-check.ts";
import { checkpointFile, checkpointProtocol, checkpointRow, checkpointSchema } from "./checkpoint-schema.ts";

/** `exists`: another writer has put one of that version; this one was dropped. */
export interface WrittenCheckpoint {
  readonly outcome: "created" | "exists";
  readonly bytes: number;
  readonly actions: number;
  readonly adds: number;
}

/**
 * Small enough that a reader which holds a decoded row group needs little memory, large enough that a list of a million files
 * makes some hundreds of requests.
 */
const ROW_GROUP = { rows: 50_000, bytes: 8 * 1024 * 1024 };

/**
 * Writes the checkpoint of the state, in the classic form with the V1 spec, which every table may have and every engine reads
 * (Delta protocol, "Checkpoints"), and then names it in `_last_checkpoint`, a hint that whoever comes last may write. Each row
 * group is read back and compared before it goes out; nothing is visible before the last has. Tombstones that the table no longer
 * needs at `nowMs` are left out.
 *
 * Throws where an action is not what the schema holds, and where what is read back differs; `RetryableError` when the store fails.
 * A checkpoint that was put before that is whole, and found without the hint. Memory: some row groups, beside what
 * {@link ReconciledLog.files} takes.
 */
export async function writeCheckpoint(
  table: ObjectStore,
  state: ReconciledLog,
  nowMs: number,
  compressor: PageCompressor | null,
): Promise<WrittenCheckpoint> {
  const name = `${String(state.version).padStart(20, "0")}.checkpoint.parquet`;
  const object = table.create(`_delta_log/${name}`);
  let size = { bytes: 0, actions: 0, adds: 0 };
  let outcome: "created" | "exists";
  try {
    size = await writeRows(name, checkpointActions(state, nowMs), compressor, (chunk) => object.write(chunk));
    outcome = await object.commit();
  } catch (error) {
    await object.abort();
    throw error;
  }
  // Where it exists, its size and number of actions are the other one's, and the hint with them.
  if (outcome === "created") {
    const { bytes, actions, adds } = size;
    const hint = { version: state.version, size: actions, sizeInBytes: bytes, numOfAddFiles: adds };
    await table.put("_delta_log/_last_checkpoint", new TextEncoder().encode(JSON.stringify(hint)));
  }
  return { outcome, ...size };
}

async function writeRows(
  name: string,
  batches: AsyncIterable<readonly Action[]>,
  compressor: PageCompressor | null,
  sink: (chunk: Uint8Array) => Promise<void>,
) {
  const check = new CheckpointCheck(name);
  const size = { bytes: 0, actions: 0, adds: 0 };
  const counted = (chunk: Uint8Array) => {
    size.bytes += chunk.length;
    return sink(chunk);
  };
  const writer = new NestedWriter(checkpointSchema, compressor, ROW_GROUP, counted, check.checkRowGroup);
  for await (const actions of batches) {
    for (const action of actions) {
      const row = checkpointRow(action);
      check.add(row);
      await writer.write(row);
      size.actions++;
      if (action.add !== undefined) size.adds++;
    }
  }
  check.checkFooter(await writer.finish());
  return size;
}

/** What is no file comes first, so that a reader who needs nothing else finds it in one row group. */
async function* checkpointActions(state: ReconciledLog, nowMs: number): AsyncGenerator<readonly Action[]> {
  yield [
    { protocol: checkpointProtocol(state.protocol) },
    { metaData: state.metadata },
    ...state.transactions.map((txn) => ({ txn })),
    ...state.domains.map((domainMetadata) => ({ domainMetadata })),
  ];
  const retention = tombstoneRetention(state.metadata);
  const expired = retention === null ? Number.NEGATIVE_INFINITY : nowMs - retention;
  for await (const actions of state.files()) {
    yield actions.flatMap(({ add, remove }): Action[] => {
      if (add !== undefined) return [{ add: checkpointFile(add) }];
      // One without a time was removed at an unknown time long ago: Spark takes it for 1970.
      if (remove === undefined || (remove.deletionTimestamp ?? 0) < expired) return [];
      return [{ remove: checkpointFile(remove) }];
    });
  }
}
