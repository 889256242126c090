import type { ObjectStore } from "@deltacap/delta";
import { RetryableError, readAhead } from "@deltacap/delta";
import type { CaptureStore } from "../manifest/capture-store.ts";
import type { DataFile, Manifest, ManifestSource } from "../manifest/manifest.ts";
import type { CaptureQueue } from "../manifest/queues.ts";
import type { SourceId } from "../manifest/source-id.ts";

/** Where the handling of one manifest failed, through no fault of the others. */
export type FailedStep = "ledger" | "files" | "send back";

/** What is to become of a manifest: all of it, or nothing, is added. */
export type Decision = { readonly manifest: Manifest } & (
  | { readonly kind: "add" }
  /** Every source is in the table already. `named`: those whose ledger entry names this very capture. */
  | { readonly kind: "drop"; readonly named: readonly ManifestSource[] }
  /** Of these sources the table has nothing, and the manifest cannot be added: they must be read again. */
  | { readonly kind: "send back"; readonly sources: readonly ManifestSource[]; readonly reason: string }
  /** Can never be added. */
  | { readonly kind: "refuse"; readonly reason: string }
  /** Could not be judged now; retrying may succeed. */
  | { readonly kind: "fail"; readonly step: FailedStep; readonly error: unknown }
);

/** What is wrong with a file of a manifest, or what kept it from being judged. */
export type FileProblem =
  | { readonly kind: "missing"; readonly path: string }
  | { readonly kind: "failed"; readonly step: FailedStep; readonly error: unknown }
  | { readonly kind: "wrong"; readonly reason: string };

/** A source's capture as its ledger entry names it; undefined where the entry was replayed from the log. */
export type KnownSources = ReadonlyMap<SourceId, string | undefined>;

/** Requests to the store at once; a round may have thousands of files. */
const READ_AHEAD = 32;
/** Manifests whose sources are sent back at once. */
const SENT_AT_ONCE = 4;
/** Files that fail before any other passes, after which the store is not asked further: it is out of service. */
const MAX_FAILURES = 32;

/**
 * Decides the manifests of one round in their order, without asking anyone: `known` has every source up to the version that
 * the plan is made against, `problems` those manifests whose files were looked at and found wrong, or that could not be judged.
 */
export function planManifests(
  manifests: readonly Manifest[],
  known: KnownSources,
  problems: ReadonlyMap<Manifest, FileProblem>,
): Decision[] {
  const taken = new Map(known);
  return manifests.map((manifest) => {
    const decision = decide(manifest, taken, problems.get(manifest));
    if (decision.kind === "add") for (const { id, capture } of manifest.sources) taken.set(id, capture);
    return decision;
  });
}

function decide(manifest: Manifest, taken: KnownSources, problem: FileProblem | undefined): Decision {
  if (problem?.kind === "failed") return { ...problem, manifest, kind: "fail" };
  const ids = new Set<SourceId>();
  for (const { id, capture } of manifest.sources) {
    if (ids.has(id)) {
      return { manifest, kind: "refuse", reason: `the manifest repeats the source ${id} (${capture})` };
    }
    ids.add(id);
    const other = taken.get(id);
    if (isOfObject(other) && other !== capture) {
      const reason = `the manifest says that the source ${id} is ${capture}, and the ledger that it is ${other}: one of them is forged`;
      return { manifest, kind: "refuse", reason };
    }
  }
  const sources = manifest.sources.filter(({ id }) => !taken.has(id));
  if (sources.length === 0) {
    const named = manifest.sources.filter(({ id, capture }) => taken.get(id) === capture);
    return { manifest, kind: "drop", named };
  }
  if (sources.length < manifest.sources.length) {
    const others = manifest.sources.length - sources.length;
    const reason = `${others} of its ${manifest.sources.length} sources are in the table already`;
    return { manifest, kind: "send back", sources, reason };
  }
  if (problem === undefined) return { manifest, kind: "add" };
  if (problem.kind === "wrong") return { manifest, kind: "refuse", reason: problem.reason };
  return { manifest, kind: "send back", sources, reason: `${problem.path} is gone` };
}

/** The id of an object in S3 is made from its bucket and key, so that it has one name. A file may have been moved. */
function isOfObject(capture: string | undefined): capture is string {
  return capture?.startsWith("s3://") ?? false;
}

/** What a file must be like, beside there and of the right size; gives the reason why it is not, else null. */
export type FileCheck = (file: DataFile) => Promise<string | null>;

/**
 * Looks at every file of the manifests. Cost: one HEAD a file, and what `check` costs. A file that is not there outweighs one
 * that is wrong: its sources can be read again. A file that cannot be looked at costs its own manifest only.
 */
