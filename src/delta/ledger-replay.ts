import type { CommittedEntry, Ledger, Watermark } from "../manifest/ledger.ts";
import type { SourceId } from "../manifest/source-id.ts";
import type { Action } from "./actions.ts";
import { commitId } from "./commit-id.ts";
import { readCommitTags } from "./commit-tags.ts";

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
        this.#entries.set(id, {
          ...entry,
          ...(damage === undefined ? {} : { damage }),
          ...(tags?.byContent === true ? { byContent: true } : {}),
        });
      }
    }
    this.#newest = { version, commit: commitId(actions) };
    this.#versions++;
    if (this.#entries.size >= ENTRIES || this.#versions >= VERSIONS) await this.flush();
  }

  /** Entries first, then the watermark that covers them. */
  async flush(): Promise<void> {
    if (this.#newest === null) return;
    if (this.#entries.size > 0) await this.#ledger.putCommitted(await this.#completed());
    await this.#ledger.advanceWatermark(this.#newest);
    this.#entries = new Map();
    this.#newest = null;
    this.#versions = 0;
  }

  /** The entries, with what the ledger knew of their sources beyond the log: capture, batch, packets, the whole damage. */
  async #completed(): Promise<Map<SourceId, CommittedEntry>> {
    const known = await this.#ledger.lookup([...this.#entries.keys()]);
    const completed = new Map<SourceId, CommittedEntry>();
    for (const [id, entry] of this.#entries) {
      const before = known.get(id);
      if (before?.status === "committed") completed.set(id, { ...entry, ...before, version: entry.version });
      else completed.set(id, before === undefined ? entry : { ...entry, capture: before.capture });
    }
    return completed;
  }
}
