import type { CaptureSource, CaptureStore } from "../manifest/capture-store.ts";
import type { CommittedEntry, Ledger } from "../manifest/ledger.ts";
import { isOfParts, localSourceId, type Sha256, type SourceId, sourceId } from "../manifest/source-id.ts";

/** Hashes of a content, lower-case hex. */
export interface ContentDigests {
  readonly sha256: string;
  /** The eTag that S3 gives the same bytes in one part. */
  readonly md5: string;
}

/** Takes a content piece by piece. */
export interface ContentHash {
  update(bytes: Uint8Array): unknown;
  digest(): ContentDigests;
}

/** What the ids of sources are made with. */
export interface IdentifyPorts {
  readonly captures: CaptureStore;
  readonly ledger: Pick<Ledger, "lookup">;
  readonly sha256: Sha256;
  /** Absent where no content is ever hashed. Folders, whose eTags are hashes already, need it for captures that grew. */
  readonly contentHash?: () => ContentHash;
  /** True where no eTag says anything of the content, as in buckets encrypted by KMS. */
  readonly opaqueETags?: boolean;
}

/** A source with its id, and what else it may be known by. */
export interface IdentifiedSource {
  readonly source: CaptureSource;
  readonly id: SourceId;
  /** Lower-case hex, where the id is made from it instead of the eTag. */
  readonly contentSha256?: string;
  /**
   * Ids under which the same content of the same key may be in the table: by its eTag, if it was uploaded in one part; of a
   * local capture by its path, as older versions named it.
   */
  readonly otherIds: readonly SourceId[];
}

/** Sources that were committed under ids that a look-up of their own ids does not find. */
export interface EarlierSources {
  /** Entries of those that are committed, by the ids that they have now. */
  find(sources: readonly IdentifiedSource[]): Promise<ReadonlyMap<SourceId, CommittedEntry>>;
}

/** A source that could not be read. */
export interface UnidentifiedSource {
  readonly source: CaptureSource;
  /** By its eTag. */
  readonly id: SourceId;
  readonly error: unknown;
}

/**
 * Sources with their ids. Where the eTag does not identify the content (an upload in parts, KMS), the content's SHA-256 stands in its
 * place: S3's own checksum where there is one, else the capture is read once for it. Captures that an older version has committed
 * under the eTag of their parts keep that id. Captures in folders are known by their content wherever they lie. `passes`: those that need no content, because they are rejected by their size.
 */
export async function identifySources(
  sources: readonly CaptureSource[],
  ports: IdentifyPorts,
  passes: (source: CaptureSource) => boolean,
  requireTime: () => void,
): Promise<{ identified: IdentifiedSource[]; unidentified: UnidentifiedSource[] }> {
  const { contentHash, opaqueETags = false } = ports;
  const byETag = (source: CaptureSource) => sourceId(source, ports.sha256);
  const ofParts = sources.filter(({ eTag }) => contentHash !== undefined && !opaqueETags && isOfParts(eTag));
  const known = ofParts.length === 0 ? null : await ports.ledger.lookup(ofParts.map(byETag));
  const identified: IdentifiedSource[] = [];
  const unidentified: UnidentifiedSource[] = [];
  for (const source of sources) {
    if (source.bucket === "") {
      identified.push({ source, id: localSourceId(source, ports.sha256), otherIds: [byETag(source)] });
      continue;
    }
    const id = byETag(source);
    const needsContent = opaqueETags || isOfParts(source.eTag);
    const isOld = known?.get(id)?.status === "committed";
    if (contentHash === undefined || !needsContent || isOld || passes(source)) {
      identified.push({ source, id, otherIds: [] });
      continue;
    }
    try {
      requireTime();
      identified.push(await byContent(source, ports, contentHash(), opaqueETags));
    } catch (error) {
      unidentified.push({ source, id, error });
    }
  }
  return { identified, unidentified };
}

async function byContent(
  source: CaptureSource,
  { captures, sha256 }: IdentifyPorts,
  hash: ContentHash,
  opaqueETags: boolean,
): Promise<IdentifiedSource> {
  const checksum = (await captures.contentSha256?.(source)) ?? null;
  if (checksum !== null) {
    return {
      source,
      id: sourceId({ ...source, eTag: checksum }, sha256),
      contentSha256: checksum,
      otherIds: [],
    };
  }
  for await (const chunk of captures.open(source)) hash.update(chunk);
  const { sha256: contentSha256, md5 } = hash.digest();
  const id = sourceId({ ...source, eTag: contentSha256 }, sha256);
  const otherIds = opaqueETags ? [] : [sourceId({ ...source, eTag: md5 }, sha256)];
  return { source, id, contentSha256, otherIds };
}
