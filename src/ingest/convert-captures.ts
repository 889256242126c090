import type {
  CaptureEnd,
  DecodeSettings,
  DecompressionLimits,
  Decompressors,
  RecordSink,
} from "@deltacap/capture";
import { PacketDecoder, readCapture } from "@deltacap/capture";
import type { ObjectStore } from "@deltacap/delta";
import { deltaStatistics, RetryableError } from "@deltacap/delta";
import type { ParquetWriterFactory } from "@deltacap/parquet";
import { compareUtf8 } from "@deltacap/parquet";
import type { CaptureSource } from "../manifest/capture-store.ts";
import type { AsideEntry, CommittedEntry, Ledger, LedgerEntry } from "../manifest/ledger.ts";
import type { DataFile, Manifest, ManifestSource } from "../manifest/manifest.ts";
import { MAX_SOURCES } from "../manifest/manifest.ts";
import type { Sha256, SourceId } from "../manifest/source-id.ts";
import { DateCounts } from "../packets/date-counts.ts";
import { dayOf, type PacketFileLimits, PacketFiles, TooManyDatesError } from "../packets/packet-files.ts";
import { CaptureReadAhead, type ReadAheadLimits } from "./capture-read-ahead.ts";
import { type CaptureResult, failureOf, resultOf, withUndated } from "./capture-result.ts";
import {
  type EarlierSources,
  type IdentifiedSource,
  type IdentifyPorts,
  identifySources,
} from "./identify-sources.ts";
import { UnfinishedCaptures, unfinishedNote } from "./unfinished-captures.ts";

/** What the converter reaches the world through. */
export interface ConverterPorts extends IdentifyPorts {
  readonly table: ObjectStore;
  readonly ledger: Ledger;
  /** Present where older versions made ids in another way, as in folders. */
  readonly earlier?: EarlierSources;
  readonly decompressors: Decompressors;
  readonly parquet: ParquetWriterFactory;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A fresh unpredictable id, of `[A-Za-z0-9_.=-]` only. */
  readonly newBatchId: () => string;
  /** True when no time is left: captures not yet converted are given up, to be tried again. */
  readonly expired?: () => boolean;
  /** Called when it is known what became of a capture: for progress, before the batch is complete. */
  readonly onCapture?: (result: CaptureResult) => void;
}

/** What a capture and a batch may cost. */
export interface ConverterLimits extends PacketFileLimits, DecompressionLimits {
  /** Bytes of an object, compressed as it may be; a larger one is rejected. */
  readonly captureBytes: number;
  readonly readAhead: ReadAheadLimits;
  /** Ports of SOME/IP and DoIP, where they are not the standards' own. */
  readonly ports?: Partial<DecodeSettings> | undefined;
}

/** What a batch of captures became. */
export interface ConversionOutcome {
  /** One result a given source, in the order of conversion. */
  readonly results: readonly CaptureResult[];
  /** Null when no capture gave a row. The files it names are put. */
  readonly manifest: Manifest | null;
}

/**
 * The first use case: captures in, Parquet files and one manifest out. Sources already committed are left
 * out; one bad capture costs only itself. What is rejected or empty is noted in the ledger.
 *
 * Memory is bounded by `limits`, whatever the captures hold. Throws `RetryableError` when the table's store or the ledger
 * fails: then nothing was announced, and files that were put are never referred to.
 */
export async function convertCaptures(
  sources: readonly CaptureSource[],
  ports: ConverterPorts,
  limits: ConverterLimits,
): Promise<ConversionOutcome> {
  if (sources.length > MAX_SOURCES) {
    throw new Error(`${sources.length} captures in one batch: at most ${MAX_SOURCES} fit into a manifest`);
  }
  const results: CaptureResult[] = [];
  const report = (result: CaptureResult) => {
    results.push(result);
    ports.onCapture?.(result);
  };
  const { identified, unidentified } = await identifySources(
    sources,
    ports,
    ({ size }) => size > limits.captureBytes,
    () => requireTime(ports),
  );
  for (const { source, id, error } of unidentified) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    report({ source, id, ...failure });
  }
  const fresh = await withoutDuplicates(identified, ports, report);
  const unfinished = await UnfinishedCaptures.of(fresh, ports);
  const batchId = ports.newBatchId();
  const files = new PacketFiles({
    batchId,
    limits,
    parquet: ports.parquet,
    create: (path) => ports.table.create(path),
    hashSeed: hashSeed(batchId, ports.sha256),
  });
  const captures = new CaptureReadAhead(
    ports.captures,
    fresh.map(({ source }) => source),
    limits.readAhead,
  );
  try {
    const converted = new Set<SourceId>();
    for (const item of fresh) {
      const { source, id, otherIds } = item;
      const isKnown = otherIds.some((other) => converted.has(other));
      const result: CaptureResult = isKnown
        ? { source, id, outcome: "duplicate" }
        : await convertCapture(item, { captures, unfinished, files }, ports, limits);
      if (result.outcome === "converted") converted.add(id);
      report(result);
    }
    const written = await files.finish();
    await setAside(results, identified, ports);
    const dataFiles = written.map(
      (file): DataFile => ({
        path: file.path,
        size: file.size,
        partitionValues: { date: file.date },
        rows: file.rows,
        stats: deltaStatistics(file.rows, file.statistics),
      }),
    );
    return { results, manifest: manifestOf(batchId, ports.now(), dataFiles, results, identified) };
  } catch (error) {
    await files.abort();
    throw error;
  }
}

