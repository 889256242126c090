import type { Terminal } from "./command.ts";
import { oneLine } from "./printable.ts";

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
    this.#terminal.draw(`\r\x1b[K${oneLine(text()).slice(0, 100)}`);
  }

  /** Removes the line, before something else is printed. */
  clear(): void {
    if (this.#drawn) this.#terminal.draw("\r\x1b[K");
    this.#drawn = false;
    this.#drawnMs = 0;
  }
}

/** `1,234,567`. */
export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** `12.3 MB`; below that as many digits as tell something: `0.073 MB`. */
export function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  return `${value === 0 || value >= 1 ? value.toFixed(1) : value.toFixed(Math.min(6, 2 - Math.ceil(Math.log10(value))))} MB`;
}
