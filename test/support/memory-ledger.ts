import type { Ledger, LedgerEntry } from "../../src/manifest/ledger.ts";
import type { SourceId } from "../../src/manifest/source-id.ts";

/** The ledger in memory; its state is open to tests. */
export class MemoryLedger implements Ledger {
  readonly entries = new Map<SourceId, LedgerEntry>();
  mark: number | null = null;

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

  async putSetAside(
    entries: ReadonlyMap<SourceId, LedgerEntry & { status: "rejected" | "empty" }>,
  ): Promise<void> {
    for (const [id, entry] of entries) {
      if (this.entries.get(id)?.status !== "committed") this.entries.set(id, entry);
    }
  }

  async watermark(): Promise<number | null> {
    return this.mark;
  }

  async advanceWatermark(version: number): Promise<void> {
    this.mark = Math.max(this.mark ?? 0, version);
  }
}
