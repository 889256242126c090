import { base64, fromBase64, TableRefusedError } from "@deltacap/delta";
import type { Damage } from "../manifest/ledger.ts";
import type { Manifest } from "../manifest/manifest.ts";
import { hex, isSourceId, type SourceId } from "../manifest/source-id.ts";

/**
 * Keys of `commitInfo.tags`, by which the log alone tells what was ingested: batch ids as a JSON array, source ids of 16
 * bytes each packed as base64, and where sources were damaged.
 */
const BATCHES = "deltacap.batches";
const SOURCES = "deltacap.sources";
const DAMAGE = "deltacap.damage";
/** Source ids, packed, whose rows a commit removed because their vehicle was forgotten. */
const FORGOTTEN = "deltacap.forgotten";
/** "content" where the ids are made from contents alone, as of captures in folders. Older versions made them from paths. */
const IDS = "deltacap.ids";

const ID_BYTES = 16;
/** Characters of a reason that the log keeps. */
const REASON_LENGTH = 200;

/** What a commit's tags say. */
export interface CommittedSources {
  readonly batchIds: readonly string[];
  readonly sources: readonly { readonly id: SourceId; readonly damage?: Damage }[];
  readonly byContent: boolean;
}

/** Returns the tags that name the manifests' batches and sources in `commitInfo`, for {@link readCommitTags}. */
export function commitTags(manifests: readonly Manifest[]): Record<string, string> {
  const sources = manifests.flatMap((manifest) => manifest.sources);
  const damage = sources.flatMap((source, i) =>
    source.damage === undefined
      ? []
      : [{ source: i, offset: source.damage.offset, reason: source.damage.reason.slice(0, REASON_LENGTH) }],
  );
  return {
    [BATCHES]: JSON.stringify(manifests.map((manifest) => manifest.batchId)),
    [SOURCES]: pack(sources.map(({ id }) => id)),
    ...(damage.length === 0 ? {} : { [DAMAGE]: JSON.stringify(damage) }),
    ...(sources.length > 0 && sources.every(({ bucket }) => bucket === "") ? { [IDS]: "content" } : {}),
  };
}

/**
 * Null for a commit that is not ours. Throws `TableRefusedError` for tags of ours that cannot be read: which sources that
 * commit added would not be known.
 */
export function readCommitTags(tags: Readonly<Record<string, unknown>> | undefined): CommittedSources | null {
  const packedText = tags?.[SOURCES];
  if (tags === undefined || packedText === undefined) return null;
  const damage = new Map<number, Damage>();
  for (const entry of jsonArray(tags, DAMAGE)) {
    if (!isDamage(entry)) throw unreadable(DAMAGE, "holds something else than source, offset and reason");
    damage.set(entry.source, { offset: entry.offset, reason: entry.reason });
  }
  const batchIds = jsonArray(tags, BATCHES);
  if (!batchIds.every((id) => typeof id === "string")) throw unreadable(BATCHES, "is no list of texts");
  const sources = unpack(SOURCES, packedText).map((id, i) => {
    const known = damage.get(i);
    return known === undefined ? { id } : { id, damage: known };
  });
  return { batchIds, sources, byContent: tags[IDS] === "content" };
}

/** Tags of a commit that removed the rows of these sources for good. What is no id, as in another writer's rows, is left out. */
export function forgottenTags(sources: readonly string[]): Record<string, string> {
  const ids = sources.filter(isSourceId);
  return ids.length === 0 ? {} : { [FORGOTTEN]: pack(ids) };
}

/** Sources that the commit forgot. Throws `TableRefusedError` where the tag cannot be read. */
export function readForgotten(tags: Readonly<Record<string, unknown>> | undefined): SourceId[] {
  const text = tags?.[FORGOTTEN];
  return text === undefined ? [] : unpack(FORGOTTEN, text);
}

function isDamage(entry: unknown): entry is Damage & { source: number } {
  if (typeof entry !== "object" || entry === null) return false;
  const { source, offset, reason } = entry as Readonly<Record<string, unknown>>;
  return Number.isSafeInteger(source) && Number.isSafeInteger(offset) && typeof reason === "string";
}

function pack(ids: readonly SourceId[]): string {
  const packed = new Uint8Array(ids.length * ID_BYTES);
  ids.forEach((id, i) => {
    for (let j = 0; j < ID_BYTES; j++) {
      packed[i * ID_BYTES + j] = 16 * digit(id.charCodeAt(2 * j)) + digit(id.charCodeAt(2 * j + 1));
    }
  });
  return base64(packed);
}

function unpack(tag: string, text: unknown): SourceId[] {
  if (typeof text !== "string") throw unreadable(tag, "is no text");
  let packed: Uint8Array;
  try {
    packed = fromBase64(text);
  } catch (error) {
    throw unreadable(tag, "is no base64", error);
  }
  if (packed.length % ID_BYTES !== 0) {
    throw unreadable(tag, `holds ${packed.length} bytes, which is no multiple of ${ID_BYTES}`);
  }
  return Array.from({ length: packed.length / ID_BYTES }, (_, i) =>
    hex(packed.subarray(i * ID_BYTES, (i + 1) * ID_BYTES)),
  );
}

function jsonArray(tags: Readonly<Record<string, unknown>>, tag: string): unknown[] {
  const text = tags[tag] ?? "[]";
  if (typeof text !== "string") throw unreadable(tag, "is no text");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unreadable(tag, "is no JSON", error);
  }
  if (!Array.isArray(value)) throw unreadable(tag, "is no JSON array");
  return value;
}

function unreadable(tag: string, problem: string, cause?: unknown): TableRefusedError {
  return new TableRefusedError(
    `a commit's tag ${tag} ${problem}: what the commit added is not known. Nothing was written`,
    { cause },
  );
}

/** Value of a lower-case hex digit. */
function digit(char: number): number {
  return char < 0x3a ? char - 0x30 : char - 0x57;
}
