import type { ParquetField, RowGroupMetadata, ValueConverter } from "@deltacap/parquet";
import { DamagedParquetError, openParquet, type ParquetReader } from "@deltacap/parquet";
import { type Action, checkedAction, parseActions, type Sidecar } from "../actions/actions.ts";
import { TableRefusedError } from "../errors.ts";
import type { LogFile, LogStore } from "../stores/log-store.ts";
import { PARSED_STATISTICS, statisticsJson, statisticText } from "./parsed-statistics.ts";

/** A checkpoint that is complete: all its files, in order. */
export interface Checkpoint {
  readonly version: number;
  readonly files: readonly LogFile[];
}

const CHECKPOINT_FILE =
  /^(\d{20})\.checkpoint\.(?:parquet|\d{10}\.(\d{10})\.parquet|([0-9a-fA-F-]{36})\.(?:json|parquet))$/;

/**
 * The complete checkpoints among the files, oldest first, whichever way they are named: classic, multi-part, or by a UUID (Delta
 * protocol, "Checkpoint Naming Scheme").
 */
export function completeCheckpoints(files: readonly LogFile[]): Checkpoint[] {
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
  return [...found.values()]
    .filter((candidate) => candidate.files.length === candidate.parts)
    .sort((a, b) => a.version - b.version)
    .map(({ version, files }) => ({ version, files }));
}

/** The newest of them. Of several at one version any serves, since they say the same. */
export function newestCheckpoint(files: readonly LogFile[]): Checkpoint | null {
  return completeCheckpoints(files).at(-1) ?? null;
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
export function sidecarFile({ path, sizeInBytes }: Sidecar): { name: string; size: number } {
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

/** Entries for each byte of a checkpoint: each of its actions has a path or a name of its own. */
const MAX_VALUES_PER_BYTE = 64;

/** Opens a Parquet file of a checkpoint. Throws `TableRefusedError` where it is gone or damaged. */
export async function openCheckpointFile(
  log: Pick<LogStore, "read">,
  { name, size }: Pick<LogFile, "name" | "size">,
): Promise<ParquetReader> {
  const read = async (start: number, length: number): Promise<Uint8Array> => {
    const bytes = await log.read(name, { start, length });
    if (bytes === null) throw gone(name);
    return bytes;
  };
  return await readable(openParquet({ name, size, read }, { maxValuesPerByte: MAX_VALUES_PER_BYTE }));
}

async function* parquetBatches(
  log: Pick<LogStore, "read">,
  { name, size }: Pick<LogFile, "name" | "size">,
  kinds: readonly string[],
): AsyncGenerator<Action[]> {
  const reader = await openCheckpointFile(log, { name, size });
  for (const [index, group] of reader.footer.rowGroups.entries()) {
    if (holdsNullsOnly(group, kinds)) continue;
    const isNeeded = needsParsedStatistics(group);
    const isWanted = ({ path: [kind, field] }: ParquetField) =>
      kinds.includes(kind ?? "") &&
      field !== PARSED_PARTITION_VALUES &&
      (field !== PARSED_STATISTICS || isNeeded);
    const rows = await readable(reader.readRecords(index, isWanted, actionValue));
    yield rows.map((row) => checkedAction(withStatistics(row), `checkpoint ${name}`));
  }
}

/**
 * Whether adds have statistics as a struct only (the table's property `delta.checkpoint.writeStatsAsJson` was false when
 * the checkpoint was written). Where each add has them as JSON too, the struct says the same and is not read.
 */
function needsParsedStatistics({ columns }: RowGroupMetadata): boolean {
  const nulls = (name: string) =>
    columns.find(({ field }) => field.path.join(".") === name)?.statistics?.nullCount;
  const missing = nulls("add.stats");
  return missing === undefined || missing === null || missing !== nulls("add.path");
}

function withStatistics(row: Record<string, unknown>): Record<string, unknown> {
  const { [PARSED_STATISTICS]: parsed, ...add } = (row.add ?? {}) as Record<string, unknown>;
  if (parsed === undefined) return row;
  return { ...row, add: { ...add, stats: add.stats ?? statisticsJson(parsed) } };
}

/** As its statistics say. All but one of a large checkpoint's row groups hold files alone, and a request for each would be slow. */
function holdsNullsOnly({ columns }: RowGroupMetadata, kinds: readonly string[]): boolean {
  return columns.every(
    ({ field, statistics, values }) =>
      !kinds.includes(field.path[0] ?? "") || statistics?.nullCount === values,
  );
}

function gone(name: string): TableRefusedError {
  return new TableRefusedError(
    `${name} is gone from the log, and the checkpoint needs it. Restore it; nothing was written`,
  );
}

/** Returns what the reading gives. Damage in a Parquet file is thrown as a `TableRefusedError`. */
export async function readable<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof DamagedParquetError)) throw error;
    throw new TableRefusedError(`${error.message}. Restore the file; nothing was written`, { cause: error });
  }
}

/** What only checkpoints have, some of them (Delta protocol, "Checkpoints"): the partition values once more, typed. */
const PARSED_PARTITION_VALUES = "partitionValues_parsed";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** As the action reads in JSON: texts, and numbers where they are exact. */
function actionValue(field: ParquetField): ValueConverter | null {
  const { physical, path } = field;
  if (path[1] === PARSED_STATISTICS) return statisticText(field);
  if (physical === "BYTE_ARRAY") return (raw) => utf8.decode(raw as Uint8Array);
  if (physical !== "INT64") return null;
  return (raw) => {
    const number = Number(raw);
    return Number.isSafeInteger(number) ? number : raw;
  };
}
