import { type FileMetaData, parquetMetadataAsync, parquetReadObjects, type RowGroup } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { RetryableError, TableRefusedError } from "../errors.ts";
import { type Action, checkedAction, parseActions, type Sidecar } from "./actions.ts";
import type { LogFile, LogStore } from "./log-store.ts";

/** A checkpoint that is complete: all its files, in order. */
export interface Checkpoint {
  readonly version: number;
  readonly files: readonly LogFile[];
}

const CHECKPOINT_FILE =
  /^(\d{20})\.checkpoint\.(?:parquet|\d{10}\.(\d{10})\.parquet|([0-9a-fA-F-]{36})\.(?:json|parquet))$/;

/**
 * The newest complete checkpoint among the files, whichever way it is named: classic, multi-part, or by a UUID (Delta protocol,
 * "Checkpoint Naming Scheme"). Of several at one version any serves, since they say the same.
 */
export function newestCheckpoint(files: readonly LogFile[]): Checkpoint | null {
  const found = new Map<string, { version: number; parts: number; files: LogFile[] }>();
  for (const file of files) {
    const match = CHECKPOINT_FILE.exec(file.name);
    if (match === null) continue;
    const [, version = "", parts = "1", uuid = ""] = match;
    const key = `${version}.${parts}.${uuid}`;
    const candidate = found.get(key) ?? { version: Number(version), parts: Number(parts), files: [] };
    candidate.files.push(file);
    found.set(key, candidate);
  }
  let newest: Checkpoint | null = null;
  for (const { version, parts, files } of found.values()) {
    if (files.length === parts && version >= (newest?.version ?? 0)) newest = { version, files };
  }
  return newest;
}

/** All actions of the given kinds in a checkpoint: see {@link checkpointBatches}. */
export async function readCheckpoint(
  log: Pick<LogStore, "read">,
  checkpoint: Checkpoint,
  kinds: readonly (keyof Action)[],
): Promise<Action[]> {
  const actions: Action[] = [];
  for await (const batch of checkpointBatches(log, checkpoint, kinds)) {
    for (const action of batch) actions.push(action);
  }
  return actions;
}

/**
 * Actions of the given kinds in a checkpoint, V1 or V2 (Delta protocol, "Checkpoint Specs"), a row group at a time: memory
 * holds one, decoded. Reads only the columns of those kinds, and sidecar files only for adds and removes. Throws
 * `TableRefusedError` for a file that cannot be read.
 */
export async function* checkpointBatches(
  log: Pick<LogStore, "read">,
  checkpoint: Checkpoint,
  kinds: readonly (keyof Action)[],
): AsyncGenerator<Action[]> {
  const sidecars: Sidecar[] = [];
  for (const file of checkpoint.files) {
    for await (const batch of fileBatches(log, file, [...kinds, "sidecar"])) {
      for (const { sidecar } of batch) if (sidecar !== undefined) sidecars.push(sidecar);
      yield ofKinds(batch, kinds);
    }
  }
  if (!kinds.includes("add") && !kinds.includes("remove")) return;
  for (const sidecar of sidecars) {
    for await (const batch of parquetBatches(log, sidecarFile(sidecar), kinds)) yield ofKinds(batch, kinds);
  }
}

function ofKinds(actions: readonly Action[], kinds: readonly (keyof Action)[]): Action[] {
  return actions.filter((action) => kinds.some((kind) => action[kind] !== undefined));
}

/** Always in the log's own folder, so that a path of a table that was moved is found too. */
function sidecarFile({ path, sizeInBytes }: Sidecar): { name: string; size: number } {
  let name = path.slice(path.lastIndexOf("/") + 1);
  try {
    name = decodeURIComponent(name);
  } catch {
    // Taken as it is: reading tells whether there is such a file.
  }
  return { name: `_sidecars/${name}`, size: sizeInBytes };
}

async function* fileBatches(
  log: Pick<LogStore, "read">,
  file: LogFile,
  kinds: readonly (keyof Action)[],
): AsyncGenerator<Action[]> {
  if (!file.name.endsWith(".json")) return yield* parquetBatches(log, file, kinds);
  const body = await log.read(file.name);
  if (body === null) throw gone(file.name);
  yield parseActions(body, file.name);
}

async function* parquetBatches(
  log: Pick<LogStore, "read">,
  { name, size }: Pick<LogFile, "name" | "size">,
  kinds: readonly string[],
): AsyncGenerator<Action[]> {
  const file = {
    byteLength: size,
    slice: async (start: number, end = size): Promise<ArrayBuffer> => {
      const bytes = await log.read(name, { start, length: end - start });
      if (bytes === null) throw gone(name);
      return bytes.slice().buffer as ArrayBuffer;
    },
  };
  const metadata = await readable(name, parquetMetadataAsync(file));
  const present = columnsOf(metadata);
  const columns = kinds.filter((kind) => present.has(kind));
  if (columns.length === 0) return;
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    if (!holdsNullsOnly(group, columns)) {
      const options = { file, metadata, columns, compressors, rowStart, rowEnd };
      const rows = await readable(name, parquetReadObjects(options));
      yield rows.map((row) => checkedAction(asInJson(row), `checkpoint ${name}`));
    }
    rowStart = rowEnd;
  }
}

/** As its statistics say. All but one of a large checkpoint's row groups hold files alone, and a request for each would be slow. */
function holdsNullsOnly(group: RowGroup, kinds: readonly string[]): boolean {
  return group.columns.every(({ meta_data: column }) => {
    if (column === undefined || !kinds.includes(column.path_in_schema[0] ?? "")) return column !== undefined;
    return column.statistics?.null_count === column.num_values;
  });
}

function columnsOf(metadata: FileMetaData): Set<string> {
  return new Set(
    metadata.row_groups.flatMap((group) =>
      group.columns.flatMap((column) => column.meta_data?.path_in_schema[0] ?? []),
    ),
  );
}

function gone(name: string): TableRefusedError {
  return new TableRefusedError(
    `${name} is gone from the log, and the checkpoint needs it. Restore it; nothing was written`,
  );
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

/** Fields that only checkpoints have, some of them (Delta protocol, "Checkpoints"): the same once more, typed. */
const PARSED_TWICE: ReadonlySet<string> = new Set(["stats_parsed", "partitionValues_parsed"]);

/** As the action reads in JSON: no absent fields, numbers instead of BigInts where they are exact. */
function asInJson(value: unknown, inMap = false): unknown {
  if (typeof value === "bigint") {
    return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => asInJson(item));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(
    ([name, field]) => inMap || (field !== null && field !== undefined && !PARSED_TWICE.has(name)),
  );
  return Object.fromEntries(
    fields.map(([name, field]) => [name, asInJson(field, name === "partitionValues")]),
  );
}
