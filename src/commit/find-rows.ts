import type { LogStore, ObjectStore, RowGroupSummary } from "@deltacap/delta";
import { DataFileReader, fileColumnsOf, mayHoldText, reconcileLog } from "@deltacap/delta";
import type { SourceId } from "../manifest/source-id.ts";

const SOURCE = "source_id";
const CAPTURE = "capture";
const SOURCE_ONLY: ReadonlySet<string> = new Set([SOURCE]);

/**
 * Path of a live file that has rows of the source, or null when none has: files that were rewritten since are looked into too,
 * whoever wrote them; rows that a deletion vector deletes are not there. `capture` is the rows' column of that name: by it, files
 * are passed over unread.
 *
 * Cost: the log's state, and of each file whose statistics do not exclude it the footer and one column. Throws
 * `UnreadableFileError` for a file that cannot be read: it might have them.
 */
export async function fileWithSource(
  { log, store }: { readonly log: LogStore; readonly store: ObjectStore },
  { id, capture }: { readonly id: SourceId; readonly capture: string },
): Promise<string | null> {
  const state = await reconcileLog(log);
  if (state === null) return null;
  const columns = fileColumnsOf(state.metadata).filter(({ name }) => name === SOURCE);
  for await (const actions of state.files()) {
    for (const { add } of actions) {
      if (add === undefined || !mayHoldText(add, CAPTURE, capture) || !mayHoldText(add, SOURCE, id)) continue;
      const reader = await DataFileReader.open(store, add, columns);
      if (await hasSource(reader, id)) return reader.path;
    }
  }
  return null;
}

/**
 * Those of the sources that have rows in the table; rows that a deletion vector deletes are not there. Cost: the log's state, and of
 * each live file the footer and one column. Throws `UnreadableFileError` for a file that cannot be read: it might have them.
 */
export async function sourcesWithRows(
  { log, store }: { readonly log: LogStore; readonly store: ObjectStore },
  ids: ReadonlySet<SourceId>,
): Promise<Set<SourceId>> {
  const found = new Set<SourceId>();
  const state = await reconcileLog(log);
  if (state === null || ids.size === 0) return found;
  const columns = fileColumnsOf(state.metadata).filter(({ name }) => name === SOURCE);
  for await (const actions of state.files()) {
    for (const { add } of actions) {
      if (add === undefined) continue;
      const reader = await DataFileReader.open(store, add, columns);
      for (const index of reader.rowGroups.keys()) {
        const [column] = (await reader.read(index, SOURCE_ONLY)).columns;
        if (column?.kind !== "string") continue;
        for (const id of column.dictionary) if (ids.has(id)) found.add(id);
      }
    }
  }
  return found;
}

async function hasSource(reader: DataFileReader, id: SourceId): Promise<boolean> {
  for (const [index, summary] of reader.rowGroups.entries()) {
    if (!mayHaveSource(summary, id)) continue;
    const [column] = (await reader.read(index, SOURCE_ONLY)).columns;
    if (column?.kind === "string" && column.dictionary.includes(id)) return true;
  }
  return false;
}

/** Ids are short: no writer cuts their bounds off. */
function mayHaveSource({ ranges }: RowGroupSummary, id: SourceId): boolean {
  const range = ranges.get(SOURCE);
  if (typeof range?.min === "string" && id < range.min) return false;
  return !(typeof range?.max === "string" && id > range.max && !id.startsWith(range.max));
}
