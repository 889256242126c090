import type { LogStore } from "@deltacap/delta";
import { liveFiles, objectPath } from "@deltacap/delta";

/** Paths of the newest version's files, decoded and sorted. */
export async function livePaths(log: LogStore): Promise<string[]> {
  const paths: string[] = [];
  for await (const adds of liveFiles(log)) paths.push(...adds.map(({ path }) => objectPath(path)));
  return paths.sort();
}
