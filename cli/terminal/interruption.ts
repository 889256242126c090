/** Signals that ask a command to end: Ctrl-C, and what `kill` and service managers send. */
export type EndSignal = "SIGINT" | "SIGTERM";

/** 128 and the signal's number, as shells have it. */
const EXIT_CODES: Readonly<Record<EndSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/**
 * What a signal that asks for the end does to the command that runs. Most commands end at once, after what they registered was
 * removed. One that is in the middle of a unit of work finishes it first; a second signal ends that too.
 */
export class Interruption {
  readonly #cleanups = new Set<() => Promise<void>>();
  #finishing = 0;
  #onRequest: () => void = () => {};
  #exitCode: number | null = null;

  /** The code with which the process is about to exit; null while the command may go on. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  /**
   * Runs `work`, which looks at {@link exitCode} between its units and returns early. The first signal during it does nothing but
   * call `onRequest`.
   */
  async finishing<Result>(onRequest: () => void, work: () => Promise<Result>): Promise<Result> {
    this.#finishing++;
    this.#onRequest = onRequest;
    try {
      return await work();
    } finally {
      this.#finishing--;
    }
  }

  /** Registers what must be removed before the process ends, until the returned function is called. */
  guard(cleanup: () => Promise<void>): () => void {
    this.#cleanups.add(cleanup);
    return () => void this.#cleanups.delete(cleanup);
  }

  /** A signal came. Returns the code with which the process must exit now; null where the command ends by itself. */
  async arrived(signal: EndSignal): Promise<number | null> {
    if (this.#exitCode === null && this.#finishing > 0) {
      this.#exitCode = EXIT_CODES[signal];
      this.#onRequest();
      return null;
    }
    await this.end(EXIT_CODES[signal]);
    return EXIT_CODES[signal];
  }

  /**
   * Called before the process exits with `code`. Removes what was registered; what cannot be removed does not keep the process from
   * ending.
   */
  async end(code: number): Promise<void> {
    this.#exitCode = code;
    await Promise.allSettled([...this.#cleanups].map((cleanup) => cleanup()));
  }
}
