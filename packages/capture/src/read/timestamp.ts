import type { Frame } from "./frame.ts";

/**
 * First second of the year 1900 and of the year 2300. A time outside is no time for the table, since common readers fail on it:
 * Spark 3 refuses to scan a file with a time before 1900 (its calendar changed), and ClickHouse has times from 1900 to 2299.
 */
const FIRST_SECOND = -2_208_988_800;
const END_SECOND = 10_413_792_000;

/** Whether the table can hold a time in that second since 1970. */
export function isTableTime(seconds: number): boolean {
  return seconds >= FIRST_SECOND && seconds < END_SECOND;
}

/** Sets the frame's time from seconds and nanoseconds, carrying nanoseconds of a second and more. */
export function setTime(frame: Frame, seconds: number, nanoseconds: number): void {
  if (nanoseconds >= 1_000_000_000) {
    const carried = Math.floor(nanoseconds / 1_000_000_000);
    seconds += carried;
    nanoseconds -= carried * 1_000_000_000;
  }
  frame.seconds = seconds;
  frame.nanoseconds = nanoseconds;
  frame.hasTime = isTableTime(seconds);
}

/** Sets the frame's time from the two halves of a 64-bit number of ticks; both 0 to 2^32-1. */
export interface TimestampResolution {
  setTime(frame: Frame, high: number, low: number): void;
}

/**
 * The resolution that `if_tsresol` states (pcapng section 4.2): with the top bit clear a negative power of 10, otherwise
 * of 2. `offset`: if_tsoffset, seconds to add.
 */
export function timestampResolution(tsresol: number, offset: bigint): TimestampResolution {
  const exponent = tsresol & 0x7f;
  if ((tsresol & 0x80) === 0 && exponent <= 9 && isSmall(offset)) {
    return new DecimalResolution(10 ** exponent, Number(offset));
  }
  return new ExactResolution(
    (tsresol & 0x80) === 0 ? 10n ** BigInt(exponent) : 1n << BigInt(exponent),
    offset,
  );
}

/** Offsets far outside any year need no speed, and would not stay exact as numbers. */
function isSmall(offset: bigint): boolean {
  return offset > -(1n << 50n) && offset < 1n << 50n;
}

/**
 * 10^0 to 10^9 ticks a second, without a BigInt for each packet. The quotient is taken in floating point, where it is at
 * most one off for any time that counts. The remainder is taken modulo 2^32: exact where the quotient is right, at least
 * `ticks` and below 2^31 where it is one too low, above 2^31 where it is one too high; so it says how to correct both.
 *
 * Measured on Node 20: reading pcapng, 16.1 million packets/s against 13.8 with exact long division in 16-bit digits.
 */
class DecimalResolution implements TimestampResolution {
  readonly #ticks: number;
  readonly #nanosecondsPerTick: number;
  readonly #offset: number;

  constructor(ticksPerSecond: number, offset: number) {
    this.#ticks = ticksPerSecond;
    this.#nanosecondsPerTick = 1_000_000_000 / ticksPerSecond;
    this.#offset = offset;
  }

  setTime(frame: Frame, high: number, low: number): void {
    const ticks = this.#ticks;
    let seconds = Math.floor((high * 0x1_0000_0000 + low) / ticks);
    let remainder = (low - Math.imul(seconds, ticks)) >>> 0;
    if (remainder >= ticks) {
      if (remainder >= 0x8000_0000) {
        seconds--;
        remainder -= 0x1_0000_0000 - ticks;
      } else {
        seconds++;
        remainder -= ticks;
      }
    }
    setTime(frame, seconds + this.#offset, remainder * this.#nanosecondsPerTick);
  }
}

/** Any resolution; time finer than a nanosecond is cut off. */
class ExactResolution implements TimestampResolution {
  readonly #ticks: bigint;
  readonly #offset: bigint;

  constructor(ticksPerSecond: bigint, offset: bigint) {
    this.#ticks = ticksPerSecond;
    this.#offset = offset;
  }

  setTime(frame: Frame, high: number, low: number): void {
    const ticks = (BigInt(high) << 32n) | BigInt(low);
    const seconds = ticks / this.#ticks + this.#offset;
    const nanoseconds = ((ticks % this.#ticks) * 1_000_000_000n) / this.#ticks;
    setTime(frame, Number(seconds), Number(nanoseconds));
  }
}
