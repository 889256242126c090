import { decodedPath } from "../src/delta/commit-body.ts";
import type { LogStore } from "../src/delta/log-store.ts";
import { liveFiles } from "../src/delta/reconcile.ts";
import { mayHoldText, statedRows } from "../src/delta/skip-files.ts";
import { TableRefusedError } from "../src/errors.ts";

/** A file of the newest version, whose rows are the table's. */
export interface LiveFile {
  /** Relative to the table's folder, not encoded. */
  readonly path: string;
  readonly size: number;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  /** From the statistics; null where the file has none. */
  readonly rows: number | null;
}

/**
 * Files of the newest version in the order of their making; where a capture is named, those that may have rows of it. Memory holds
 * them all. Throws `TableRefusedError` for a file with a deletion vector: rows would come back.
 */
export async function readableFiles(log: LogStore, capture?: string): Promise<LiveFile[]> {
  const found: { file: LiveFile; made: number }[] = [];
  for await (const adds of liveFiles(log)) {
    for (const add of adds) {
      if (capture !== undefined && !mayHoldText(add, "capture", capture)) continue;
      const { path, size, partitionValues, modificationTime: made } = add;
      if (add.deletionVector !== undefined && add.deletionVector !== null) {
        throw new TableRefusedError(
          `${path} has a deletion vector, which deltacap does not read: use Spark for this table`,
        );
      }
      const file = { path: decodedPath(path), size, partitionValues, rows: statedRows(add) };
      found.push({ file, made });
    }
  }
  return found
    .sort((a, b) => a.made - b.made || (a.file.path < b.file.path ? -1 : 1))
    .map(({ file }) => file);
}