function requireTime({ expired }: ConverterPorts): void {
  if (expired?.())
    throw new RetryableError("no time was left for it; it is tried again by its next delivery");
}

/** Sources to convert, each once, in the order in which their rows shall lie in the files: by vehicle, then capture. */
async function withoutDuplicates(
  identified: readonly IdentifiedSource[],
  ports: ConverterPorts,
  report: (result: CaptureResult) => void,
): Promise<IdentifiedSource[]> {
  const unique = new Map<SourceId, IdentifiedSource>();
  const repeated: { readonly item: IdentifiedSource; readonly sameAs: string }[] = [];
  for (const item of identified) {
    const first = unique.get(item.id);
    if (first === undefined) unique.set(item.id, item);
    else {
      unique.set(item.id, { ...first, otherIds: [...new Set([...first.otherIds, ...item.otherIds])] });
      repeated.push({ item, sameAs: first.source.capture });
    }
  }
  const items = [...unique.values()];
  const known = await committedSources(items, ports);
  for (const { source, id } of items) {
    const entry = known.get(id);
    if (entry !== undefined) report({ source, id, outcome: "duplicate", known: entry });
  }
  for (const { item, sameAs } of repeated) {
    const { source, id } = item;
    const entry = known.get(id);
    report({ source, id, outcome: "duplicate", ...(entry === undefined ? { sameAs } : { known: entry }) });
  }
  return items
    .filter(({ id }) => !known.has(id))
    .sort(
      (a, b) =>
        compareUtf8(a.source.vehicleId ?? "", b.source.vehicleId ?? "") ||
        compareUtf8(a.source.capture, b.source.capture) ||
        // What may be known by the id of another comes after it.
        a.otherIds.length - b.otherIds.length,
    );
}

/** Entries of the sources that are in the table, under whichever id. */
async function committedSources(
  items: readonly IdentifiedSource[],
  { ledger, earlier }: ConverterPorts,
): Promise<Map<SourceId, CommittedEntry>> {
  const entries = await ledger.lookup(items.flatMap(({ id, otherIds }) => [id, ...otherIds]));
  const committed = new Map<SourceId, CommittedEntry>();
  for (const { id, otherIds } of items) {
    const entry = [id, ...otherIds].map((each) => entries.get(each)).find(isCommitted);
    if (entry !== undefined) committed.set(id, entry);
  }
  const others = items.filter(({ id }) => !isCommitted(entries.get(id)));
  if (earlier === undefined || others.length === 0) return committed;
  for (const [id, entry] of await earlier.find(others)) committed.set(id, entry);
  return committed;
}

function isCommitted(entry: LedgerEntry | undefined): entry is CommittedEntry {
  return entry?.status === "committed";
}

interface Batch {
  readonly captures: CaptureReadAhead;
  readonly unfinished: UnfinishedCaptures;
  readonly files: PacketFiles;
}

