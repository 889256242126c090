/** Ranges up to this many values are looked up in a table indexed by value; 512 KB. */
const DIRECT_RANGE = 131_072;
/** After this many values, a dictionary with more than three quarters of them as entries is given up. */
const TRIAL_VALUES = 4096;
/** Slots looked at for each value, on average, before a table is given up: nobody can make it slow by choosing values. */
const PROBES_PER_VALUE = 8;

/**
 * Gives numbers dictionary indices, 0, 1, 2 ... in the order of their first occurrence. Tables are open-addressed on integer
 * keys and kept from one column to the next: nothing is allocated for a value.
 */
export class NumberDictionary {
  /** Index of each value of the last column. */
  indices = new Int32Array(0);
  /** Where each entry occurs first among the values. */
  readonly firsts: Int32Array;
  entries = 0;
  #direct = new Int32Array(0);
  readonly #slots: Int32Array;

  /** `maxEntries`: the most entries of a dictionary. */
  constructor(maxEntries: number) {
    this.firsts = new Int32Array(maxEntries);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(maxEntries * 2)));
  }

  /**
   * False when the `count` values are too different for a dictionary of `limit` entries, or look like it. `min` and `max` are
   * the least and the greatest value.
   */
  encode(values: Int32Array, count: number, min: number, max: number, limit: number): boolean {
    this.#start(count);
    const entries = Math.min(limit, this.firsts.length);
    if (max - min < DIRECT_RANGE) return this.#encodeDirect(values, count, min, max, entries);
    return this.#encodeHashed(values, null, count, entries);
  }

  /** As {@link encode}, for 64-bit values given as halves. */
  encodeWide(lows: Int32Array, highs: Int32Array, count: number, limit: number): boolean {
    this.#start(count);
    return this.#encodeHashed(lows, highs, count, Math.min(limit, this.firsts.length));
  }

  #start(count: number): void {
    if (this.indices.length < count) this.indices = new Int32Array(count);
    this.entries = 0;
  }

  #encodeDirect(values: Int32Array, count: number, min: number, max: number, limit: number): boolean {
    const range = max - min + 1;
    if (this.#direct.length < range) this.#direct = new Int32Array(Math.max(range, 1024));
    const { indices, firsts } = this;
    const table = this.#direct.fill(-1, 0, range);
    let entries = 0;
    for (let i = 0; i < count; i++) {
      const key = values[i]! - min;
      let index = table[key]!;
      if (index < 0) {
        if (entries === limit || isHopeless(entries, i)) return false;
        index = entries++;
        firsts[index] = i;
        table[key] = index;
      }
      indices[i] = index;
    }
    this.entries = entries;
    return true;
  }

  #encodeHashed(lows: Int32Array, highs: Int32Array | null, count: number, limit: number): boolean {
    const { indices, firsts } = this;
    // As small a table as serves: a small one stays in the cache and is cleared faster.
    const size = Math.min(this.#slots.length, 2 ** Math.ceil(Math.log2(Math.max(limit * 2, 16))));
    const slots = this.#slots.fill(-1, 0, size);
    const mask = size - 1;
    let entries = 0;
    let probes = count * PROBES_PER_VALUE;
    for (let i = 0; i < count; i++) {
      const low = lows[i]!;
      const high = highs === null ? 0 : highs[i]!;
      let slot = hash(low, high) & mask;
      let index = slots[slot]!;
      while (
        index >= 0 &&
        (lows[firsts[index]!] !== low || (highs !== null && highs[firsts[index]!] !== high))
      ) {
        slot = (slot + 1) & mask;
        index = slots[slot]!;
        probes--;
      }
      if (probes < 0) return false;
      if (index < 0) {
        if (entries === limit || isHopeless(entries, i)) return false;
        index = entries++;
        firsts[index] = i;
        slots[slot] = index;
      }
      indices[i] = index;
    }
    this.entries = entries;
    return true;
  }
}

function isHopeless(entries: number, values: number): boolean {
  return values >= TRIAL_VALUES && entries * 4 > values * 3;
}

/** The finalizer of MurmurHash3 (fmix32) over both halves. */
function hash(low: number, high: number): number {
  let mixed = low ^ Math.imul(high, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
