import { RetryableError } from "@deltacap/delta";
import { RejectedError } from "../errors.ts";
import type { Damage } from "./ledger.ts";
import { type DataFile, MAX_SOURCES, type Manifest, type ManifestSource } from "./manifest.ts";

/** File names that converters give: what is outside was not written by one. */
const PATH = /^[A-Za-z0-9_.=-]+(\/[A-Za-z0-9_.=-]+)*$/;
const PATH_LENGTH = 1_024;
const BATCH_ID = /^[A-Za-z0-9_.=-]{1,128}$/;
const SOURCE_ID = /^[0-9a-f]{32}$/;
const SHA256 = /^[0-9a-f]{64}$/;
/** Characters of a text: URLs of files are the longest, and statistics have a bound for each column. */
const TEXT_LENGTH = 65_536;
/** Characters of a value that a message shows. */
const MAX_SHOWN = 80;
const MAX_MILLISECONDS = 8_640_000_000_000_000;
/** A batch has a file a date, split by size. */
const MAX_FILES = 10_000;

/** The manifest as JSON. */
export function serializeManifest(manifest: Manifest): string {
  return JSON.stringify(manifest);
}

/**
 * Reads a manifest that came over a queue, where anybody may have put it. Throws `RejectedError` for one that can never be
 * committed, with the value that is wrong, `RetryableError` for one of a newer format.
 */
export function parseManifest(text: string): Manifest {
  const { manifestVersion, batchId, createdMs, files, sources } = object(
    parsed(text, "manifest"),
    "manifest",
  );
  if (typeof manifestVersion === "number" && manifestVersion > 1) {
    throw new RetryableError(
      `manifest version ${manifestVersion}: this committer reads version 1; deploy the newer one`,
    );
  }
  if (manifestVersion !== 1) {
    throw new RejectedError(`manifest version ${shown(manifestVersion)}: this committer reads version 1`);
  }
  const manifest: Manifest = {
    manifestVersion,
    batchId: matching(batchId, BATCH_ID, "batchId"),
    createdMs: time(createdMs, "createdMs"),
    files: array(files, "files", MAX_FILES).map(parseFile),
    sources: array(sources, "sources", MAX_SOURCES).map(parseSource),
  };
  requireUnique(
    manifest.sources.map((source) => source.id),
    "source",
  );
  requireUnique(
    manifest.files.map((file) => file.path),
    "file",
  );
  return manifest;
}

function parseFile(value: unknown): DataFile {
  const { path, size, partitionValues, rows, stats } = object(value, "file");
  const values = Object.entries(object(partitionValues, "partitionValues"));
  const file: DataFile = {
    path: dataPath(path),
    size: natural(size, "file size"),
    partitionValues: Object.fromEntries(
      // In Delta "" is null: a reader of the log must not meet both.
      values.map(([column, of]) => [column, of === null ? null : string(of, "partition value") || null]),
    ),
    rows: natural(rows, "file rows"),
    stats: string(stats, "file stats"),
  };
  const { numRecords, minValues, maxValues, nullCount } = object(
    parsed(file.stats, "file stats"),
    "file stats",
  );
  requireFlat(minValues, "minValues");
  requireFlat(maxValues, "maxValues");
  requireFlat(nullCount, "nullCount");
  if (numRecords !== file.rows) {
    throw new RejectedError(
      `the manifest says that ${file.path} has ${file.rows} rows, and its statistics that it has ${shown(numRecords)}`,
    );
  }
  return file;
}

/** Statistics of columns that are not nested: texts and numbers. Every reader of the table takes these apart. */
function requireFlat(value: unknown, what: string): void {
  if (value === undefined) return;
  for (const [column, bound] of Object.entries(object(value, `file stats' ${what}`))) {
    if (typeof bound !== "string" && typeof bound !== "number") {
      throw wrong(`file stats' ${what} of ${shown(column)}`, bound);
    }
  }
}

/** Below the table's folder, and visible: engines and this program keep their own things under names with `_` and `.`. */
function dataPath(value: unknown): string {
  const path = matching(value, PATH, "file path");
  const hidden = path.split("/").some((segment) => segment.startsWith("_") || segment.startsWith("."));
  if (path.length > PATH_LENGTH || hidden) throw wrong("file path", path);
  return path;
}

function parseSource(value: unknown): ManifestSource {
  const fields = object(value, "source");
  const {
    id,
    contentSha256,
    capture,
    bucket,
    key,
    versionId,
    eTag,
    size,
    uploadedMs,
    packets,
    damage,
    continues,
  } = fields;
  return {
    id: matching(id, SOURCE_ID, "source id"),
    ...(contentSha256 === undefined
      ? {}
      : { contentSha256: matching(contentSha256, SHA256, "contentSha256") }),
    capture: string(capture, "capture"),
    bucket: string(bucket, "bucket"),
    key: string(key, "key"),
    ...(versionId === undefined ? {} : { versionId: string(versionId, "versionId") }),
    eTag: string(eTag, "eTag"),
    size: natural(size, "source size"),
    ...(uploadedMs === undefined ? {} : { uploadedMs: time(uploadedMs, "uploadedMs") }),
    packets: natural(packets, "packets"),
    ...(damage === undefined ? {} : { damage: parseDamage(damage) }),
    ...(continues === undefined ? {} : { continues: matching(continues, SOURCE_ID, "continued source") }),
  };
}

function parseDamage(value: unknown): Damage {
  const { offset, reason } = object(value, "damage");
  return { offset: natural(offset, "damage offset"), reason: string(reason, "damage reason") };
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RejectedError(`the manifest's ${what} is no JSON: ${shown(text)}`, 0, { cause: error });
  }
}

function object(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(what, value);
  return value as Record<string, unknown>;
}

/** At least one item. */
function array(value: unknown, what: string, limit: number): unknown[] {
  if (!Array.isArray(value)) throw wrong(what, value);
  if (value.length >= 1 && value.length <= limit) return value;
  throw new RejectedError(`the manifest has ${value.length} ${what}: 1 to ${limit} are allowed`);
}

function string(value: unknown, what: string): string {
  if (typeof value !== "string") throw wrong(what, value);
  if (value.length <= TEXT_LENGTH) return value;
  throw new RejectedError(`the manifest's ${what} has ${value.length} characters: at most ${TEXT_LENGTH}`);
}

function matching(value: unknown, pattern: RegExp, what: string): string {
  const text = string(value, what);
  if (!pattern.test(text)) throw wrong(what, value);
  return text;
}

function natural(value: unknown, what: string): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw wrong(what, value);
  return value;
}

/** Milliseconds since 1970 up to the last ones that a date can be made from. */
function time(value: unknown, what: string): number {
  const milliseconds = natural(value, what);
  if (milliseconds > MAX_MILLISECONDS) throw wrong(what, value);
  return milliseconds;
}

function requireUnique(values: readonly string[], what: string): void {
  const seen = new Set<string>();
  for (const value of values) {
    if (seen.has(value)) throw new RejectedError(`the manifest repeats the ${what} ${value}`);
    seen.add(value);
  }
}

function wrong(what: string, value: unknown): RejectedError {
  return new RejectedError(`the manifest's ${what} is ${shown(value)}, which is not allowed there`);
}

/** Short, whatever it is. Not as JSON: what is nested ten thousand deep would overflow the stack. */
function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const text = String(value);
  if (typeof value !== "string") return text;
  return text.length <= MAX_SHOWN ? JSON.stringify(text) : `${JSON.stringify(text.slice(0, MAX_SHOWN))}...`;
}