async function convertCapture(
  { source, id }: IdentifiedSource,
  { captures, unfinished, files }: Batch,
  ports: ConverterPorts,
  limits: ConverterLimits,
): Promise<CaptureResult> {
  if (source.size > limits.captureBytes) {
    const reason = `${source.size} bytes: a capture may have ${limits.captureBytes} (setting captureBytes)`;
    return { source, id, outcome: "rejected", reason, offset: 0 };
  }
  const columns = {
    capture: source.capture,
    sourceId: id,
    vehicleId: source.vehicleId,
    ingestedMs: ports.now(),
  };
  files.begin(columns);
  let tableError: unknown;
  const makeRoom = async () => {
    if (!files.full) return;
    try {
      await files.makeRoom();
    } catch (error) {
      // The table's store failed, not this capture: the whole batch ends.
      tableError = error;
      throw error;
    }
  };
  const append: RecordSink = (record) => files.append(record);
  let end: CaptureEnd;
  let counts: DateCounts | null = null;
  try {
    try {
      end = await readRows(unfinished.read(id, captures.open(source)), append, ports, limits, makeRoom);
    } catch (error) {
      if (!(error instanceof TooManyDatesError)) throw error;
      // Which dates are right shows only at the end: it is read once to count them, and once more for its rows.
      await files.takeBack();
      counts = await countDates(source, ports, limits);
      files.begin(columns, counts.kept(limits.datesPerCapture));
      end = await readRows(ports.captures.open(source), append, ports, limits, makeRoom);
    }
  } catch (error) {
    const failure = tableError === undefined ? failureOf(error) : null;
    if (failure === null) throw error;
    await files.takeBack();
    return { source, id, ...failure };
  }
  // Outside of the capture's own errors: when the table's store fails here, the whole batch ends.
  if (end.kind !== "rejected" && end.packets > 0) await files.keep();
  else await files.takeBack();
  const result = withUndated(resultOf(end), files.undated, counts?.minRows, limits.datesPerCapture);
  const continues = unfinished.continuedBy(id);
  if (result.outcome !== "converted" || continues === null) return { source, id, ...result };
  return { source, id, ...result, continues };
}

async function countDates(
  source: CaptureSource,
  ports: ConverterPorts,
  limits: ConverterLimits,
): Promise<DateCounts> {
  const counts = new DateCounts();
  const sink: RecordSink = (record) => {
    if (record.hasTime) counts.add(dayOf(record));
  };
  await readRows(ports.captures.open(source), sink, ports, limits);
  return counts;
}

/** Reads and decodes a whole capture; each of its rows goes to `sink`. */
async function readRows(
  chunks: AsyncIterable<Uint8Array>,
  sink: RecordSink,
  ports: ConverterPorts,
  limits: ConverterLimits,
  makeRoom: () => Promise<void> = async () => {},
): Promise<CaptureEnd> {
  requireTime(ports);
  const decoder = new PacketDecoder(sink, limits.ports);
  const pause = async () => {
    requireTime(ports);
    await makeRoom();
  };
  return await readCapture(chunks, ports.decompressors, (frame) => decoder.decode(frame), limits, pause);
}

/** Notes in the ledger what will never give a row, and what ended early. */
async function setAside(
  results: readonly CaptureResult[],
  identified: readonly IdentifiedSource[],
  { ledger, sha256 }: ConverterPorts,
): Promise<void> {
  const items = new Map(identified.map((item) => [item.id, item]));
  const entries = new Map<SourceId, AsideEntry>();
  for (const result of results) {
    const { capture } = result.source;
    if (result.outcome === "empty") entries.set(result.id, { status: "empty", capture });
    else if (result.outcome === "rejected") {
      entries.set(result.id, { status: "rejected", capture, reason: result.reason, offset: result.offset });
    } else if (result.outcome === "converted" && result.damage !== undefined) {
      const item = items.get(result.id);
      if (item !== undefined) entries.set(...unfinishedNote(item, sha256));
    }
  }
  if (entries.size > 0) await ledger.putSetAside(entries);
}

function manifestOf(
  batchId: string,
  createdMs: number,
  files: readonly DataFile[],
  results: readonly CaptureResult[],
  identified: readonly IdentifiedSource[],
): Manifest | null {
  const contents = new Map(identified.map(({ id, contentSha256 }) => [id, contentSha256]));
  const sources: ManifestSource[] = [];
  for (const result of results) {
    if (result.outcome !== "converted") continue;
    const { capture, bucket, key, versionId, eTag, size, uploadedMs } = result.source;
    const contentSha256 = contents.get(result.id);
    sources.push({
      id: result.id,
      ...(contentSha256 === undefined ? {} : { contentSha256 }),
      capture,
      bucket,
      key,
      ...(versionId === undefined ? {} : { versionId }),
      eTag,
      size,
      ...(uploadedMs === undefined ? {} : { uploadedMs }),
      packets: result.packets,
      ...(result.damage === undefined ? {} : { damage: result.damage }),
      ...(result.continues === undefined ? {} : { continues: result.continues }),
    });
  }
  return sources.length === 0 ? null : { manifestVersion: 1, batchId, createdMs, files, sources };
}

const utf8 = new TextEncoder();

/** 32 bits nobody can know before the batch exists, since the batch id is unpredictable. */
function hashSeed(batchId: string, sha256: Sha256): number {
  const digest = sha256(utf8.encode(batchId));
  return new DataView(digest.buffer, digest.byteOffset).getInt32(0);
}
