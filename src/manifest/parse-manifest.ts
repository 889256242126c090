import { RejectedError } from "../errors.ts";
import { type DataFile, MAX_SOURCES, type Manifest, type ManifestSource } from "./manifest.ts";

/** File names that converters give: what is outside was not written by one. */
const PATH = /^[A-Za-z0-9_.=-]+(\/[A-Za-z0-9_.=-]+)*$/;
const BATCH_ID = /^[A-Za-z0-9_.=-]{1,128}$/;
const SOURCE_ID = /^[0-9a-f]{32}$/;

/** The manifest as JSON. */
export function serializeManifest(manifest: Manifest): string {
  return JSON.stringify(manifest);
}

/** Reads a manifest that came over a queue. Throws `RejectedError` for one that can never be committed, saying why. */
export function parseManifest(text: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RejectedError(`the manifest is no JSON: ${text.slice(0, 80)}`, 0, { cause: error });
  }
  const manifest = object(value, "manifest");
  if (manifest["manifestVersion"] !== 1) {
    throw new RejectedError(
      `manifest version ${String(manifest["manifestVersion"])}: this committer reads version 1`,
    );
  }
  const files = array(manifest["files"], "files").map(parseFile);
  const sources = array(manifest["sources"], "sources").map(parseSource);
  if (sources.length === 0 || sources.length > MAX_SOURCES) {
    throw new RejectedError(`the manifest has ${sources.length} sources: 1 to ${MAX_SOURCES} are allowed`);
  }
  if (files.length === 0) throw new RejectedError("the manifest has sources, but no files");
  requireUnique(
    sources.map((source) => source.id),
    "source",
  );
  requireUnique(
    files.map((file) => file.path),
    "file",
  );
  return {
    manifestVersion: 1,
    batchId: matching(manifest["batchId"], BATCH_ID, "batchId"),
    createdMs: natural(manifest["createdMs"], "createdMs"),
    files,
    sources,
  };
}

function parseFile(value: unknown): DataFile {
  const file = object(value, "file");
  const path = matching(file["path"], PATH, "file path");
  if (path.split("/").some((segment) => segment === "." || segment === "..") || path.startsWith("_")) {
    throw new RejectedError(`the manifest names the file ${path}, which is no data file's path`);
  }
  const partitionValues: Record<string, string | null> = {};
  for (const [column, partition] of Object.entries(object(file["partitionValues"], "partitionValues"))) {
    partitionValues[column] = partition === null ? null : string(partition, "partition value");
  }
  return {
    path,
    size: natural(file["size"], "file size"),
    partitionValues,
    rows: natural(file["rows"], "file rows"),
    stats: string(file["stats"], "file stats"),
  };
}

function parseSource(value: unknown): ManifestSource {
  const source = object(value, "source");
  const damage = source["damage"] === undefined ? null : object(source["damage"], "damage");
  return {
    id: matching(source["id"], SOURCE_ID, "source id"),
    capture: string(source["capture"], "capture"),
    bucket: string(source["bucket"], "bucket"),
    key: string(source["key"], "key"),
    ...(source["versionId"] === undefined ? {} : { versionId: string(source["versionId"], "versionId") }),
    eTag: string(source["eTag"], "eTag"),
    size: natural(source["size"], "source size"),
    packets: natural(source["packets"], "packets"),
    ...(damage === null
      ? {}
      : {
          damage: {
            offset: natural(damage["offset"], "damage offset"),
            reason: string(damage["reason"], "damage reason"),
          },
        }),
  };
}

function object(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(what, value);
  return value as Record<string, unknown>;
}

function array(value: unknown, what: string): unknown[] {
  if (!Array.isArray(value)) throw wrong(what, value);
  return value;
}

function string(value: unknown, what: string): string {
  if (typeof value !== "string") throw wrong(what, value);
  return value;
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

function requireUnique(values: readonly string[], what: string): void {
  const seen = new Set<string>();
  for (const value of values) {
    if (seen.has(value)) throw new RejectedError(`the manifest repeats the ${what} ${value}`);
    seen.add(value);
  }
}

function wrong(what: string, value: unknown): RejectedError {
  const shown = JSON.stringify(value)?.slice(0, 80) ?? "nothing";
  return new RejectedError(`the manifest's ${what} is ${shown}, which is not allowed there`);
}
