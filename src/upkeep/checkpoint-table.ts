import type { Add, LogStore, ObjectStore, ReconciledLog } from "@deltacap/delta";
import {
  checkpointObstacles,
  fieldsWithoutPlace,
  readLogSegment,
  reconcileLog,
  writeCheckpoint,
} from "@deltacap/delta";
import type { PageCompressor, TableSchema } from "@deltacap/parquet";
import { requireIdentity } from "../commit/table-identity.ts";
import { packetTable } from "../packets/packet-table.ts";

/** What writing a checkpoint reaches the world through. */
export interface CheckpointPorts {
  readonly log: LogStore;
  readonly table: ObjectStore;
  /** Null: the checkpoint is not compressed. */
  readonly checkpointCompressor: PageCompressor | null;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** When a checkpoint is due. */
export interface CheckpointOptions {
  /** Versions between two checkpoints, where the table's properties do not say it. */
  readonly interval: number;
  /** Whether one is written of any version that has none. */
  readonly always?: boolean;
  /** The schema that the table must have; by default that of packets. */
  readonly schema?: TableSchema;
  /** Called with the table's state before anything is decided, so that the caller need not read the log again. */
  readonly onState?: (state: ReconciledLog) => void;
  /** Called for each live file that goes into the checkpoint, in no order. */
  readonly onFile?: (file: Add) => void;
}

/** What became of the checkpoint. */
export type CheckpointResult =
  | {
      readonly outcome: "written";
      readonly version: number;
      readonly files: number;
      readonly actions: number;
      readonly bytes: number;
    }
  /** `checkpoint`: version of the newest one, null where there is none. */
  | { readonly outcome: "not due"; readonly version: number; readonly checkpoint: number | null }
  /** Somebody else was faster. */
  | { readonly outcome: "exists"; readonly version: number }
  /** The table asks for checkpoints that we do not write; whoever else writes to it does. */
  | { readonly outcome: "left to others"; readonly version: number; readonly reason: string }
  /** There is no table yet. */
  | { readonly outcome: "no table" };

/**
 * Writes a checkpoint of the newest version if one is due: `interval` versions after the last, however many were missed between.
 * Readers then begin there instead of at the last one. Throws `RetryableError` when a store fails and `TableRefusedError` for a
 * log that cannot be read or another table; the table is as good as before in either case.
 *
 * Cost: the commits since the last checkpoint, that checkpoint, and the writing of the new one where it is due.
 */
export async function checkpointTable(
  ports: CheckpointPorts,
  { interval, always = false, schema = packetTable, onState, onFile }: CheckpointOptions,
): Promise<CheckpointResult> {
  const state = await reconcileLog(ports.log);
  if (state === null) return { outcome: "no table" };
  requireIdentity(state.metadata, schema);
  onState?.(state);
  const { version, checkpointVersion: checkpoint, protocol, metadata } = state;
  const due = (checkpoint ?? 0) + (always ? 1 : (tableInterval(metadata.configuration) ?? interval));
  // Version 0 alone is read as fast as a checkpoint of it.
  if (version < due && !(always && checkpoint === null)) return { outcome: "not due", version, checkpoint };
  const obstacles = checkpointObstacles(protocol, metadata);
  if (obstacles.length > 0) return { outcome: "left to others", version, reason: obstacles.join("; ") };
  const lost = await lostFields(ports.log, version);
  if (lost !== null) return { outcome: "left to others", version, reason: lost };
  const watched = onFile === undefined ? state : watching(state, onFile);
  const written = await writeCheckpoint(ports.table, watched, ports.now(), ports.checkpointCompressor);
  if (written.outcome === "exists") return { outcome: "exists", version };
  const { adds: files, actions, bytes } = written;
  return { outcome: "written", version, files, actions, bytes };
}

/** Why a new checkpoint would lose what the old one holds; null where it keeps everything. */
async function lostFields(log: LogStore, version: number): Promise<string | null> {
  const checkpoint = (await readLogSegment(log, version))?.checkpoint ?? null;
  if (checkpoint === null) return null;
  const fields = await fieldsWithoutPlace(log, checkpoint);
  if (fields.length === 0) return null;
  return `the checkpoint of version ${checkpoint.version} has values in ${fields.join(", ")}, which deltacap would not keep`;
}

/** What the table asks for; a value that is no number asks for nothing. */
function tableInterval(configuration: Readonly<Record<string, string>>): number | null {
  const text = configuration["delta.checkpointInterval"] ?? "";
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
}

function watching(state: ReconciledLog, onFile: (file: Add) => void): ReconciledLog {
  return {
    ...state,
    files: async function* () {
      for await (const actions of state.files()) {
        for (const { add } of actions) if (add !== undefined) onFile(add);
        yield actions;
      }
    },
  };
}
