import type { Ledger, LedgerEntry, UnfinishedEntry } from "../manifest/ledger.ts";
import { type Sha256, type SourceId, sourceId } from "../manifest/source-id.ts";
import type { ContentHash, IdentifiedSource } from "./identify-sources.ts";

/** What earlier sources are found and compared with. */
export interface UnfinishedPorts {
  readonly ledger: Pick<Ledger, "lookup">;
  readonly sha256: Sha256;
  readonly contentHash?: () => ContentHash;
}

/**
 * Captures that were ingested before they were complete: the upload of an earlier moment, which ended inside a packet. When the whole
 * capture comes, it is another source, and the first packets are in the table twice. This finds out while the whole one is read.
 */
export class UnfinishedCaptures {
  readonly #ports: UnfinishedPorts;
  readonly #earlier: ReadonlyMap<SourceId, UnfinishedEntry>;
  readonly #continued = new Map<SourceId, SourceId>();

  private constructor(ports: UnfinishedPorts, earlier: ReadonlyMap<SourceId, UnfinishedEntry>) {
    this.#ports = ports;
    this.#earlier = earlier;
  }

  /** Asks the ledger for what it noted of these captures. Cost: one key a capture, and one of each earlier source. */
  static async of(items: readonly IdentifiedSource[], ports: UnfinishedPorts): Promise<UnfinishedCaptures> {
    const earlier = new Map<SourceId, UnfinishedEntry>();
    if (ports.contentHash === undefined || items.length === 0) return new UnfinishedCaptures(ports, earlier);
    const notes = await ports.ledger.lookup(
      items.map(({ source }) => unfinishedId(source.capture, ports.sha256)),
    );
    const known = await ports.ledger.lookup([...notes.values()].flatMap((note) => sourceOf(note)));
    for (const { id, source } of items) {
      const note = notes.get(unfinishedId(source.capture, ports.sha256));
      if (note?.status !== "unfinished" || note.size >= source.size) continue;
      if (known.get(note.source)?.status === "committed") earlier.set(id, note);
    }
    return new UnfinishedCaptures(ports, earlier);
  }

  /** The capture's own bytes; those of which an earlier source consisted are hashed on their way. */
  async *read(id: SourceId, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const earlier = this.#earlier.get(id);
    const hash = earlier === undefined ? undefined : this.#ports.contentHash?.();
    if (earlier === undefined || hash === undefined) return yield* chunks;
    let left = earlier.size;
    for await (const chunk of chunks) {
      if (left > 0) hash.update(chunk.subarray(0, left));
      const wasLeft = left;
      left = Math.max(0, left - chunk.length);
      if (wasLeft > 0 && left === 0) {
        const { sha256, md5 } = hash.digest();
        if (earlier.hash === sha256 || earlier.hash === md5) this.#continued.set(id, earlier.source);
      }
      yield chunk;
    }
  }

  /** The committed source that the capture begins with, once it was read; null where there is none. */
  continuedBy(id: SourceId): SourceId | null {
    return this.#continued.get(id) ?? null;
  }
}

/** The ledger's note that a capture ended early, and the key that it stands under. */
export function unfinishedNote(
  { source, id, contentSha256 }: IdentifiedSource,
  sha256: Sha256,
): [SourceId, UnfinishedEntry] {
  const { capture, size, eTag } = source;
  const note = { status: "unfinished", capture, source: id, size, hash: contentSha256 ?? eTag } as const;
  return [unfinishedId(capture, sha256), note];
}

/** No source has this id: an eTag is never empty. */
function unfinishedId(capture: string, sha256: Sha256): SourceId {
  return sourceId({ bucket: "unfinished", key: capture, eTag: "", size: 0 }, sha256);
}

function sourceOf(entry: LedgerEntry): SourceId[] {
  return entry.status === "unfinished" ? [entry.source] : [];
}
