import type { Terminal } from "./command.ts";

/** Redraws are at least this far apart: drawing must cost nothing beside the work. */
const REDRAW_MS = 100;

/** A line on a terminal that says how far the work is; nothing where there is no terminal. */
export class Progress {
  readonly #terminal: Terminal;
  #drawnMs = 0;
  #drawn = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(text: () => string): void {
    const nowMs = performance.now();
    if (!this.#terminal.interactive || nowMs - this.#drawnMs < REDRAW_MS) return;
    this.#drawnMs = nowMs;
    this.#drawn = true;
    this.#terminal.err(`\r\x1b[K${text().slice(0, 100)}`);
  }

  /** Removes the line, before something else is printed. */
  clear(): void {
    if (this.#drawn) this.#terminal.err("\r\x1b[K");
    this.#drawn = false;
    this.#drawnMs = 0;
  }
}

/** `1,234,567`. */
export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** `12.3 MB`. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
