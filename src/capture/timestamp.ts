import type { Frame } from "./frame.ts";

/** First second of the year 1 and of the year 10000: a time outside is no time for the table. */
const FIRST_SECOND = -62_135_596_800;
const END_SECOND = 253_402_300_800;

/** Sets the frame's time from seconds and nanoseconds, carrying nanoseconds of a second and more. */
export function setTime(frame: Frame, seconds: number, nanoseconds: number): void {
  if (nanoseconds >= 1_000_000_000) {
    const carried = Math.floor(nanoseconds / 1_000_000_000);
    seconds += carried;
    nanoseconds -= carried * 1_000_000_000;
  }
  frame.seconds = seconds;
  frame.nanoseconds = nanoseconds;
  frame.hasTime = seconds >= FIRST_SECOND && seconds < END_SECOND;
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
 * 10^0 to 10^9 ticks a second: long division in 16-bit digits. Each intermediate value is below 10^9 * 2^16 + 2^16 < 2^46,
 * so numbers are exact, and no BigInt is made for a packet.
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
    const quotient1 = Math.floor(high / ticks);
    const dividend2 = (high - quotient1 * ticks) * 0x10000 + (low >>> 16);
    const quotient2 = Math.floor(dividend2 / ticks);
    const dividend3 = (dividend2 - quotient2 * ticks) * 0x10000 + (low & 0xffff);
    const quotient3 = Math.floor(dividend3 / ticks);
    const remainder = dividend3 - quotient3 * ticks;
    // Seconds beyond 2^53 are rounded, and far outside the years that have a time.
    const seconds = (quotient1 * 0x10000 + quotient2) * 0x10000 + quotient3;
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
