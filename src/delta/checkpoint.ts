import { parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { RetryableError, TableRefusedError } from "../errors.ts";
import { type Action, checkedAction } from "./actions.ts";
import type { LogFile, LogStore } from "./log-store.ts";

/** A checkpoint that is complete: all its files, in order. */
export interface Checkpoint {
  readonly version: number;
  readonly files: readonly LogFile[];
}

const CHECKPOINT_FILE = /^(\d{20})\.checkpoint\.(?:(\d{10})\.(\d{10})\.)?parquet$/;

/**
 * The newest complete checkpoint among the files: classic or multi-part (Delta protocol, "Checkpoints"). Those named by a
 * UUID are left aside.
 */
export function newestCheckpoint(files: readonly LogFile[]): Checkpoint | null {
  const found = new Map<string, LogFile[]>();
  for (const file of files) {
    const match = CHECKPOINT_FILE.exec(file.name);
    if (match === null) continue;
    const [, version = "", , parts = ""] = match;
    const key = `${version}.${parts}`;
    found.set(key, [...(found.get(key) ?? []), file]);
  }
  let newest: Checkpoint | null = null;
  for (const [key, candidates] of found) {
    const [version, parts] = key.split(".");
    const complete = candidates.length === (parts === "" ? 1 : Number(parts));
    if (complete && Number(version) >= (newest?.version ?? 0)) {
      newest = { version: Number(version), files: candidates };
    }
  }
  return newest;
}

/**
 * Actions of the given kinds in a checkpoint. Reads only those columns. Throws `TableRefusedError` for a file that cannot be
 * read, and for one that refers to sidecar files.
 */
export async function readCheckpoint(
  log: LogStore,
  checkpoint: Checkpoint,
  kinds: readonly (keyof Action)[],
): Promise<Action[]> {
  const actions: Action[] = [];
  for (const file of checkpoint.files) {
    for (const row of await readRows(log, file, kinds)) {
      const action = checkedAction(row, `checkpoint ${file.name}`);
      if (Object.keys(action).length > 0) actions.push(action);
    }
  }
  return actions;
}

async function readRows(log: LogStore, { name, size }: LogFile, kinds: readonly string[]) {
  const file = {
    byteLength: size,
    slice: async (start: number, end = size): Promise<ArrayBuffer> => {
      const bytes = await log.read(name, { start, length: end - start });
      if (bytes === null) throw new TableRefusedError(`${name} is gone from the log; nothing was written`);
      return bytes.slice().buffer as ArrayBuffer;
    },
  };
  const metadata = await readable(name, parquetMetadataAsync(file));
  const present = new Set(
    metadata.row_groups.flatMap((group) =>
      group.columns.flatMap((column) => column.meta_data?.path_in_schema[0] ?? []),
    ),
  );
  const columns = [...kinds, "sidecar"].filter((kind) => present.has(kind));
  if (columns.length === 0) return [];
  const rows = await readable(name, parquetReadObjects({ file, metadata, columns, compressors }));
  return rows.map(({ sidecar, ...action }) => {
    if (sidecar === null || sidecar === undefined) return withoutNulls(action);
    throw new TableRefusedError(
      `${name} is a V2 checkpoint with sidecar files, which deltacap does not read; nothing was written`,
    );
  });
}

async function readable<T>(name: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof RetryableError || error instanceof TableRefusedError) throw error;
    // Whatever else the Parquet reader throws says that the file is broken.
    const reason = error instanceof Error ? error.message : String(error);
    throw new TableRefusedError(`${name} cannot be read: ${reason}; nothing was written`, { cause: error });
  }
}

/** As the action reads in JSON: no absent fields, numbers instead of BigInts where they are exact. */
function withoutNulls(value: unknown, inMap = false): unknown {
  if (typeof value === "bigint") {
    return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(
    ([, field]) => inMap || (field !== null && field !== undefined),
  );
  return Object.fromEntries(
    fields.map(([name, field]) => [name, withoutNulls(field, name === "partitionValues")]),
  );
}
