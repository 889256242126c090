import type { LogStore, ObjectStore } from "@deltacap/delta";
import { TableRefusedError, UnreadableFileError } from "@deltacap/delta";
import type { PageDecompressors } from "@deltacap/parquet";
import { sourceCaptures } from "../commit/source-captures.ts";
import type { EarlierSources, IdentifiedSource } from "../ingest/identify-sources.ts";
import type { CommittedEntry } from "../manifest/ledger.ts";
import { type Sha256, type SourceId, sourceId } from "../manifest/source-id.ts";
import type { EarlierEntry, FolderLedger } from "./folder-ledger.ts";

/** What captures of older versions are found with. */
export interface EarlierCapturePorts {
  readonly ledger: FolderLedger;
  readonly log: LogStore;
  readonly table: ObjectStore;
  readonly decompressors?: PageDecompressors;
  readonly sha256: Sha256;
}

/**
 * Comparisons up to which every new capture is compared with every earlier one; beyond, only with those of its file name. One is a
 * hash of 200 bytes: 2 million took 20 s of CPU time on a busy machine, these take 5 s.
 */
const MAX_COMPARISONS = 500_000;

/**
 * Finds captures that older versions committed under ids made from their paths, wherever their files lie now. The ledger has the
 * path of each, and an id tells whether it is that of a given content at that path. Each that is found is noted under its new id.
 *
 * Cost: nothing in a ledger without such entries; else one pass over the file for each batch that has captures not known by content.
 */
export class EarlierCaptures implements EarlierSources {
  readonly #ports: EarlierCapturePorts;
  readonly #maxComparisons: number;

  constructor(ports: EarlierCapturePorts, maxComparisons = MAX_COMPARISONS) {
    this.#ports = ports;
    this.#maxComparisons = maxComparisons;
  }

  async find(sources: readonly IdentifiedSource[]): Promise<Map<SourceId, CommittedEntry>> {
    const { ledger } = this.#ports;
    const found = new Map<SourceId, EarlierEntry>();
    if ((await ledger.earlierSources()) === 0) return new Map();
    const known = await ledger.lookup(sources.flatMap(({ otherIds }) => otherIds));
    const open: IdentifiedSource[] = [];
    for (const item of sources) {
      const id = item.otherIds.find((other) => known.get(other)?.status === "committed");
      const entry = id === undefined ? undefined : known.get(id);
      if (id !== undefined && entry?.status === "committed") found.set(item.id, { id, entry });
      else open.push(item);
    }
    if (open.length > 0) {
      if (await ledger.hasUnnamed()) await this.#nameEntries();
      await this.#compare(open, found);
    }
    await ledger.adopt(found);
    return new Map([...found].map(([id, { entry }]) => [id, entry]));
  }

  async #compare(open: readonly IdentifiedSource[], found: Map<SourceId, EarlierEntry>): Promise<void> {
    const { ledger, sha256 } = this.#ports;
    const all = (await ledger.earlierSources()) * open.length <= this.#maxComparisons ? open : null;
    const byName = new Map<string, IdentifiedSource[]>();
    for (const item of open) {
      const name = lastSegment(item.source.key);
      byName.set(name, [...(byName.get(name) ?? []), item]);
    }
    const candidates = (capture: string) => all ?? byName.get(lastSegment(capture)) ?? [];
    await ledger.forEachEarlier(
      (capture) => capture.startsWith("file:") && candidates(capture).length > 0,
      (earlier, capture) => {
        for (const { id, source } of candidates(capture)) {
          const { eTag, size } = source;
          if (sourceId({ bucket: "", key: capture, eTag, size }, sha256) === earlier.id)
            found.set(id, earlier);
        }
      },
    );
  }

  /** Entries that were made again from an older version's commits lack their captures' paths: the table's rows have them. */
  async #nameEntries(): Promise<void> {
    const { ledger, log, table, decompressors } = this.#ports;
    const end = await ledger.end();
    try {
      for await (const captures of sourceCaptures(log, table, decompressors))
        await ledger.nameEarlier(captures);
    } catch (error) {
      if (!(error instanceof UnreadableFileError)) throw error;
      throw new TableRefusedError(
        `${error.message}. The ledger was made anew from the log of an older version, and only the table's files say which captures are in it: some might be ingested twice. Nothing was written. Put the file back, or take it out of the table; captures that lie where they were ingested from are known without it`,
        { cause: error },
      );
    }
    // What has no row in the table cannot be there twice.
    await ledger.noteNamed(end);
  }
}

function lastSegment(url: string): string {
  return url.slice(url.lastIndexOf("/") + 1);
}
