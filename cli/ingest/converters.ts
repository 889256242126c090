import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { RetryableError } from "@deltacap/delta";
import type { CaptureResult } from "../../src/ingest/capture-result.ts";
import { type ConversionOutcome, convertCaptures } from "../../src/ingest/convert-captures.ts";
import type { CaptureSource } from "../../src/manifest/capture-store.ts";
import { converterDefaults } from "../../src/settings.ts";
import { localTable } from "../tables/local-table.ts";

/** What a converter process is asked, and what it answers. */
export interface ConvertRequest {
  readonly table: string;
  readonly runId: string;
  readonly sources: readonly CaptureSource[];
}
/** What a converter process answers: each capture when it is known, then the batch or why it failed. */
export type ConvertAnswer =
  | { readonly kind: "capture"; readonly result: CaptureResult }
  | { readonly kind: "done"; readonly outcome: ConversionOutcome }
  | { readonly kind: "failed"; readonly retryable: boolean; readonly message: string };

/** Converts batches of captures: in this process, or in several at once, each with a core and memory of its own. */
export class Converters {
  readonly #table: string;
  readonly #runId: string;
  readonly #jobs: number;
  /** Asked for here, so that a setting that may not be ends the command before a process is started. */
  readonly #limits = { ...converterDefaults };
  readonly #onCapture: (result: CaptureResult) => void;
  readonly #children: ChildProcess[] = [];

  constructor(table: string, runId: string, jobs: number, onCapture: (result: CaptureResult) => void) {
    this.#table = table;
    this.#runId = runId;
    this.#jobs = jobs;
    this.#onCapture = onCapture;
  }

  /** Outcomes as they are ready, which with several processes is not the order of the batches. */
  async *convert(batches: Iterable<readonly CaptureSource[]>): AsyncIterable<ConversionOutcome> {
    if (this.#jobs === 1) {
      const ports = { ...localTable(this.#table, this.#runId).converter, onCapture: this.#onCapture };
      for (const batch of batches) yield await convertCaptures(batch, ports, this.#limits);
      return;
    }
    const iterator = batches[Symbol.iterator]();
    const running = new Map<ChildProcess, Promise<{ child: ChildProcess; outcome: ConversionOutcome }>>();
    for (let i = 0; i < this.#jobs; i++) this.#next(iterator, this.#child(i), running);
    while (running.size > 0) {
      const { child, outcome } = await Promise.race(running.values());
      running.delete(child);
      this.#next(iterator, child, running);
      yield outcome;
    }
  }

  /** Ends the processes. */
  close(): void {
    for (const child of this.#children) child.kill();
  }

  #next(
    batches: Iterator<readonly CaptureSource[]>,
    child: ChildProcess,
    running: Map<ChildProcess, Promise<{ child: ChildProcess; outcome: ConversionOutcome }>>,
  ): void {
    const { done, value } = batches.next();
    if (done) return;
    const result = this.#ask(child, value).then((outcome) => ({ child, outcome }));
    // Awaited with the others in `convert`; until then a failure must not count as unhandled.
    result.catch(() => {});
    running.set(child, result);
  }

  #child(index: number): ChildProcess {
    const existing = this.#children[index];
    if (existing !== undefined) return existing;
    // Beside this file: TypeScript in a checkout, JavaScript in the bundle.
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const child = fork(fileURLToPath(new URL(`./convert-worker.${extension}`, import.meta.url)));
    this.#children.push(child);
    return child;
  }

  #ask(child: ChildProcess, sources: readonly CaptureSource[]): Promise<ConversionOutcome> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        child.off("message", answered);
        child.off("exit", ended);
      };
      const answered = (answer: ConvertAnswer) => {
        if (answer.kind === "capture") return this.#onCapture(answer.result);
        stop();
        if (answer.kind === "done") resolve(answer.outcome);
        else reject(answer.retryable ? new RetryableError(answer.message) : new Error(answer.message));
      };
      const ended = (code: number | null, signal: string | null) => {
        stop();
        reject(
          new RetryableError(`a converter process ended with ${signal ?? code}: is there enough memory?`),
        );
      };
      child.on("message", answered);
      child.on("exit", ended);
      child.send({ table: this.#table, runId: this.#runId, sources } satisfies ConvertRequest);
    });
  }
}
