import type { AsideEntry, Ledger, LedgerEntry, Watermark } from "../../../src/manifest/ledger.ts";
import type { SourceId } from "../../../src/manifest/source-id.ts";

/** The ledger in memory; its state is open to tests. */
export class MemoryLedger implements Ledger {
  readonly entries = new Map<SourceId, LedgerEntry>();
  readonly remake = "Clear the memory";
  mark: number | null = null;
  /** What was said of each version that was a watermark. */
  readonly commits = new Map<number, string>();

  async lookup(ids: readonly SourceId[]): Promise<Map<SourceId, LedgerEntry>> {
    const found = new Map<SourceId, LedgerEntry>();
    for (const id of ids) {
      const entry = this.entries.get(id);
      if (entry !== undefined) found.set(id, entry);
    }
    return found;
  }

  async putCommitted(entries: ReadonlyMap<SourceId, LedgerEntry & { status: "committed" }>): Promise<void> {
    for (const [id, entry] of entries) this.entries.set(id, entry);
  }

  async putSetAside(entries: ReadonlyMap<SourceId, AsideEntry>): Promise<void> {
    for (const [id, entry] of entries) {
      if (this.entries.get(id)?.status !== "committed") this.entries.set(id, entry);
    }
  }

  async watermark(): Promise<Watermark | null> {
    if (this.mark === null) return null;
    const commit = this.commits.get(this.mark);
    return commit === undefined ? { version: this.mark } : { version: this.mark, commit };
  }

  async advanceWatermark({ version, commit }: Watermark): Promise<void> {
    if (version <= (this.mark ?? -1)) return;
    this.mark = version;
    if (commit !== undefined) this.commits.set(version, commit);
  }
}
