/** Four words of 32 bits an entry. */
const WORDS = 4;
const FIRST_ENTRIES = 1_024;
/** Share of the entries that may be taken before the set grows. */
const MAX_LOAD = 0.6;

/**
 * Remembers which texts it has met, by hashes of 128 bits: some 27 to 53 bytes a text, however long, where a Set of the texts takes
 * several times as much. Two different texts look the same with a chance of 2^-80 among a hundred million.
 */
export class TextSet {
  #entries = new Uint32Array(FIRST_ENTRIES * WORDS);
  #size = 0;
  readonly #hash = new Uint32Array(WORDS);

  /** Adds the text; false where it was there already. */
  add(text: string): boolean {
    hash(text, this.#hash);
    if (!put(this.#entries, this.#hash)) return false;
    this.#size++;
    if (this.#size * WORDS > MAX_LOAD * this.#entries.length) this.#grow();
    return true;
  }

  #grow(): void {
    const larger = new Uint32Array(this.#entries.length * 2);
    for (let at = 0; at < this.#entries.length; at += WORDS) {
      const entry = this.#entries.subarray(at, at + WORDS);
      if (entry[0] !== 0) put(larger, entry);
    }
    this.#entries = larger;
  }
}

/** False where the entry is there already. The first word of an entry is never 0, so that 0 marks a free place. */
function put(entries: Uint32Array, entry: Uint32Array): boolean {
  const mask = entries.length / WORDS - 1;
  for (let place = entry[1]! & mask; ; place = (place + 1) & mask) {
    const at = place * WORDS;
    if (entries[at] === 0) {
      entries.set(entry, at);
      return true;
    }
    let same = true;
    for (let word = 0; word < WORDS && same; word++) same = entries[at + word] === entry[word];
    if (same) return false;
  }
}

/** Each word takes up every UTF-16 unit, and its neighbour. */
function hash(text: string, into: Uint32Array): void {
  let a = 0x811c9dc5;
  let b = 0x050c5d1f;
  let c = 0x9e3779b9;
  let d = 0x7f4a7c15;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = b ^ Math.imul(a ^ unit, 0x01000193);
    b = c ^ Math.imul(b ^ unit, 0x85ebca6b);
    c = d ^ Math.imul(c ^ unit, 0xc2b2ae35);
    d = a ^ Math.imul(d ^ unit, 0x27d4eb2f);
  }
  // The low bits of a product depend on low bits only: they choose the place.
  into[0] = Math.imul(a ^ (a >>> 16), 0x85ebca6b) || 1;
  into[1] = Math.imul(b ^ (b >>> 15) ^ (a >>> 7), 0xc2b2ae35) ^ (b >>> 13);
  into[2] = c;
  into[3] = d ^ text.length;
}
