/**
 * What a ledger's line says of a source, without the details. `earlier`: committed by an older version, under an id that was made
 * from the capture's path. `released`: not known any more.
 */
export type IndexedStatus = (typeof STATUSES)[number];

const STATUSES = ["committed", "earlier", "rejected", "empty", "released", "unfinished"] as const;
const EARLIER = STATUSES.indexOf("earlier");

/** A source id as four numbers of 32 bits, in the order of its digits. */
export type IdWords = readonly [number, number, number, number];

/** Share of the slots that may be taken: beyond it, a search passes too many of them. */
const MAX_LOAD = 0.75;
const GROWTH = 1.6;
const MIN_SLOTS = 1_024;

/**
 * Where in the ledger's file the valid line of each source lies: a hash table with open addressing in typed arrays. Takes
 * 25 bytes a slot, 33 to 54 bytes a source, where a Map of parsed entries takes some 500. Holds 2^32 slots at most.
 */
export class LedgerIndex {
  #slots: number;
  #ids: Uint32Array;
  /** The line's byte offset + 1; 0 in an empty slot. */
  #places: Float64Array;
  #statuses: Uint8Array;
  #size = 0;
  #earlier = 0;

  constructor() {
    this.#slots = MIN_SLOTS;
    this.#ids = new Uint32Array(4 * this.#slots);
    this.#places = new Float64Array(this.#slots);
    this.#statuses = new Uint8Array(this.#slots);
  }

  /** Sources in the index. */
  get size(): number {
    return this.#size;
  }

  /** Those of the status `earlier`. */
  get earlier(): number {
    return this.#earlier;
  }

  /** Makes room for `sources` in all, so that adding them copies nothing. */
  reserve(sources: number): void {
    const slots = Math.ceil(sources / MAX_LOAD) + 1;
    if (slots > this.#slots) this.#resize(slots);
  }

  /** Returns the valid line of a source; null for one that is not in the ledger. */
  find(id: IdWords): { readonly offset: number; readonly status: IndexedStatus } | null {
    const slot = this.#slotOf(id);
    const place = this.#places[slot]!;
    const status = STATUSES[this.#statuses[slot]!]!;
    return place === 0 || status === "released" ? null : { offset: place - 1, status };
  }

  /**
   * Takes a line into the index. A source that is committed stays so: a later line of another status is passed over, unless it
   * releases the source.
   */
  put(id: IdWords, offset: number, status: IndexedStatus): void {
    const slot = this.#slotOf(id);
    const code = STATUSES.indexOf(status);
    if (this.#places[slot] === 0) {
      this.#ids.set(id, 4 * slot);
      this.#size++;
    } else {
      const before = this.#statuses[slot]!;
      if (!isCommitted(status) && status !== "released" && isCommitted(STATUSES[before]!)) return;
      if (before === EARLIER) this.#earlier--;
    }
    if (code === EARLIER) this.#earlier++;
    this.#places[slot] = offset + 1;
    this.#statuses[slot] = code;
    if (this.#size > MAX_LOAD * this.#slots) this.#resize(Math.ceil(GROWTH * this.#slots));
  }

  /** The source's slot, or the empty one where it belongs. Ids are parts of hashes: their first word spreads them evenly. */
  #slotOf([a, b, c, d]: IdWords): number {
    const ids = this.#ids;
    let slot = Math.floor((a / 2 ** 32) * this.#slots);
    while (this.#places[slot] !== 0) {
      const at = 4 * slot;
      if (ids[at] === a && ids[at + 1] === b && ids[at + 2] === c && ids[at + 3] === d) return slot;
      slot = slot + 1 === this.#slots ? 0 : slot + 1;
    }
    return slot;
  }

  #resize(slots: number): void {
    const [ids, places, statuses, before] = [this.#ids, this.#places, this.#statuses, this.#slots];
    this.#slots = slots;
    this.#ids = new Uint32Array(4 * slots);
    this.#places = new Float64Array(slots);
    this.#statuses = new Uint8Array(slots);
    for (let from = 0; from < before; from++) {
      if (places[from] === 0) continue;
      const at = 4 * from;
      const slot = this.#slotOf([ids[at]!, ids[at + 1]!, ids[at + 2]!, ids[at + 3]!]);
      this.#ids.set(ids.subarray(at, at + 4), 4 * slot);
      this.#places[slot] = places[from]!;
      this.#statuses[slot] = statuses[from]!;
    }
  }
}

function isCommitted(status: IndexedStatus): boolean {
  return status === "committed" || status === "earlier";
}

/** Returns the words of a source id; null for a text that is none. */
export function idWords(id: string): IdWords | null {
  if (!/^[0-9a-f]{32}$/.test(id)) return null;
  const word = (at: number) => Number.parseInt(id.slice(at, at + 8), 16);
  return [word(0), word(8), word(16), word(24)];
}
