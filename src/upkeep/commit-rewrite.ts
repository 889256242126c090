import type { LogFollower, LogStore, ObjectStore } from "@deltacap/delta";
import { RetryableError } from "@deltacap/delta";
import type { PageDecompressors, ParquetWriterFactory } from "@deltacap/parquet";
import { type Rewrite, rewriteBody } from "./rewrite-body.ts";

/** What rewriting files reaches the world through. */
export interface RewritePorts {
  readonly log: LogStore;
  readonly table: ObjectStore;
  readonly parquet: ParquetWriterFactory;
  readonly decompressors?: PageDecompressors;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A fresh unpredictable id. */
  readonly newId: () => string;
  /** 0 to 1, for the jitter of the waits after conflicts. */
  readonly random: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** `deltacap/1.2.3`, for the commits. */
  readonly engineInfo: string;
}

/** Conflicts in a row after which another writer is too busy: the committer makes a commit every few seconds. */
const MAXIMUM_ATTEMPTS = 20;
/** Milliseconds, as the committer waits: shorter, and the same two writers meet again. */
const FIRST_WAIT = 50;
const LONGEST_WAIT = 1_000;

/**
 * Commits what `plan` makes of the state that the follower knows, as the next version. After a lost race the winner's commit is
 * looked at and the plan made anew: data files are not. Null when there is nothing left to commit: the plan gave null, or the
 * table changed (`follower.changed`).
 */
export async function commitRewrite(
  ports: RewritePorts,
  follower: LogFollower,
  plan: () => Rewrite | null,
): Promise<{ readonly version: number; readonly rewrite: Rewrite } | null> {
  for (let attempt = 1; attempt <= MAXIMUM_ATTEMPTS; attempt++) {
    const rewrite = follower.changed === null ? plan() : null;
    if (rewrite === null) return null;
    const identity = { txnId: ports.newId(), timestamp: ports.now(), engineInfo: ports.engineInfo };
    const version = follower.version + 1;
    // The commit point. Files that were put for a plan that is not committed are referred to by nobody: vacuum removes them.
    const outcome = await ports.log.commit(version, rewriteBody(rewrite, follower.version, identity));
    if (outcome === "committed") {
      follower.version = version;
      return { version, rewrite };
    }
    await ports.sleep(ports.random() * Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** attempt));
    await ports.log.repair();
    await follower.advance();
  }
  throw new RetryableError(
    `commits met conflicts up to version ${follower.version + 1}, ${MAXIMUM_ATTEMPTS} in a row: another writer is too busy. The next run goes on`,
  );
}
