import type { Damage } from "../manifest/ledger.ts";
import type { Manifest } from "../manifest/manifest.ts";
import type { SourceId } from "../manifest/source-id.ts";
import { base64, fromBase64 } from "./base64.ts";

/**
 * Keys of `commitInfo.tags`, by which the log alone tells what was ingested: batch ids as a JSON array, source ids of 16
 * bytes each packed as base64, and where sources were damaged.
 */
const BATCHES = "deltacap.batches";
const SOURCES = "deltacap.sources";
const DAMAGE = "deltacap.damage";

/** Characters of a reason that the log keeps. */
const REASON_LENGTH = 200;

/** What a commit's tags say. */
export interface CommittedSources {
  readonly batchIds: readonly string[];
  readonly sources: readonly { readonly id: SourceId; readonly damage?: Damage }[];
}

export function commitTags(manifests: readonly Manifest[]): Record<string, string> {
  const sources = manifests.flatMap((manifest) => manifest.sources);
  const packed = new Uint8Array(sources.length * 16);
  sources.forEach((source, i) => {
    for (let j = 0; j < 16; j++) packed[i * 16 + j] = Number.parseInt(source.id.slice(2 * j, 2 * j + 2), 16);
  });
  const damage = sources.flatMap((source, i) =>
    source.damage === undefined
      ? []
      : [{ source: i, offset: source.damage.offset, reason: source.damage.reason.slice(0, REASON_LENGTH) }],
  );
  return {
    [BATCHES]: JSON.stringify(manifests.map((manifest) => manifest.batchId)),
    [SOURCES]: base64(packed),
    ...(damage.length === 0 ? {} : { [DAMAGE]: JSON.stringify(damage) }),
  };
}

/** Null for a commit that is not ours. Throws for tags of ours that cannot be read: the log would not be the truth. */
export function readCommitTags(tags: Readonly<Record<string, string>> | undefined): CommittedSources | null {
  const packedText = tags?.[SOURCES];
  if (tags === undefined || packedText === undefined) return null;
  const packed = fromBase64(packedText);
  if (packed.length % 16 !== 0) {
    throw new Error(`tag ${SOURCES} holds ${packed.length} bytes, which is no multiple of 16`);
  }
  const damage = new Map<number, Damage>();
  for (const entry of JSON.parse(tags[DAMAGE] ?? "[]") as {
    source: number;
    offset: number;
    reason: string;
  }[]) {
    damage.set(entry.source, { offset: entry.offset, reason: entry.reason });
  }
  const sources = Array.from({ length: packed.length / 16 }, (_, i) => {
    const id = Array.from(packed.subarray(i * 16, i * 16 + 16), (b) => b.toString(16).padStart(2, "0")).join(
      "",
    );
    const known = damage.get(i);
    return known === undefined ? { id } : { id, damage: known };
  });
  return { batchIds: JSON.parse(tags[BATCHES] ?? "[]") as string[], sources };
}
