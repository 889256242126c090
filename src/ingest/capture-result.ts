import type { CaptureEnd } from "@deltacap/capture";
import { RejectedCaptureError } from "@deltacap/capture";
import { RetryableError } from "@deltacap/delta";
import { GoneError, SupersededError } from "../errors.ts";
import type { CaptureSource } from "../manifest/capture-store.ts";
import type { CommittedEntry, Damage } from "../manifest/ledger.ts";
import type { SourceId } from "../manifest/source-id.ts";

/** What became of one capture. Only `converted` ones are in the manifest. */
export type CaptureResult = { readonly source: CaptureSource; readonly id: SourceId } & (
  | {
      readonly outcome: "converted";
      readonly packets: number;
      readonly damage?: Damage;
      /** A committed source that this one begins with: its packets are in the table twice. */
      readonly continues?: SourceId;
      /** Rows with a time and no date, where the capture's clock was wrong at times. The damage names them too. */
      readonly undated?: number;
    }
  /**
   * Committed already, or named twice in this call. `known` is the ledger's entry in the first case, `sameAs` the capture that is
   * taken in its place in the second.
   */
  | { readonly outcome: "duplicate"; readonly known?: CommittedEntry; readonly sameAs?: string }
  /** Replaced since it was announced: its successor has an event of its own. */
  | { readonly outcome: "superseded"; readonly reason: string }
  /** Deleted since it was announced, and without a successor. */
  | { readonly outcome: "gone"; readonly reason: string }
  | { readonly outcome: "rejected"; readonly reason: string; readonly offset: number }
  | { readonly outcome: "empty" }
  /** Not the capture's fault: to be tried again. */
  | { readonly outcome: "failed"; readonly reason: string }
);

type CaptureOutcome = Exclude<CaptureResult, { outcome: "duplicate" | "superseded" | "gone" | "failed" }>;
/** A result without its source. */
export type OutcomeOnly<T> = T extends unknown ? Omit<T, "source" | "id"> : never;

/** Returns what the end of a capture says of it. */
export function resultOf(end: CaptureEnd): OutcomeOnly<CaptureOutcome> {
  if (end.kind === "rejected") return { outcome: "rejected", reason: end.reason, offset: end.offset };
  if (end.packets === 0) return { outcome: "empty" };
  if (end.kind === "complete") return { outcome: "converted", packets: end.packets };
  return {
    outcome: "converted",
    packets: end.packets,
    damage: { offset: end.offset, reason: end.reason },
  };
}

/** Reports rows that have a time and no date as damage, in front of any other. */
export function withUndated(
  result: OutcomeOnly<CaptureOutcome>,
  undated: number,
  minRows: number | undefined,
  datesPerCapture: number,
): OutcomeOnly<CaptureOutcome> {
  if (result.outcome !== "converted" || undated === 0) return result;
  const { offset = 0, reason } = result.damage ?? {};
  const clock = `the clock was wrong at times: rows lie on more than ${datesPerCapture} dates. The ${undated} rows on dates with fewer than ${minRows} rows, or beyond the ${datesPerCapture} dates with the most, have date null and keep their ts`;
  const damage = { offset, reason: reason === undefined ? clock : `${clock}; and ${reason}` };
  return { ...result, undated, damage };
}

/** What an error says of the capture that was being read; null for one that is not the capture's. */
export function failureOf(
  error: unknown,
): OutcomeOnly<Extract<CaptureResult, { outcome: "rejected" | "superseded" | "gone" | "failed" }>> | null {
  if (error instanceof RejectedCaptureError) {
    return { outcome: "rejected", reason: error.message, offset: error.offset };
  }
  if (error instanceof SupersededError) return { outcome: "superseded", reason: error.message };
  if (error instanceof GoneError) return { outcome: "gone", reason: error.message };
  if (error instanceof RetryableError) return { outcome: "failed", reason: error.message };
  return null;
}
