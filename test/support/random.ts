/** A small seeded generator (xorshift128, Marsaglia 2003): the same seed gives the same numbers everywhere. */
export class Random {
  readonly seed: number;
  #x: number;
  #y = 362436069;
  #z = 521288629;
  #w = 88675123;

  constructor(seed: number) {
    this.seed = seed;
    this.#x = seed | 0 || 123456789;
    for (let i = 0; i < 16; i++) this.uint32();
  }

  /** 0 to 2^32 - 1. */
  uint32(): number {
    const t = this.#x ^ (this.#x << 11);
    this.#x = this.#y;
    this.#y = this.#z;
    this.#z = this.#w;
    this.#w = this.#w ^ (this.#w >>> 19) ^ t ^ (t >>> 8);
    return this.#w >>> 0;
  }

  /** 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor((this.uint32() / 0x1_0000_0000) * limit);
  }

  /** `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.uint32() < probability * 0x1_0000_0000;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let i = 0; i < length; i++) bytes[i] = this.uint32() & 0xff;
    return bytes;
  }
}

/** The seed of a randomized test: DELTACAP_SEED, else a fixed one; print it in the test's name or message. */
export function testSeed(fallback: number): number {
  return Number(process.env.DELTACAP_SEED ?? fallback);
}
