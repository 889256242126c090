import type { LogStore } from "@deltacap/delta";
import { objectPath, readCommit, TableRefusedError } from "@deltacap/delta";
import { type CaptureObject, captureUri } from "../../src/aws/capture-objects.ts";
import { deployedLedger, deployedTable } from "../../src/aws/deployed-table.ts";
import { S3CaptureStore } from "../../src/aws/s3-capture-store.ts";
import { findSources } from "../../src/commit/find-sources.ts";
import { identifySources } from "../../src/ingest/identify-sources.ts";
import type { AsideEntry, LedgerEntry, UnfinishedEntry } from "../../src/manifest/ledger.ts";
import { isOfParts, type SourceId } from "../../src/manifest/source-id.ts";
import { contentHash, sha256 } from "../../src/node/hash.ts";
import { UsageError } from "../terminal/command.ts";
import type { DeployedStack } from "./stack.ts";

const DAY = 86_400_000;

/** What became of a source, as ledger and log tell it. */
export type SourceFate =
  | (Omit<LedgerEntry & { readonly status: "committed" }, "batchId" | "forgottenIn" | "continues"> &
      CommittedFiles)
  | Exclude<AsideEntry, UnfinishedEntry>
  | { readonly status: "unknown"; readonly advice: string };

interface CommittedFiles {
  readonly batch_id?: string;
  /** A source in the table that this one begins with, so that its packets are there twice. */
  readonly continues?: SourceId;
  /** Version in which its vehicle was forgotten. */
  readonly forgotten_in?: number;
  /** Where it was found. */
  readonly told_by: "ledger" | "log";
  /** ISO 8601; null where the log no longer has the commit. */
  readonly committed: string | null;
  /** Files that its batch added in that version, relative to the table: those of the whole commit where the batch is not known. */
  readonly files: readonly string[];
}

/** Bucket and key of `s3://bucket/key`. Throws `UsageError` for what is none. `what` names the argument. */
export function objectUri(uri: string, what: string): { readonly bucket: string; readonly key: string } {
  const match = /^s3a?:\/\/([^/]+)\/?(.*)$/s.exec(uri);
  if (match === null) throw new UsageError(`${uri}: ${what} as s3://bucket/key is expected`);
  return { bucket: match[1] ?? "", key: match[2] ?? "" };
}

/** Throws `UsageError` for a bucket whose captures the converter would refuse. */
export function requireCaptureBucket({ name, settings }: DeployedStack, bucket: string): void {
  if (settings.captureBuckets.includes(bucket)) return;
  throw new UsageError(
    `the stack ${name} takes captures from ${settings.captureBuckets.map((known) => `s3://${known}`).join(", ")}, and not from s3://${bucket}`,
  );
}

/** Whether the object's id comes from its content: its eTag is one of KMS, or of an upload in parts. */
export function isKnownByContent({ settings }: DeployedStack, { eTag }: CaptureObject): boolean {
  return settings.hashContent || isOfParts(eTag);
}

/**
 * The object version's id, as the converter makes it. Reads the whole object where the id comes from its content and S3 keeps no
 * SHA-256 of it. Throws what reading throws.
 */
export async function idOf(stack: DeployedStack, object: CaptureObject): Promise<SourceId> {
  const { settings, clients } = stack;
  const source = { ...object, capture: captureUri(object), vehicleId: null };
  const ledger = deployedLedger(clients, settings);
  const ports = { ledger, captures: new S3CaptureStore(clients.s3), sha256, contentHash };
  const { identified, unidentified } = await identifySources(
    [source],
    { ...ports, opaqueETags: settings.hashContent },
    () => false,
    () => {},
  );
  const [found] = identified;
  if (found === undefined) throw unidentified[0]?.error;
  if (found.otherIds.length === 0) return found.id;
  // The same content may be in the table from an upload in one part.
  const known = await ledger.lookup([found.id, ...found.otherIds]);
  const ids = [found.id, ...found.otherIds];
  return ids.find((id) => known.get(id)?.status === "committed") ?? found.id;
}

/** Whether the ledger may have forgotten what was uploaded then. */
export function isBeyondLedger({ settings, now }: DeployedStack, uploadedMs: number): boolean {
  return uploadedMs < now() - settings.ledgerDays * DAY;
}

/**
 * What became of a source: the ledger's word, and the log's where the ledger may have forgotten it. `uploadedMs` is null where that
 * is not known. Cost: two requests; beyond the ledger's horizon every commit of the log is read.
 */
export async function fateOf(
  stack: DeployedStack,
  id: SourceId,
  uploadedMs: number | null,
): Promise<SourceFate> {
  const { log } = deployedTable(stack.clients, stack.settings);
  const entry = (await deployedLedger(stack.clients, stack.settings).lookup([id])).get(id);
  if (entry?.status === "committed") {
    const { batchId, forgottenIn, ...facts } = entry;
    return {
      ...facts,
      ...(forgottenIn === undefined ? {} : { forgotten_in: forgottenIn }),
      told_by: "ledger",
      ...(await filesOf(log, entry.version, batchId)),
    };
  }
  if (entry !== undefined && entry.status !== "unfinished") return entry;
  if (uploadedMs !== null && !isBeyondLedger(stack, uploadedMs)) return { status: "unknown", advice: ADVICE };
  const { versions, complete } = await findSources(log, new Set([id]));
  const version = versions.get(id);
  if (version !== undefined)
    return { status: "committed", version, told_by: "log", ...(await filesOf(log, version)) };
  return { status: "unknown", advice: complete ? ADVICE : FORGOTTEN };
}

const ADVICE =
  'not in the table: it waits in a queue (deltacap status), was given up (deltacap retry --dead-letters), or was never announced ("deltacap retry CAPTURE" does)';
const FORGOTTEN =
  "not known: it is older than the ledger remembers, and the log's first commits are gone. Look in the table: select count(*) from packets where capture = '...'";

async function filesOf(
  log: LogStore,
  version: number,
  batchId?: string,
): Promise<Omit<CommittedFiles, "told_by">> {
  try {
    const actions = await readCommit(log, version);
    const timestamp = actions.find(({ commitInfo }) => commitInfo !== undefined)?.commitInfo?.timestamp;
    const paths = actions.flatMap(({ add }) => (add === undefined ? [] : [objectPath(add.path)]));
    const ofBatch = batchId === undefined ? [] : paths.filter((path) => path.includes(batchId));
    return {
      ...(batchId === undefined ? {} : { batch_id: batchId }),
      committed: timestamp === undefined ? null : new Date(timestamp).toISOString(),
      files: ofBatch.length > 0 ? ofBatch : paths,
    };
  } catch (error) {
    // Cleaned up by another engine, as tables' properties allow.
    if (error instanceof TableRefusedError) return { committed: null, files: [] };
    throw error;
  }
}
