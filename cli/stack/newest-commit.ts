import type { LogStore } from "@deltacap/delta";
import { readCommit, readLogSegment, TableRefusedError } from "@deltacap/delta";

/** The newest version of a table, and when it was committed. */
export interface NewestCommit {
  readonly version: number;
  /** Milliseconds since 1970, as its writer said; null where the log no longer tells. */
  readonly timestamp: number | null;
  readonly engine: string | null;
}

/** Null when there is no table. Cost: one listing of the log, one small read. */
export async function newestCommit(log: LogStore): Promise<NewestCommit | null> {
  const segment = await readLogSegment(log);
  if (segment === null) return null;
  const version = segment.versions.at(-1) ?? segment.checkpoint?.version ?? 0;
  try {
    const info = (await readCommit(log, version)).find(
      ({ commitInfo }) => commitInfo !== undefined,
    )?.commitInfo;
    return { version, timestamp: info?.timestamp ?? null, engine: info?.engineInfo ?? null };
  } catch (error) {
    // Cleaned up by another engine once the checkpoint was there.
    if (error instanceof TableRefusedError) return { version, timestamp: null, engine: null };
    throw error;
  }
}

/** `12 s`, `5 min`, `3 h`, `2 days`: enough to tell whether it is much. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
