import type { Snapshot } from "@deltacap/delta";
import { RetryableError, readAhead } from "@deltacap/delta";
import type { TableSchema } from "@deltacap/parquet";
import { RejectedError } from "../errors.ts";
import type { Manifest, ManifestSource } from "../manifest/manifest.ts";
import { parseManifest } from "../manifest/parse-manifest.ts";
import type { ManifestQueue, ReceivedManifest } from "../manifest/queues.ts";
import { packetTable } from "../packets/packet-table.ts";
import { Committer, type CommitterPorts, type ManifestResult } from "./commit-manifests.ts";
import {
  type DeliveryFailure,
  type DeliveryStep,
  deletableSources,
  type Failed,
  type FailedManifest,
  oneCommit,
  type Settled,
  stepsPassed,
  type Waiting,
} from "./deliveries.ts";

/** What a run of the committer reaches the outside through, and what it reports. */
export interface CommitterRunPorts extends CommitterPorts {
  readonly manifestQueue: ManifestQueue;
  /** Why a manifest was not written by a converter of this table, or null: see `manifestProblem`. */
  readonly verify: (manifest: Manifest) => string | null;
  /** Deletes captures whose rows are in the table; absent where they are kept. Those that are gone count as deleted. */
  readonly removeCaptures?: (sources: readonly ManifestSource[]) => Promise<void>;
  /** Called after each round once it is acknowledged, and after one that failed with conflicts; that one has no results. */
  readonly onRound?: (round: Round) => void;
  /** Told of each delivery that went to the dead letter queue. */
  readonly onRefused?: (reason: string, batchId: string | null) => void;
  /** Told of each delivery that this version of the program does not understand, and left in the queue. */
  readonly onLeft?: (reason: string) => void;
  /** Told of each delivery that failed through no fault of the others, and stays in the queue to be tried again. */
  readonly onFailed?: (failure: DeliveryFailure) => void;
}

/** When a run receives, commits and ends. */
export interface CommitterRunSettings {
  /** Milliseconds between two commits at least, while fewer files wait than `filesPerCommit`. */
  readonly commitIntervalMs: number;
  /** Commits as soon as this many files are waiting, but never within {@link MIN_INTERVAL} of the commit before. */
  readonly filesPerCommit: number;
  /** Milliseconds for which it receives at most, once the table is ready; what was received is still committed after them. */
  readonly receiveMs: number;
  /**
   * Epoch milliseconds after which nothing more is received. A slow start shortens the receiving by this, so that a run ends
   * in time.
   */
  readonly receiveUntilMs: number;
  /** Epoch milliseconds after which no attempt to commit begins. What still waits is released to the next run. */
  readonly deadlineMs: number;
  /** Long polls at once. */
  readonly pollers: number;
}

/** Manifests that were settled together. */
export interface Round {
  readonly results: readonly ManifestResult[];
  /** Milliseconds from the plan to the acknowledgement. */
  readonly latencyMs: number;
  /** Conflicts that were met. */
  readonly conflicts: number;
}

/** What a run leaves to the next one in the same process. */
export interface CommitterState {
  readonly snapshot: Snapshot;
  /** Milliseconds since 1970. */
  readonly lastCommitMs: number;
}

/** Seconds of one long poll: short enough that a run that fails does not wait long for its polls, 17,280 requests a day each. */
const POLL_SECONDS = 5;
/** Milliseconds without an arrival after which a burst counts as over: idle, a manifest waits no longer than this. */
const QUIET = 1_000;
/**
 * Milliseconds between two commits, however many files wait and even at the end of a run. With less, Spark's OPTIMIZE and appends
 * never find a gap: they meet a conflict on each try.
 */
export const MIN_INTERVAL = 5_000;
/** Files that may wait however small `filesPerCommit` is, since commits may not follow each other faster. */
const MIN_ROOM = 500;
/** Characters of manifests held at once; beyond, the rest waits in the queue. */
const WAITING_CHARACTERS = 64 * 1024 * 1024;
/**
 * Deliveries after which a manifest that fails while others pass goes to the dead-letter queue: some 40 minutes with the
 * queue's visibility of 220 seconds.
 */
