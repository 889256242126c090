import { giveBack } from "../memory/give-back.ts";
import { ipv4Text, ipv6Text, macText } from "./address-text.ts";

/** Words a key takes: the address's length and up to 16 bytes of it. */
const KEY_WORDS = 5;
/** Addresses that are found without a hash: columns of Ethernet traffic take 0.88 times as long (Node 24). A power of two. */
const RECENT = 256;

/**
 * Addresses (4, 6 or 16 bytes) to codes 0, 1, 2 ... in the order of their first look-up, with the text of each. An
 * open-addressed table on the addresses' words: a look-up makes no object, and a text is made once for each address.
 */
export class AddressDictionary {
  /** Text of each code. */
  readonly texts: string[] = [];
  readonly #seed: number;
  /** Code + 1 of the entry in each slot, 0 for a free one; length a power of two, at most half full. */
  #slots = new Int32Array(64);
  #keys = new Int32Array(32 * KEY_WORDS);
  /** Codes asked for last, each at the place of its address; 0, whose key has a length, where none was. */
  readonly #recent = new Int32Array(RECENT);
  /** Where addresses were read last, with a view on it, which reads four bytes at once. */
  #source: Uint8Array = new Uint8Array(0);
  #view = new DataView(this.#source.buffer);

  constructor(seed: number) {
    this.#seed = seed | 0;
  }

  code(bytes: Uint8Array, offset: number, length: number): number {
    if (bytes !== this.#source) {
      this.#source = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    const view = this.#view;
    const word0 = view.getInt32(offset);
    let word1 = 0;
    let word2 = 0;
    let word3 = 0;
    if (length === 6) word1 = view.getUint16(offset + 4);
    else if (length === 16) {
      word1 = view.getInt32(offset + 4);
      word2 = view.getInt32(offset + 8);
      word3 = view.getInt32(offset + 12);
    }
    const place = recentPlace(word0, word1, word2, word3);
    const recent = this.#recent[place]!;
    if (this.#isKey(recent, length, word0, word1, word2, word3)) return recent;
    const code = this.#find(bytes, offset, length, word0, word1, word2, word3);
    this.#recent[place] = code;
    return code;
  }

  #find(
    bytes: Uint8Array,
    offset: number,
    length: number,
    word0: number,
    word1: number,
    word2: number,
    word3: number,
  ): number {
    const mask = this.#slots.length - 1;
    let slot = this.#hash(length, word0, word1, word2, word3) & mask;
    for (;;) {
      const entry = this.#slots[slot]!;
      if (entry === 0) return this.#insert(slot, bytes, offset, length, word0, word1, word2, word3);
      if (this.#isKey(entry - 1, length, word0, word1, word2, word3)) return entry - 1;
      slot = (slot + 1) & mask;
    }
  }

  #isKey(code: number, length: number, word0: number, word1: number, word2: number, word3: number): boolean {
    const keys = this.#keys;
    const key = code * KEY_WORDS;
    return (
      keys[key + 1] === word0 &&
      keys[key + 2] === word1 &&
      keys[key] === length &&
      keys[key + 3] === word2 &&
      keys[key + 4] === word3
    );
  }

  /** Gives its memory back; it is of no use any more. */
  end(): void {
    giveBack(this.#slots);
    giveBack(this.#keys);
  }

  #insert(
    slot: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    word0: number,
    word1: number,
    word2: number,
    word3: number,
  ): number {
    const code = this.texts.push(addressText(bytes, offset, length)) - 1;
    this.#slots[slot] = code + 1;
    this.#keys.set([length, word0, word1, word2, word3], code * KEY_WORDS);
    if (this.texts.length * 2 >= this.#slots.length) this.#grow();
    return code;
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let code = 0; code < this.texts.length; code++) {
      const key = code * KEY_WORDS;
      const keys = this.#keys;
      let slot =
        this.#hash(keys[key]!, keys[key + 1]!, keys[key + 2]!, keys[key + 3]!, keys[key + 4]!) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = code + 1;
    }
    giveBack(this.#slots);
    this.#slots = slots;
    const keys = new Int32Array((slots.length / 2) * KEY_WORDS);
    keys.set(this.#keys);
    giveBack(this.#keys);
    this.#keys = keys;
  }

  /** Multiply and rotate over the key's words from the seed, then the finalizer of MurmurHash3 (fmix32). */
  #hash(length: number, word0: number, word1: number, word2: number, word3: number): number {
    let hash = mix(this.#seed ^ length, word0);
    hash = mix(hash, word1);
    if (length === 16) hash = mix(mix(hash, word2), word3);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return hash ^ (hash >>> 16);
  }
}

/** Tells the hosts of a network apart. Whoever makes addresses collide here only sends them to the table behind. */
function recentPlace(word0: number, word1: number, word2: number, word3: number): number {
  const word = word0 ^ word1 ^ word2 ^ word3;
  return (word ^ (word >>> 8)) & (RECENT - 1);
}

function mix(hash: number, word: number): number {
  const product = Math.imul(word, 0xcc9e2d51);
  const mixed = hash ^ Math.imul((product << 15) | (product >>> 17), 0x1b873593);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

function addressText(bytes: Uint8Array, offset: number, length: number): string {
  if (length === 4) {
    return ipv4Text(new DataView(bytes.buffer, bytes.byteOffset).getUint32(offset));
  }
  return length === 6 ? macText(bytes, offset) : ipv6Text(bytes, offset);
}
