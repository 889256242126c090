import type { LogStore } from "../../src/delta/log-store.ts";
import { objectPath } from "../../src/delta/object-path.ts";
import { liveFiles } from "../../src/delta/reconcile.ts";

/** Paths of the newest version's files, decoded and sorted. */
export async function livePaths(log: LogStore): Promise<string[]> {
  const paths: string[] = [];
  for await (const adds of liveFiles(log)) paths.push(...adds.map(({ path }) => objectPath(path)));
  return paths.sort();
}