export const MAX_TRIES = 10;
/** Captures of manifests that are deleted at once, each of them many requests at once. */
const DELETING = 4;

/**
 * One run of the committer: starts on the table, drains the queue until its time is over, commits many manifests
 * as one version, acknowledges. A table that must be refused is so before anything is received.
 *
 * Throws what `Committer` throws; then deliveries that were not acknowledged are released to the next run, and nothing more is
 * received.
 */
export async function runCommitter(
  ports: CommitterRunPorts,
  settings: CommitterRunSettings,
  schema: TableSchema = packetTable,
  warm: CommitterState | null = null,
): Promise<CommitterState> {
  const committer = await Committer.start(ports, schema, warm?.snapshot ?? null);
  const run = new CommitterRun(committer, ports, settings, warm?.lastCommitMs ?? 0);
  await run.drain();
  return { snapshot: committer.snapshot, lastCommitMs: run.lastCommitMs };
}

class CommitterRun {
  readonly #committer: Committer;
  readonly #ports: CommitterRunPorts;
  readonly #settings: CommitterRunSettings;
  lastCommitMs: number;
  #waiting: Waiting[] = [];
  #files = 0;
  #characters = 0;
  #firstArrivalMs = 0;
  #lastArrivalMs = 0;
  readonly #receiveUntilMs: number;
  #pollers = 0;
  #stopped = false;
  #failure: { readonly error: unknown } | null = null;
  /** Deliveries that failed by themselves, in this run, and are still in the queue. */
  readonly #failed: Failed[] = [];
  /** Deliveries whose manifest lies in the table's folder and cannot be read. */
  readonly #unread: Failed[] = [];
  /** Deliveries that were committed, sent back or put aside. */
  #settled = 0;
  /** Called when the state changed that the loop or a poller waits for. */
  #watchers: (() => void)[] = [];

  constructor(
    committer: Committer,
    ports: CommitterRunPorts,
    settings: CommitterRunSettings,
    lastCommitMs: number,
  ) {
    this.#committer = committer;
    this.#ports = ports;
    this.#settings = settings;
    this.lastCommitMs = lastCommitMs;
    this.#receiveUntilMs = Math.min(ports.now() + settings.receiveMs, settings.receiveUntilMs);
  }

