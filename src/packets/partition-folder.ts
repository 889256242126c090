import { TableRefusedError } from "@deltacap/delta";
import { packetTable } from "./packet-table.ts";

/** Folder name of a null partition value, in Hive's convention: Spark, delta-rs and DuckDB know it. */
export const NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__";

/** Characters that stand for themselves in a folder's name, in every engine. Others are escaped, each engine in its own way. */
const PLAIN = /^[A-Za-z0-9_.:-]+$/;
/** Characters of a value that a message shows. */
const MAX_SHOWN = 80;

type PartitionValues = Readonly<Record<string, string | null>>;

/** Whether the text is a day of the calendar from the year 1 on, as 2026-01-31. */
export function isCalendarDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || text.startsWith("0000")) return false;
  // An impossible month is no time at all; an impossible day would be one of the next month.
  const milliseconds = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(text);
}

/** The date that the log states for a packets file; null for packets without a time, which may be stated as "". */
export function statedDate(partitionValues: PartitionValues): string | null {
  return partitionValues[packetTable.partitionColumn] || null;
}

/**
 * Folder of a date's packets files, as `date=2026-01-31`. Throws `TableRefusedError` for what is not a calendar date: a date comes
 * from the log, where anybody may have written it, and could name a folder outside of the table.
 */
export function packetFolder(date: string | null): string {
  if (date !== null && !isCalendarDate(date)) throw notADate(date, "a new file");
  return `${packetTable.partitionColumn}=${date ?? NULL_PARTITION}`;
}

/** Refuses a packets file whose date is not one of the calendar: a file in its place could not be written. */
export function requireCalendarDate(file: {
  readonly path: string;
  readonly partitionValues: PartitionValues;
}): void {
  const date = statedDate(file.partitionValues);
  if (date !== null && !isCalendarDate(date)) throw notADate(date, `the file ${shown(file.path)}`);
}

function notADate(date: string, file: string): TableRefusedError {
  return new TableRefusedError(
    `the log states the ${packetTable.partitionColumn} ${shown(date)} for ${file}, which is not a date as 2026-01-31. Nothing was written for it. Remove that file from the table with the engine that added it, or restore an earlier version`,
  );
}

/**
 * Whether the folders of a path state exactly these partition values, in this order, and nothing else that looks like a value. An
 * engine that takes the values from the path then takes those of the log. `path` is as the file system has it.
 */
export function statesPartition(
  path: string,
  columns: readonly string[],
  partitionValues: PartitionValues,
): boolean {
  if (Object.keys(partitionValues).length !== columns.length) return false;
  const segments = path.split(/[/\\]/);
  const stated = segments.filter((segment) => segment.includes("="));
  if (stated.length !== columns.length || segments.at(-1) === stated.at(-1)) return false;
  return columns.every((column, i) => {
    const value = partitionValues[column] || NULL_PARTITION;
    return PLAIN.test(column) && PLAIN.test(value) && stated[i] === `${column}=${value}`;
  });
}

function shown(text: string): string {
  const json = JSON.stringify(text);
  return json.length <= MAX_SHOWN ? json : `${json.slice(0, MAX_SHOWN)}...`;
}
