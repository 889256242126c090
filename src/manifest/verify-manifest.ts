import { packetTable } from "../packets/packet-table.ts";
import { isCalendarDate, packetFolder, statesPartition } from "../packets/partition-folder.ts";
import type { DataFile, Manifest, ManifestSource } from "./manifest.ts";
import { type Sha256, sourceId } from "./source-id.ts";

/** What a committer expects of manifests: the rules by which its converters take captures. */
export interface ManifestRules {
  /** Buckets that captures may come from. */
  readonly buckets: ReadonlySet<string>;
  /** The table's own folder, which holds no captures. `prefix` without slashes at its ends. */
  readonly table: { readonly bucket: string; readonly prefix: string };
  /**
   * Whether ids are made from the content everywhere (KMS). Manifests of older converters lack the content's hash there, and their ids
   * cannot be made again.
   */
  readonly hashContent: boolean;
  readonly sha256: Sha256;
}

/** As S3 gives them, and safe in a request's header. */
const E_TAG = /^[\x21\x23-\x7e]{1,256}$/;
const VERSION_ID = /^[\x21-\x7e]{1,1024}$/;
/** S3's limit of a key, in bytes of UTF-8. */
const MAX_KEY_BYTES = 1024;
const DAY = 86_400_000;

const utf8 = new TextEncoder();

/**
 * Why a manifest was not written by a converter of this table, or null. Everything that a commit, a deletion or an announcement
 * would rely on is checked again, as if it came from the event itself.
 */
export function manifestProblem(manifest: Manifest, rules: ManifestRules): string | null {
  for (const source of manifest.sources) {
    const problem = sourceProblem(source, rules);
    if (problem !== null) return problem;
  }
  for (const file of manifest.files) {
    const problem = dateProblem(file);
    if (problem !== null) return problem;
  }
  return null;
}

function sourceProblem(source: ManifestSource, rules: ManifestRules): string | null {
  const { id, bucket, key, versionId, eTag, contentSha256, capture } = source;
  if (!rules.buckets.has(bucket)) {
    return `the bucket ${shown(bucket)} is not one that captures may come from (setting captureBuckets)`;
  }
  if (!isKey(key)) return `${shown(key)} is not a key of S3`;
  if (bucket === rules.table.bucket && key.startsWith(`${rules.table.prefix}/`)) {
    return `s3://${bucket}/${key} belongs to the table and is not a capture`;
  }
  if (capture !== `s3://${bucket}/${key}`) {
    return `the capture ${shown(capture)} is not the object s3://${bucket}/${key}`;
  }
  if (!E_TAG.test(eTag)) return `${capture} has the eTag ${shown(eTag)}, which S3 does not give`;
  if (versionId !== undefined && !VERSION_ID.test(versionId)) {
    return `${capture} has the version ${shown(versionId)}, which S3 does not give`;
  }
  if (contentSha256 === undefined && rules.hashContent) return null;
  const expected = sourceId({ ...source, eTag: contentSha256 ?? eTag }, rules.sha256);
  if (id === expected) return null;
  return `${capture} has the source id ${id}, and its bucket, key, ${contentSha256 === undefined ? "eTag" : "content"} and size give ${expected}`;
}

/** The partition value, the folder and the statistics must give one date, and that a date of the calendar. */
function dateProblem({ path, partitionValues, stats }: DataFile): string | null {
  const column = packetTable.partitionColumn;
  if (JSON.stringify(Object.keys(partitionValues)) !== JSON.stringify([column])) {
    return `${path} has partition values for [${Object.keys(partitionValues).join(", ").slice(0, 80)}] and not for ${column} alone`;
  }
  const date = partitionValues[column] ?? null;
  if (date !== null && !isCalendarDate(date)) {
    return `${path} has the ${column} ${shown(date)}, which is not a date as 2026-01-31`;
  }
  if (!statesPartition(path, [column], partitionValues)) {
    return `${path} does not lie in the folder ${packetFolder(date)} of its ${column}`;
  }
  return date === null ? null : boundsProblem(path, date, stats);
}

/** Bounds are rounded to milliseconds, the lower one down and the upper one up: that may be the next day's first. */
function boundsProblem(path: string, date: string, stats: string): string | null {
  const { minValues, maxValues } = JSON.parse(stats) as {
    readonly minValues?: { readonly ts?: unknown };
    readonly maxValues?: { readonly ts?: unknown };
  };
  const begin = Date.parse(`${date}T00:00:00Z`);
  const end = begin + DAY;
  const isWithin = (bound: unknown, last: number) => {
    if (bound === undefined) return true;
    const time = typeof bound === "string" ? Date.parse(bound) : Number.NaN;
    return time >= begin && time <= last;
  };
  if (!isWithin(minValues?.ts, end - 1)) {
    return `the statistics of ${path} begin at ${shown(minValues?.ts)}, which is not on ${date}`;
  }
  if (!isWithin(maxValues?.ts, end)) {
    return `the statistics of ${path} end at ${shown(maxValues?.ts)}, which is not on ${date}`;
  }
  return null;
}

function isKey(key: string): boolean {
  return key !== "" && !/\p{Surrogate}/u.test(key) && utf8.encode(key).length <= MAX_KEY_BYTES;
}

/** Short, and in one line. */
function shown(value: unknown): string {
  const text = String(value);
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
}