export async function findFileProblems(
  manifests: readonly Manifest[],
  table: ObjectStore,
  partitionColumns: readonly string[],
  check: FileCheck = async () => null,
): Promise<Map<Manifest, FileProblem>> {
  const files = manifests.flatMap((manifest) => manifest.files.map((file) => ({ manifest, file })));
  const problems = new Map<Manifest, FileProblem>();
  let looked = 0;
  const failures: FileProblem[] = [];
  const look = async (file: DataFile): Promise<FileProblem | null> => {
    if (looked === 0 && failures.length >= MAX_FAILURES) return failures[0]!;
    try {
      const problem = await fileProblem(file, table, partitionColumns, check);
      looked++;
      return problem;
    } catch (error) {
      const failure: FileProblem = { kind: "failed", step: "files", error };
      failures.push(failure);
      return failure;
    }
  };
  const lookAt = async ({ manifest, file }: { manifest: Manifest; file: DataFile }) => ({
    manifest,
    problem: await look(file),
  });
  for await (const { manifest, problem } of readAhead(files, READ_AHEAD, lookAt)) {
    if (problem !== null && weight(problem) > weight(problems.get(manifest))) problems.set(manifest, problem);
  }
  return problems;
}

function weight(problem: FileProblem | undefined): number {
  return problem === undefined ? 0 : { wrong: 1, failed: 2, missing: 3 }[problem.kind];
}

async function fileProblem(
  file: DataFile,
  table: ObjectStore,
  partitionColumns: readonly string[],
  check: FileCheck,
): Promise<FileProblem | null> {
  const size = await confirmedSize(file, table);
  if (size === null) return { kind: "missing", path: file.path };
  const reason =
    size === file.size
      ? (partitionProblem(file, partitionColumns) ?? (await check(file)))
      : `${file.path} has ${size} bytes, and the manifest says ${file.size}`;
  return reason === null ? null : { kind: "wrong", reason };
}

/**
 * The file's size, null where it is missing. Another size than the manifest's, or none, decides over the manifest: it counts only
 * when a second HEAD gives the same.
 */
async function confirmedSize(file: DataFile, table: ObjectStore): Promise<number | null> {
  const first = (await table.head(file.path))?.size ?? null;
  if (first === file.size) return first;
  const second = (await table.head(file.path))?.size ?? null;
  if (second === first) return first;
  const shown = (size: number | null) => (size === null ? "nothing" : `${size} bytes`);
  throw new RetryableError(
    `two HEAD requests for ${file.path} disagree: ${shown(first)}, then ${shown(second)}; it is tried again by the next run`,
  );
}

function partitionProblem(file: DataFile, partitionColumns: readonly string[]): string | null {
  const columns = Object.keys(file.partitionValues);
  const matches =
    columns.length === partitionColumns.length &&
    partitionColumns.every((column) => columns.includes(column));
  return matches
    ? null
    : `${file.path} has partition values for [${columns}], and the table is partitioned by [${partitionColumns}]`;
}

/**
 * Announces the sources of those manifests that are to be sent back. Only sources whose raw object is still there can be read
 * again. A manifest with one that is gone is refused instead: its files are all that is left of that capture.
 *
 * Returns what became of each manifest, in order. A request that fails costs its own manifest only.
 */
export async function sendBackSources(
  decisions: readonly Decision[],
  captures: Pick<CaptureStore, "exists">,
  queue: CaptureQueue,
): Promise<Decision[]> {
  const settled: Decision[] = [];
  const settle = async (decision: Decision): Promise<Decision> => {
    if (decision.kind !== "send back") return decision;
    try {
      return await sentBack(decision, captures, queue);
    } catch (error) {
      return { manifest: decision.manifest, kind: "fail", step: "send back", error };
    }
  };
  for await (const decision of readAhead(decisions, SENT_AT_ONCE, settle)) settled.push(decision);
  return settled;
}

async function sentBack(
  decision: Decision & { kind: "send back" },
  captures: Pick<CaptureStore, "exists">,
  queue: CaptureQueue,
): Promise<Decision> {
  const gone: ManifestSource[] = [];
  const look = async (source: ManifestSource) => ({ source, there: await captures.exists(source) });
  for await (const { source, there } of readAhead(decision.sources, READ_AHEAD, look)) {
    if (!there) gone.push(source);
  }
  const lost = gone[0];
  if (lost !== undefined) {
    const reason = `${decision.reason}, and ${lost.capture} is gone too and cannot be read again. Its rows are only in the files of this batch. Keep the files, do not add them to the table: append those rows whose source_id the table lacks, as the runbook's section manifest-dead-letters shows`;
    return { manifest: decision.manifest, kind: "refuse", reason };
  }
  await queue.send(decision.sources);
  return decision;
}
