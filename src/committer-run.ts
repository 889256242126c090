import { packetTable } from "./columns/packet-table.ts";
import type { TableSchema } from "./columns/table-schema.ts";
import { Committer, type CommitterPorts, type ManifestResult } from "./commit-manifests.ts";
import type { Snapshot } from "./delta/snapshot.ts";
import { RejectedError, RetryableError } from "./errors.ts";
import { MAX_SOURCES, type Manifest, type ManifestSource } from "./manifest/manifest.ts";
import { parseManifest } from "./manifest/parse-manifest.ts";
import type { ManifestQueue, ReceivedManifest } from "./manifest/queues.ts";

export interface CommitterRunPorts extends CommitterPorts {
  readonly manifestQueue: ManifestQueue;
  /** Deletes captures whose rows are in the table; absent where they are kept. Those that are gone count as deleted. */
  readonly removeCaptures?: (sources: readonly ManifestSource[]) => Promise<void>;
  /** Told of each round once it is acknowledged. */
  readonly onRound?: (round: Round) => void;
  /** Told of each delivery that went to the dead letter queue. */
  readonly onRefused?: (reason: string, batchId: string | null) => void;
  /** Told of each delivery that this version of the program does not understand, and left in the queue. */
  readonly onLeft?: (reason: string) => void;
}

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

interface Waiting {
  readonly delivery: ReceivedManifest;
  readonly manifest: Manifest;
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
    let manifest: Manifest;
    try {
      manifest = parseManifest(delivery.text);
    } catch (error) {
      if (error instanceof RejectedError) return await this.#refuse(delivery, error.message, null);
      if (!(error instanceof RetryableError)) throw error;
      // Of a newer format: left to a newer committer, which finds it when its visibility is over.
      return this.#ports.onLeft?.(error.message);
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

  /** Commits what waits, and acknowledges it. What is not acknowledged when it fails waits again, to be released. */
  async #settleRound(): Promise<void> {
    const { now, manifestQueue, removeCaptures, onRound } = this.#ports;
    const [round, later] = oneCommit(this.#waiting);
    this.#take(later);
    const started = now();
    const conflictsBefore = this.#committer.conflicts;
    try {
      const results = await this.#committer.commit(
        round.map(({ manifest }) => manifest),
        this.#settings.deadlineMs,
      );
      if (results.some(({ outcome }) => outcome === "committed")) this.lastCommitMs = now();
      const done: ReceivedManifest[] = [];
      for (const [i, result] of results.entries()) {
        const { delivery, manifest } = round[i]!;
        if (result.outcome === "refused") await this.#refuse(delivery, result.reason, manifest.batchId);
        else done.push(delivery);
      }
      // Before the acknowledgement: after a crash in between, the manifest comes again and is a duplicate.
      await removeCaptures?.(results.flatMap(sourcesInTheTable));
      await manifestQueue.acknowledge(done);
      onRound?.({
        results,
        latencyMs: now() - started,
        conflicts: this.#committer.conflicts - conflictsBefore,
      });
    } catch (error) {
      this.#take([...round, ...this.#waiting]);
      throw error;
    }
  }

  #take(waiting: Waiting[]): void {
    this.#waiting = waiting;
    this.#files = waiting.reduce((files, { manifest }) => files + manifest.files.length, 0);
    this.#characters = waiting.reduce((characters, { delivery }) => characters + delivery.text.length, 0);
    this.#changed();
  }

  async #refuse(delivery: ReceivedManifest, reason: string, batchId: string | null): Promise<void> {
    await this.#ports.manifestQueue.deadLetter(delivery, reason);
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

/** What one commit may carry the sources of, and the rest: two commits in a row would not keep the shortest interval. */
function oneCommit(waiting: readonly Waiting[]): [Waiting[], Waiting[]] {
  let sources = 0;
  const end = waiting.findIndex(({ manifest }, i) => {
    sources += manifest.sources.length;
    return i > 0 && sources > MAX_SOURCES;
  });
  return end === -1 ? [[...waiting], []] : [waiting.slice(0, end), waiting.slice(end)];
}

/** Captures that no run needs any more. */
function sourcesInTheTable({ outcome, manifest }: ManifestResult): readonly ManifestSource[] {
  return outcome === "committed" || outcome === "duplicate" ? manifest.sources : [];
}
