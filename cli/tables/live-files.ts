import type { Add, LogStore } from "@deltacap/delta";
import { liveFiles, mayHoldText, objectPath, statedDeletedRows, statedRows } from "@deltacap/delta";

/** A file of the newest version. */
export interface LiveFile {
  /** Relative to the table's folder, not encoded. */
  readonly path: string;
  readonly size: number;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  /** Those of the table, from the statistics and the deletion vector's entry in the log; null where these do not say. */
  readonly rows: number | null;
  /** Rows that a deletion vector deletes. */
  readonly deletedRows: number;
  readonly add: Add;
}

/**
 * Files of the newest version in the order of their making; where a capture is named, those that may have rows of it. Memory holds
 * them all.
 */
export async function readableFiles(log: LogStore, capture?: string): Promise<LiveFile[]> {
  const found: LiveFile[] = [];
  for await (const adds of liveFiles(log)) {
    for (const add of adds) {
      // Of every file: one that is passed over may be the same as another under a second name.
      const path = objectPath(add.path);
      if (capture !== undefined && !mayHoldText(add, "capture", capture)) continue;
      const { size, partitionValues } = add;
      const stored = statedRows(add);
      const deletedRows = statedDeletedRows(add);
      const rows = stored === null || stored < deletedRows ? null : stored - deletedRows;
      found.push({ path, size, partitionValues, rows, deletedRows, add });
    }
  }
  return found.sort((a, b) => a.add.modificationTime - b.add.modificationTime || (a.path < b.path ? -1 : 1));
}
