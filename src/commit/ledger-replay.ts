import type { Action } from "@deltacap/delta";
import { commitId } from "@deltacap/delta";
import {
  type CommittedEntry,
  type Ledger,
  type LedgerEntry,
  newestVersion,
  type Watermark,
} from "../manifest/ledger.ts";
import type { SourceId } from "../manifest/source-id.ts";
import { readCommitTags, readForgotten } from "./commit-tags.ts";

/** Entries, and versions, that are collected before they are written: a full replay is not one write a version. */
const ENTRIES = 5_000;
const VERSIONS = 1_000;

/**
 * Brings the ledger from the watermark forward by the tags of commits, version by version without a gap. The watermark moves
 * only over versions whose entries this very replay wrote, whoever committed them: that others "surely" wrote theirs is
 * how sources get lost when they did not.
 */
export class LedgerReplay {
  readonly #ledger: Ledger;
  #entries = new Map<SourceId, CommittedEntry>();
  /** Sources, and the versions that removed their rows for good. */
  #forgotten = new Map<SourceId, number>();
  #newest: Watermark | null = null;
  #versions = 0;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  async add(version: number, actions: readonly Action[]): Promise<void> {
    for (const { commitInfo } of actions) {
      const tags = readCommitTags(commitInfo?.tags);
      for (const { id, damage } of tags?.sources ?? []) {
        const entry = { status: "committed", version } as const;
        this.#forgotten.delete(id);
        this.#entries.set(id, {
          ...entry,
          ...(damage === undefined ? {} : { damage }),
          ...(tags?.byContent === true ? { byContent: true } : {}),
        });
      }
      for (const id of readForgotten(commitInfo?.tags)) this.#forgotten.set(id, version);
    }
    this.#newest = { version, commit: commitId(actions) };
    this.#versions++;
    if (this.#entries.size + this.#forgotten.size >= ENTRIES || this.#versions >= VERSIONS)
      await this.flush();
  }

  /** Entries first, then the watermark that covers them. */
  async flush(): Promise<void> {
    if (this.#newest === null) return;
    if (this.#entries.size + this.#forgotten.size > 0)
      await this.#ledger.putCommitted(await this.#completed());
    await this.#ledger.advanceWatermark(this.#newest);
    this.#entries = new Map();
    this.#forgotten = new Map();
    this.#newest = null;
    this.#versions = 0;
  }

  /** The entries, with what the ledger knew of their sources beyond the log: capture, batch, packets, the whole damage. */
  async #completed(): Promise<Map<SourceId, CommittedEntry>> {
    const ids = new Set([...this.#entries.keys(), ...this.#forgotten.keys()]);
    const known = await this.#ledger.lookup([...ids]);
    const completed = new Map<SourceId, CommittedEntry>();
    for (const id of ids) {
      const before = known.get(id);
      const entry = withKnown(this.#entries.get(id), before);
      // Of a source that the ledger does not know, because "retry --again" released it, the rows are gone: it stays unknown.
      if (entry === null) continue;
      const forgottenIn = this.#forgotten.get(id);
      const newest = forgottenIn === undefined ? entry : { ...entry, forgottenIn };
      // A later commit may have been noted already, by another run.
      if (before?.status !== "committed" || newestVersion(before) <= newestVersion(newest))
        completed.set(id, newest);
    }
    return completed;
  }
}

function withKnown(
  entry: CommittedEntry | undefined,
  before: LedgerEntry | undefined,
): CommittedEntry | null {
  if (entry === undefined) return before?.status === "committed" ? before : null;
  if (before === undefined) return entry;
  if (before.status !== "committed") return { ...entry, capture: before.capture };
  const { forgottenIn: _, batchId, ...facts } = before;
  const isSame = before.version === entry.version;
  return {
    ...entry,
    ...facts,
    ...(isSame && batchId !== undefined ? { batchId } : {}),
    version: entry.version,
  };
}
