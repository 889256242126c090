import type { LogStore, ObjectStore } from "@deltacap/delta";
import { DataFileReader, fileColumnsOf, liveFiles, readSnapshot } from "@deltacap/delta";
import type { Column, PageDecompressors } from "@deltacap/parquet";
import type { SourceId } from "../manifest/source-id.ts";

const NAMES: ReadonlySet<string> = new Set(["source_id", "capture"]);

/**
 * The column `capture` of each source that has rows in the table, in pieces: a source comes once for each row group that has rows of
 * it. Cost: of each live file the footer and two columns. Throws `UnreadableFileError` for a file that cannot be read.
 */
export async function* sourceCaptures(
  log: LogStore,
  table: ObjectStore,
  decompressors: PageDecompressors = {},
): AsyncGenerator<ReadonlyMap<SourceId, string>> {
  const snapshot = await readSnapshot(log);
  if (snapshot === null) return;
  const columns = fileColumnsOf(snapshot.metadata).filter(({ name }) => NAMES.has(name));
  const at = (name: string) => columns.findIndex((column) => column.name === name);
  for await (const files of liveFiles(log, snapshot.version)) {
    for (const add of files) {
      const reader = await DataFileReader.open(table, add, columns, decompressors);
      for (const index of reader.rowGroups.keys()) {
        const group = await reader.readStored(index);
        yield pairs(group.columns[at("source_id")], group.columns[at("capture")], group.rows);
      }
    }
  }
}

function pairs(
  ids: Column | null | undefined,
  captures: Column | null | undefined,
  rows: number,
): Map<SourceId, string> {
  const found = new Map<SourceId, string>();
  if (ids?.kind !== "string" || captures?.kind !== "string") return found;
  let last = -1;
  for (let row = 0; row < rows; row++) {
    const code = ids.codes[row] ?? -1;
    // Rows of a source lie together.
    if (code === last) continue;
    last = code;
    const id = ids.dictionary[code];
    const capture = captures.dictionary[captures.codes[row] ?? -1];
    if (id !== undefined && capture !== undefined) found.set(id, capture);
  }
  return found;
}
