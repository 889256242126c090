/** The servers' time: a test moves it by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `run` once, so many milliseconds later; the result cancels it. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Stands still until `advance` is called. */
export class ManualClock implements Clock {
  #now: number;
  #timers: { at: number; run: () => void }[] = [];
  #watchers: (() => void)[] = [];

  constructor(now = Date.UTC(2026, 0, 2, 3, 4, 5)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.push(timer);
    for (const watcher of this.#watchers) watcher();
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Moves time on; timers run in order of their time. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#now = Math.max(this.#now, due.at);
      due.run();
    }
    this.#now = end;
  }

  /** Lets time pass, from timer to timer, as often as everybody waits, until `work` is settled. */
  async passUntil<Result>(work: Promise<Result>): Promise<Result> {
    let settled = false;
    const note = () => {
      settled = true;
    };
    work.then(note, note);
    for (;;) {
      // All that can happen without time happens first.
      for (let i = 0; i < 10 && !settled; i++) await new Promise(setImmediate);
      if (settled) return await work;
      const next = Math.min(...this.#timers.map(({ at }) => at));
      if (next === Number.POSITIVE_INFINITY) throw new Error("everybody waits for something that is no time");
      this.advance(next - this.#now);
    }
  }

  /** A `sleep` of this time. */
  readonly sleep = (milliseconds: number): Promise<void> =>
    new Promise((resolve) => void this.after(milliseconds, resolve));

  /** Resolves once so many timers wait: the requests that a test wants to time out have arrived. */
  async waiting(count: number): Promise<void> {
    while (this.#timers.length < count) {
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }
}
