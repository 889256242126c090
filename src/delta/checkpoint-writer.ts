import type { ObjectStore } from "../manifest/object-store.ts";
import { NestedWriter } from "../parquet/nested-writer.ts";
import type { PageCompressor } from "../parquet/page-compressor.ts";
import type { Action } from "./actions.ts";
import { checkpointBatches } from "./checkpoint.ts";
import { checkpointFile, checkpointProtocol, checkpointRow, checkpointSchema } from "./checkpoint-schema.ts";
import { stringifyJson } from "./json.ts";
import type { ReconciledLog } from "./reconcile.ts";
import { tombstoneRetention } from "./retention.ts";
import { TextDigest } from "./text-digest.ts";

/** A classic checkpoint in memory, compressed, and found to be what the log says. */
export interface BuiltCheckpoint {
  readonly version: number;
  /** `00000000000000000100.checkpoint.parquet`. */
  readonly name: string;
  readonly chunks: readonly Uint8Array[];
  readonly bytes: number;
  readonly actions: number;
  readonly adds: number;
}

/**
 * Small enough that a reader which holds a decoded row group needs little memory, large enough that a million files make no more
 * requests than some dozens.
 */
const ROW_GROUP = { rows: 50_000, bytes: 32 * 1024 * 1024 };

/**
 * The checkpoint of the state, in the classic form with the V1 spec, which every table may have and every engine reads (Delta
 * protocol, "Checkpoints"). It is read back from its bytes and compared with what went into it. Tombstones that the table no
 * longer needs at `nowMs` are left out.
 *
 * Throws where an action is not what the schema holds, and where what is read back differs. Memory: the compressed file and some
 * row groups beside what {@link ReconciledLog.files} takes.
 */
export async function buildCheckpoint(
  state: ReconciledLog,
  nowMs: number,
  compressor: PageCompressor | null,
): Promise<BuiltCheckpoint> {
  const name = `${String(state.version).padStart(20, "0")}.checkpoint.parquet`;
  const chunks: Uint8Array[] = [];
  const writer = new NestedWriter(checkpointSchema, compressor, ROW_GROUP, async (chunk) => {
    chunks.push(chunk);
  });
  const written = new RowDigest();
  for await (const actions of checkpointActions(state, nowMs)) {
    for (const action of actions) {
      const row = checkpointRow(action);
      written.add(row);
      await writer.write(row);
    }
  }
  await writer.finish();
  const read = await digestOf(name, chunks);
  if (!read.equals(written)) {
    throw new Error(
      `the checkpoint of version ${state.version} is read back as ${read}, and ${written} was written. It was not put; the log stays as it is. This is a bug: please report it`,
    );
  }
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return { version: state.version, name, chunks, bytes, actions: written.rows, adds: written.adds };
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

async function digestOf(name: string, chunks: readonly Uint8Array[]): Promise<RowDigest> {
  const digest = new RowDigest();
  const file = new ChunkedFile(chunks);
  const log = { read: async (_: string, range?: { start: number; length: number }) => file.read(range) };
  const checkpoint = { version: 0, files: [{ name, size: file.size, modifiedMs: 0 }] };
  const kinds = checkpointSchema.map((field) => field.name as keyof Action);
  for await (const actions of checkpointBatches(log, checkpoint, kinds)) {
    for (const action of actions) digest.add(checkpointRow(action));
  }
  return digest;
}

/** Rows in their order, as JSON. */
class RowDigest {
  rows = 0;
  adds = 0;
  readonly #text = new TextDigest();

  add(row: Readonly<Record<string, unknown>>): void {
    this.rows++;
    if (row.add !== undefined) this.adds++;
    this.#text.add(stringifyJson(row));
  }

  equals(other: RowDigest): boolean {
    return String(this) === String(other);
  }

  toString(): string {
    return `${this.rows} actions (digest ${this.#text})`;
  }
}

/** Bytes in many arrays, read by range. */
class ChunkedFile {
  readonly size: number;
  readonly #chunks: readonly Uint8Array[];
  /** Where each chunk begins. */
  readonly #starts: number[] = [];

  constructor(chunks: readonly Uint8Array[]) {
    this.#chunks = chunks;
    let start = 0;
    for (const chunk of chunks) {
      this.#starts.push(start);
      start += chunk.length;
    }
    this.size = start;
  }

  read({ start, length } = { start: 0, length: this.size }): Uint8Array {
    const bytes = new Uint8Array(length);
    for (const [i, chunk] of this.#chunks.entries()) {
      const at = (this.#starts[i] ?? 0) - start;
      if (at >= length) break;
      if (at + chunk.length > 0) bytes.set(chunk.subarray(Math.max(0, -at), length - at), Math.max(0, at));
    }
    return bytes;
  }
}

/**
 * Puts the checkpoint, unless somebody else has put one of that version, and then names it in `_last_checkpoint`, a hint that
 * whoever comes last may write (Delta protocol, "Last Checkpoint File"). Throws `RetryableError` when the store fails; what was
 * put before that is whole, and found without the hint.
 */
export async function putCheckpoint(
  table: ObjectStore,
  checkpoint: BuiltCheckpoint,
): Promise<"created" | "exists"> {
  const outcome = await putChunks(table, `_delta_log/${checkpoint.name}`, checkpoint.chunks);
  // Its size and number of actions are the other one's, and the hint with them.
  if (outcome === "exists") return outcome;
  const { version, actions, bytes, adds } = checkpoint;
  const hint = { version, size: actions, sizeInBytes: bytes, numOfAddFiles: adds };
  await table.put("_delta_log/_last_checkpoint", new TextEncoder().encode(JSON.stringify(hint)));
  return outcome;
}

async function putChunks(
  table: ObjectStore,
  path: string,
  chunks: readonly Uint8Array[],
): Promise<"created" | "exists"> {
  const object = table.create(path);
  try {
    for (const chunk of chunks) await object.write(chunk);
    return await object.commit();
  } catch (error) {
    await object.abort();
    throw error;
  }
}
