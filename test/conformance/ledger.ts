import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AsideEntry, Ledger, LedgerEntry } from "../../src/manifest/ledger.ts";
import type { SourceId } from "../../src/manifest/source-id.ts";

/** An empty ledger, and what is needed to look at it from two sides. */
export interface LedgerFixture {
  readonly ledger: Ledger;
  /** A second client of the same ledger, as another process would have. */
  another(): Ledger;
  close(): Promise<void>;
}

type Committed = LedgerEntry & { status: "committed" };
type SetAside = AsideEntry;

/** What every {@link Ledger} must do. */
export function ledgerConformance(
  name: string,
  open: () => Promise<LedgerFixture>,
  skip: Readonly<Record<string, string>> = {},
): void {
  describe(`ledger: ${name}`, () => {
    let fixture: LedgerFixture;
    let ledger: Ledger;
    beforeEach(async () => {
      fixture = await open();
      ledger = fixture.ledger;
    });
    afterEach(async () => await fixture.close());
    const check = (title: string, body: () => Promise<void>) => {
      const reason = skip[title];
      if (reason === undefined) test(title, body);
      else test.skip(`${title} (${reason})`, body);
    };

    check("an empty ledger knows no source and has no watermark", async () => {
      expect(await ledger.lookup([])).toEqual(new Map());
      expect(await ledger.lookup([id(1), id(2)])).toEqual(new Map());
      expect(await ledger.watermark()).toBeNull();
    });

    check("an entry is seen by another client at once, with all that was said of it", async () => {
      const full: Committed = {
        status: "committed",
        version: 12,
        capture: "s3://bucket/vehicle ü/a+b%20.pcap",
        batchId: "batch-1",
        packets: 2 ** 40,
        continues: id(8),
        forgottenIn: 13,
        damage: { offset: 2 ** 33 + 1, reason: 'block length 7 at "offset"\nis odd: ä€\u{1f600}' },
      };
      const bare: Committed = { status: "committed", version: 0 };
      await ledger.putCommitted(numbered(full, bare));
      const found = await fixture.another().lookup([id(1), id(2), id(3)]);
      expect(found).toEqual(numbered(full, bare));
    });

    check("rejected, empty and unfinished ones are kept with what was said of them", async () => {
      const rejected: SetAside = {
        status: "rejected",
        capture: "file:///a",
        reason: "no capture: ÿ",
        offset: 4,
      };
      const empty: SetAside = { status: "empty", capture: "file:///b" };
      const unfinished: SetAside = {
        status: "unfinished",
        capture: "s3://bucket/ü",
        source: id(9),
        size: 2 ** 40,
        hash: "00ff",
      };
      await ledger.putSetAside(numbered<SetAside>(rejected, empty, unfinished));
      const found = await fixture.another().lookup([id(1), id(2), id(3)]);
      expect(found).toEqual(numbered<SetAside>(rejected, empty, unfinished));
    });

    check("setting aside never replaces committed", async () => {
      await ledger.putCommitted(new Map([[id(1), { status: "committed", version: 3 }]]));
      const aside: SetAside = { status: "rejected", capture: "file:///a", reason: "late", offset: 0 };
      await fixture.another().putSetAside(numbered(aside, aside));
      const found = await ledger.lookup([id(1), id(2)]);
      expect(found.get(id(1))).toMatchObject({ status: "committed", version: 3 });
      expect(found.get(id(2))).toEqual(aside);
    });

    check("committed replaces what was set aside, and a later reason replaces an earlier one", async () => {
      const aside = (reason: string): SetAside => ({ status: "rejected", capture: "c", reason, offset: 0 });
      await ledger.putSetAside(numbered(aside("first"), aside("first")));
      await ledger.putSetAside(new Map([[id(2), aside("second")]]));
      await ledger.putCommitted(new Map([[id(1), { status: "committed", version: 7 }]]));
      const found = await fixture.another().lookup([id(1), id(2)]);
      expect(found.get(id(1))).toEqual({ status: "committed", version: 7 });
      expect(found.get(id(2))).toEqual(aside("second"));
    });

    check("an entry replayed from the log leaves its source committed at the same version", async () => {
      const entry: Committed = { status: "committed", version: 5, capture: "c", batchId: "b", packets: 9 };
      await ledger.putCommitted(new Map([[id(1), entry]]));
      await fixture.another().putCommitted(new Map([[id(1), { status: "committed", version: 5 }]]));
      expect((await ledger.lookup([id(1)])).get(id(1))).toMatchObject({ status: "committed", version: 5 });
    });

    check("a later commit, or one that forgot the source, replaces what was said before", async () => {
      const first: Committed = { status: "committed", version: 5, capture: "c", batchId: "b", packets: 9 };
      await ledger.putCommitted(new Map([[id(1), first]]));
      await ledger.putCommitted(new Map([[id(1), { ...first, forgottenIn: 6 }]]));
      expect((await fixture.another().lookup([id(1)])).get(id(1))).toEqual({ ...first, forgottenIn: 6 });
      await ledger.putCommitted(new Map([[id(1), { ...first, version: 7 }]]));
      expect((await fixture.another().lookup([id(1)])).get(id(1))).toEqual({ ...first, version: 7 });
    });

    check("more sources than any batch call takes are written and found, none left out", async () => {
      const ids = Array.from({ length: 1_030 }, (_, i) => id(i));
      await ledger.putCommitted(
        new Map(ids.map((source, i) => [source, { status: "committed", version: i }])),
      );
      const found = await fixture.another().lookup([...ids, id(99_999)]);
      expect(found.size).toBe(ids.length);
      ids.forEach((source, i) => void expect(found.get(source)).toEqual({ status: "committed", version: i }));
    });

    check("an id that is asked for twice is answered once", async () => {
      await ledger.putCommitted(new Map([[id(1), { status: "committed", version: 1 }]]));
      expect((await ledger.lookup([id(1), id(2), id(1), id(2)])).size).toBe(1);
    });

    check("writing nothing is no error", async () => {
      await ledger.putCommitted(new Map());
      await ledger.putSetAside(new Map());
      expect(await ledger.lookup([id(1)])).toEqual(new Map());
    });

    check("the watermark moves forward, version 0 included, and never back", async () => {
      await ledger.advanceWatermark({ version: 0 });
      expect(await fixture.another().watermark()).toEqual({ version: 0 });
      await ledger.advanceWatermark({ version: 8 });
      await fixture.another().advanceWatermark({ version: 5 });
      await ledger.advanceWatermark({ version: 8 });
      expect(await ledger.watermark()).toEqual({ version: 8 });
      expect(await fixture.another().watermark()).toEqual({ version: 8 });
    });

    check("the watermark keeps what tells its commit, and nothing of an earlier one", async () => {
      await ledger.advanceWatermark({ version: 4, commit: "txn-4" });
      await fixture.another().advanceWatermark({ version: 4, commit: "another" });
      expect(await ledger.watermark()).toEqual({ version: 4, commit: "txn-4" });
      await ledger.advanceWatermark({ version: 5 });
      expect(await fixture.another().watermark()).toEqual({ version: 5 });
      await ledger.advanceWatermark({ version: 6, commit: "txn-6" });
      expect(await fixture.another().watermark()).toEqual({ version: 6, commit: "txn-6" });
    });

    check("of watermarks moved at once the greatest stays", async () => {
      const another = fixture.another();
      await Promise.all(
        [3, 9, 1, 7, 5].map((version, i) => (i % 2 ? ledger : another).advanceWatermark({ version })),
      );
      expect(await ledger.watermark()).toEqual({ version: 9 });
    });

    check("two clients that write at once lose no entry", async () => {
      const another = fixture.another();
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          (i % 2 ? ledger : another).putCommitted(new Map([[id(i), { status: "committed", version: i }]])),
        ),
      );
      const found = await ledger.lookup(Array.from({ length: 20 }, (_, i) => id(i)));
      expect([...found.values()].map((entry) => (entry as Committed).version).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 20 }, (_, i) => i),
      );
    });
  });
}

function id(number: number): SourceId {
  return (number + 0x1000).toString(16).padStart(32, "0");
}

/** Entries of the sources 1, 2, ... */
function numbered<Entry>(...entries: Entry[]): Map<SourceId, Entry> {
  return new Map(entries.map((entry, i) => [id(i + 1), entry]));
}
