import type { LogStore, ObjectInfo, ObjectStore } from "@deltacap/delta";
import { ReferencedFiles, reconcileLog } from "@deltacap/delta";
import type { FolderObjectStore } from "@deltacap/delta/folder";
import { type EndedRun, endedRuns } from "./ingest-run.ts";

/** Files that ended runs of `ingest` put and never committed, or had not finished. */
export interface Leftovers {
  readonly files: readonly ObjectInfo[];
  readonly runs: readonly EndedRun[];
}

const DATA_FILE = /^(?!_|\.)(?:.*\/)?([0-9a-f]{16})-[0-9a-f-]{36}-\d{5}\.parquet$/;

const UNFINISHED_FILE = /\/([0-9a-f]{16})-[0-9a-f-]{36}$/;

/**
 * Returns the files that ended runs have left: named by such a run, and not referred to by the log, neither as live nor as
 * removed. Nobody can commit them any more: only the run's own process could. Cost: nothing where no run has ended early, else a
 * listing of the folder and one reading of the log.
 */
export async function findLeftovers(table: FolderObjectStore, log: LogStore): Promise<Leftovers> {
  const runs = await endedRuns(table);
  if (runs.length === 0) return { files: [], runs };
  const ids = new Set(runs.map(({ id }) => id));
  const found: ObjectInfo[] = [];
  for await (const file of table.list("")) {
    const [, id = ""] = DATA_FILE.exec(file.path) ?? [];
    if (ids.has(id)) found.push(file);
  }
  // Read after the listing: a commit that was made before it is seen.
  const referenced = new ReferencedFiles();
  const state = found.length === 0 ? null : await reconcileLog(log);
  if (state !== null) {
    for await (const actions of state.files()) {
      for (const { add, remove } of actions) {
        if (add !== undefined) referenced.add(add);
        if (remove !== undefined) referenced.add(remove);
      }
    }
  }
  const files = found.filter(({ path }) => !referenced.has(path));
  for await (const file of table.unfinished()) {
    const [, id = ""] = UNFINISHED_FILE.exec(file.path) ?? [];
    if (ids.has(id)) files.push(file);
  }
  return { files, runs };
}

/** Removes the files, then the markers that led to them. */
export async function removeLeftovers(table: ObjectStore, { files, runs }: Leftovers): Promise<void> {
  await table.remove(files.map(({ path }) => path));
  await table.remove(runs.map(({ marker }) => marker));
}
