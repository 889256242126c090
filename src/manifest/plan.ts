import type { CaptureStore } from "../capture/capture-store.ts";
import { RetryableError } from "../errors.ts";
import type { DataFile, Manifest, ManifestSource } from "./manifest.ts";
import type { ObjectStore } from "./object-store.ts";
import { readAhead } from "./read-ahead.ts";
import type { SourceId } from "./source-id.ts";

/** What is to become of a manifest: all of it, or nothing, is added. */
export type Decision = { readonly manifest: Manifest } & (
  | { readonly kind: "add" }
  /** Every source is in the table already. */
  | { readonly kind: "drop" }
  /** Of these sources the table has nothing, and the manifest cannot be added: they must be read again. */
  | { readonly kind: "send back"; readonly sources: readonly ManifestSource[]; readonly reason: string }
  /** Can never be added. */
  | { readonly kind: "refuse"; readonly reason: string }
);

/** What is wrong with a file of a manifest. */
export type FileProblem =
  | { readonly kind: "missing"; readonly path: string }
  | { readonly kind: "wrong"; readonly reason: string };

/** Requests to the store at once; a round may have thousands of files. */
const READ_AHEAD = 32;

/**
 * Decides the manifests of one round in their order, without asking anyone: `known` has every source up to the version that
 * the plan is made against, `problems` those manifests whose files were looked at and found wrong.
 */
export function planManifests(
  manifests: readonly Manifest[],
  known: ReadonlySet<SourceId>,
  problems: ReadonlyMap<Manifest, FileProblem>,
): Decision[] {
  const taken = new Set(known);
  return manifests.map((manifest) => {
    const decision = decide(manifest, taken, problems.get(manifest));
    if (decision.kind === "add") for (const { id } of manifest.sources) taken.add(id);
    return decision;
  });
}

function decide(
  manifest: Manifest,
  taken: ReadonlySet<SourceId>,
  problem: FileProblem | undefined,
): Decision {
  const ids = new Set<SourceId>();
  for (const { id, capture } of manifest.sources) {
    if (ids.has(id)) {
      return { manifest, kind: "refuse", reason: `the manifest repeats the source ${id} (${capture})` };
    }
    ids.add(id);
  }
  const sources = manifest.sources.filter(({ id }) => !taken.has(id));
  if (sources.length === 0) return { manifest, kind: "drop" };
  if (sources.length < manifest.sources.length) {
    const others = manifest.sources.length - sources.length;
    const reason = `${others} of its ${manifest.sources.length} sources are in the table already`;
    return { manifest, kind: "send back", sources, reason };
  }
  if (problem === undefined) return { manifest, kind: "add" };
  if (problem.kind === "wrong") return { manifest, kind: "refuse", reason: problem.reason };
  return { manifest, kind: "send back", sources, reason: `${problem.path} is gone` };
}

/** What a file must be like, beside there and of the right size; gives the reason why it is not, else null. */
export type FileCheck = (file: DataFile) => Promise<string | null>;

/**
 * Looks at every file of the manifests. Cost: one HEAD a file, and what `check` costs. A file that is not there outweighs one
 * that is wrong: its sources can be read again.
 */
export async function findFileProblems(
  manifests: readonly Manifest[],
  table: ObjectStore,
  partitionColumns: readonly string[],
  check: FileCheck = async () => null,
): Promise<Map<Manifest, FileProblem>> {
  const files = manifests.flatMap((manifest) => manifest.files.map((file) => ({ manifest, file })));
  const problems = new Map<Manifest, FileProblem>();
  const look = async ({ manifest, file }: { manifest: Manifest; file: DataFile }) => ({
    manifest,
    problem: await fileProblem(file, table, partitionColumns, check),
  });
  for await (const { manifest, problem } of readAhead(files, READ_AHEAD, look)) {
    if (problem !== null && problems.get(manifest)?.kind !== "missing") problems.set(manifest, problem);
  }
  return problems;
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
 * Only sources whose raw object is still there can be read again. A manifest with one that is gone is refused instead of
 * sent back: its files are all that is left of that capture.
 */
export async function requireRawObjects(
  decisions: readonly Decision[],
  captures: Pick<CaptureStore, "exists">,
): Promise<Decision[]> {
  const sources = decisions.flatMap((decision) => (decision.kind === "send back" ? decision.sources : []));
  const gone = new Set<ManifestSource>();
  const look = async (source: ManifestSource) => ({ source, there: await captures.exists(source) });
  for await (const { source, there } of readAhead(sources, READ_AHEAD, look)) if (!there) gone.add(source);
  return decisions.map((decision) => {
    if (decision.kind !== "send back") return decision;
    const lost = decision.sources.find((source) => gone.has(source));
    if (lost === undefined) return decision;
    const reason = `${decision.reason}, and ${lost.capture} is gone too and cannot be read again: keep the batch's files, and add them by hand`;
    return { manifest: decision.manifest, kind: "refuse", reason };
  });
}
