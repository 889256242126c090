import { MAX_SOURCES, type Manifest, type ManifestSource } from "../manifest/manifest.ts";
import type { ReceivedManifest } from "../manifest/queues.ts";
import type { ManifestResult } from "./commit-manifests.ts";
import type { FailedStep } from "./plan.ts";

/** A delivery that failed by itself. */
export interface DeliveryFailure {
  readonly step: DeliveryStep;
  readonly reason: string;
  readonly batchId: string | null;
  /** Times that it was received. */
  readonly tries: number;
}

/** Where the handling of one delivery can fail while others pass. */
export type DeliveryStep = FailedStep | "read" | "delete captures" | "dead letter";

/** A manifest that was received and verified, and is not committed yet. */
export interface Waiting {
  readonly delivery: ReceivedManifest;
  readonly manifest: Manifest;
  /** Whether it failed in this run, at what would have been its last try. */
  readonly again?: true;
}

/** With what became of it. */
export type Settled = Waiting & { readonly result: ManifestResult };

/** With where and why it failed. */
export type FailedManifest = Waiting & Pick<Failed, "step" | "error">;

/** A delivery that failed by itself. */
export interface Failed {
  readonly delivery: ReceivedManifest;
  /** Null where it was not read. */
  readonly manifest: Manifest | null;
  readonly step: DeliveryStep;
  readonly error: unknown;
}

/** What one commit may carry the sources of, and the rest: two commits in a row would not keep the shortest interval. */
export function oneCommit(waiting: readonly Waiting[]): [Waiting[], Waiting[]] {
  let sources = 0;
  const end = waiting.findIndex(({ manifest }, i) => {
    sources += manifest.sources.length;
    return i > 0 && sources > MAX_SOURCES;
  });
  return end === -1 ? [[...waiting], []] : [waiting.slice(0, end), waiting.slice(end)];
}

/** Captures that no run needs any more: those that the ledger's own entries name. */
export function deletableSources(result: ManifestResult): readonly ManifestSource[] {
  if (result.outcome === "committed") return result.manifest.sources;
  return result.outcome === "duplicate" ? result.named : [];
}

/** What must have worked for a result. */
export function stepsPassed({ outcome }: ManifestResult): DeliveryStep[] {
  if (outcome === "failed") return [];
  if (outcome === "duplicate") return ["ledger"];
  return outcome === "committed" ? ["ledger", "files"] : ["ledger", "files", "send back"];
}
