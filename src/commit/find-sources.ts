import type { LogStore } from "@deltacap/delta";
import { loggedVersions, readCommits } from "@deltacap/delta";
import type { SourceId } from "../manifest/source-id.ts";
import { readCommitTags } from "./commit-tags.ts";

/** What the log says of sources. */
export interface SourcesInLog {
  /** The newest version that added each; sources that no commit added are not in it. */
  readonly versions: ReadonlyMap<SourceId, number>;
  /** Whether the log still has every commit since the table began: else what is not found may have been there. */
  readonly complete: boolean;
}

/**
 * Looks for sources in the tags of all commits, for when the ledger has forgotten them. Cost: every commit of the log is read,
 * its checkpoints are not: they hold no tags.
 */
export async function findSources(log: LogStore, ids: ReadonlySet<SourceId>): Promise<SourcesInLog> {
  const found = new Map<SourceId, number>();
  const { all: versions } = await loggedVersions(log);
  for await (const { version, actions } of readCommits(log, versions)) {
    for (const { commitInfo } of actions) {
      for (const { id } of readCommitTags(commitInfo?.tags)?.sources ?? []) {
        if (ids.has(id)) found.set(id, version);
      }
    }
  }
  return { versions: found, complete: versions.every((version, i) => version === i) };
}