  /** Commits whatever comes until the time of receiving is over and nothing waits any more. */
  async drain(): Promise<void> {
    const pollers = Array.from({ length: this.#settings.pollers }, () => this.#poll());
    try {
      while (this.#pollers > 0 || this.#waiting.length > 0) {
        if (this.#failure !== null) throw this.#failure.error;
        // The function would be stopped in the middle of a commit: the next run takes what waits.
        if (this.#ports.now() >= this.#settings.deadlineMs) break;
        const wait = this.#dueMs() - this.#ports.now();
        if (wait <= 0) await this.#settleRound();
        else await this.#changeWithin(wait);
      }
      if (this.#failure !== null) throw this.#failure.error;
      await this.#failUnread();
      // Nothing passed: whether a manifest or a service causes it, the run counts as failed.
      if (this.#settled === 0 && this.#failed.length > 0) throw this.#failed[0]!.error;
    } finally {
      this.#stopped = true;
      this.#changed();
      await Promise.all(pollers);
      if (this.#waiting.length > 0) {
        await this.#ports.manifestQueue.release(this.#waiting.map(({ delivery }) => delivery));
      }
    }
  }

  /** When to commit what waits: never while nothing does. */
  #dueMs(): number {
    const { commitIntervalMs, filesPerCommit } = this.#settings;
    if (this.#waiting.length === 0) return Number.POSITIVE_INFINITY;
    const soonest = this.lastCommitMs + Math.min(commitIntervalMs, MIN_INTERVAL);
    if (this.#files >= filesPerCommit || this.#isFull() || this.#pollers === 0) return soonest;
    const burstOver = Math.min(this.#lastArrivalMs + QUIET, this.#firstArrivalMs + commitIntervalMs);
    return Math.max(this.lastCommitMs + commitIntervalMs, burstOver);
  }

  /** One long poll after the other, while there is time and room. Never throws: the loop does it. */
  async #poll(): Promise<void> {
    this.#pollers++;
    try {
      while (!this.#stopped && this.#failure === null) {
        if (this.#isFull()) {
          await this.#change();
          continue;
        }
        const left = Math.floor((this.#receiveUntilMs - this.#ports.now()) / 1_000);
        if (left < 1) break;
        const deliveries = await this.#ports.manifestQueue.receive(Math.min(POLL_SECONDS, left));
        for (const delivery of deliveries) await this.#arrived(delivery);
      }
    } catch (error) {
      this.#failure ??= { error };
    } finally {
      this.#pollers--;
      this.#changed();
    }
  }

  async #arrived(delivery: ReceivedManifest): Promise<void> {
    if (delivery.unread !== undefined) {
      const error = new RetryableError(delivery.unread.reason);
      const failed: Failed = { delivery, manifest: null, step: "read", error };
      // What is not there says nothing of the store. Yet one answer is not believed: it is asked for again at each delivery.
      if (delivery.unread.isGone) return await this.#fail(failed);
      return void this.#unread.push(failed);
    }
    let manifest: Manifest;
    try {
      manifest = parseManifest(delivery.text);
      const problem = this.#ports.verify(manifest);
      if (problem !== null) return await this.#refuse(delivery, problem, manifest.batchId);
    } catch (error) {
      if (error instanceof RejectedError) return await this.#refuse(delivery, error.message, null);
      // Of a newer format: left to a newer committer, which finds it when its visibility is over.
      if (error instanceof RetryableError) return this.#ports.onLeft?.(error.message);
      return await this.#fail({ delivery, manifest: null, step: "read", error });
    }
    this.#lastArrivalMs = this.#ports.now();
    if (this.#waiting.length === 0) this.#firstArrivalMs = this.#lastArrivalMs;
    this.#waiting.push({ delivery, manifest });
    this.#files += manifest.files.length;
    this.#characters += delivery.text.length;
    this.#changed();
  }

  #isFull(): boolean {
    const room = Math.max(MIN_ROOM, 2 * this.#settings.filesPerCommit);
    return this.#files >= room || this.#characters >= WAITING_CHARACTERS;
  }

  /**
   * Commits what waits, and acknowledges it. What fails by itself stays in the queue. What is not acknowledged when the run fails waits
   * again, to be released.
   */
  async #settleRound(): Promise<void> {
    const { now, manifestQueue, onRound } = this.#ports;
    const [round, later] = oneCommit(this.#waiting);
    this.#take(later);
    const started = now();
    const conflictsBefore = this.#committer.conflicts;
    const failed: FailedManifest[] = [];
    let passed: DeliveryStep[] = [];
    try {
      const results = await this.#committer.commit(
        round.map(({ manifest }) => manifest),
        this.#settings.deadlineMs,
      );
      if (results.some(({ outcome }) => outcome === "committed")) this.lastCommitMs = now();
      const done: Settled[] = [];
      for (const [i, result] of results.entries()) {
        const waiting = round[i]!;
        const { delivery, manifest } = waiting;
        if (result.outcome === "refused") await this.#refuse(delivery, result.reason, manifest.batchId);
        else if (result.outcome === "failed") failed.push({ ...waiting, ...result });
        else done.push({ ...waiting, result });
      }
      // Before the acknowledgement: after a crash in between, the manifest comes again and is a duplicate.
      const { removed, kept } = await this.#removeCaptures(done);
      failed.push(...kept);
      const notDone = new Set(kept.map(({ delivery }) => delivery));
      const acknowledged = done.filter(({ delivery }) => !notDone.has(delivery));
      await manifestQueue.acknowledge(acknowledged.map(({ delivery }) => delivery));
      this.#settled += acknowledged.length;
      passed = results.flatMap(stepsPassed).concat(removed > 0 ? ["delete captures"] : []);
      onRound?.({
        results,
        latencyMs: now() - started,
        conflicts: this.#committer.conflicts - conflictsBefore,
      });
    } catch (error) {
      this.#take([...round, ...this.#waiting]);
      // A run that only meets conflicts fails, and its conflicts are what the alarm counts.
      const conflicts = this.#committer.conflicts - conflictsBefore;
      if (conflicts > 0) onRound?.({ results: [], latencyMs: now() - started, conflicts });
      throw error;
    }
    await this.#settleFailed(failed, passed);
  }

  /** Deletes captures whose rows are in the table; `kept` are the deliveries for which that failed. */
  async #removeCaptures(done: readonly Settled[]): Promise<{ removed: number; kept: FailedManifest[] }> {
    const { removeCaptures } = this.#ports;
    const kept: FailedManifest[] = [];
    if (removeCaptures === undefined) return { removed: 0, kept };
    let removed = 0;
    const remove = async ({ result, ...waiting }: Settled): Promise<void> => {
      const sources = deletableSources(result);
      if (sources.length === 0) return;
      try {
        await removeCaptures(sources);
        removed++;
      } catch (error) {
        kept.push({ ...waiting, step: "delete captures", error });
      }
    };
    for await (const _ of readAhead(done, DELETING, remove));
    return { removed, kept };
  }

  /** Throws where several failed at a step that none passed: a service is out, and no manifest is to blame. */
  async #settleFailed(failed: readonly FailedManifest[], passed: readonly DeliveryStep[]): Promise<void> {
    for (const { step, error } of failed) {
      const alike = failed.filter((other) => other.step === step).length;
      if (alike === 1 || passed.includes(step)) continue;
      this.#take([...failed, ...this.#waiting]);
      throw error;
    }
    for (const { delivery, manifest, again, step, error } of failed) {
      // Its tries may lie in an outage that is over: only what fails twice in one run is put aside.
      if (delivery.receives < MAX_TRIES || again) await this.#fail({ delivery, manifest, step, error });
      else this.#take([...this.#waiting, { delivery, manifest, again: true }]);
    }
  }

  /** Several that cannot be read speak of the store, and not of one of them. */
  async #failUnread(): Promise<void> {
    const [first, ...others] = this.#unread;
    if (first === undefined) return;
    if (others.length > 0) throw first.error;
    await this.#fail(first);
  }

  /** Leaves the delivery in the queue, where it comes again when its visibility is over; puts it aside at its last try. */
  async #fail({ delivery, manifest, step, error }: Failed): Promise<void> {
    const reason = error instanceof Error ? error.message : String(error);
    const batchId = manifest?.batchId ?? null;
    if (delivery.receives >= MAX_TRIES && step !== "dead letter") {
      return await this.#refuse(delivery, `failed ${delivery.receives} times (${step}): ${reason}`, batchId);
    }
    this.#failed.push({ delivery, manifest, step, error });
    this.#ports.onFailed?.({ step, reason, batchId, tries: delivery.receives });
  }

  #take(waiting: Waiting[]): void {
    this.#waiting = waiting;
    this.#files = waiting.reduce((files, { manifest }) => files + manifest.files.length, 0);
    this.#characters = waiting.reduce((characters, { delivery }) => characters + delivery.text.length, 0);
    this.#changed();
  }

  async #refuse(delivery: ReceivedManifest, reason: string, batchId: string | null): Promise<void> {
    try {
      await this.#ports.manifestQueue.deadLetter(delivery, reason);
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      return await this.#fail({ delivery, manifest: null, step: "dead letter", error });
    }
    this.#settled++;
    this.#ports.onRefused?.(reason, batchId);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => void this.#watchers.push(resolve));
  }

  #changed(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const resolve of watchers) resolve();
  }

  async #changeWithin(milliseconds: number): Promise<void> {
    if (milliseconds === Number.POSITIVE_INFINITY) await this.#change();
    else await Promise.race([this.#change(), this.#ports.sleep(milliseconds)]);
  }
}
