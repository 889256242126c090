import { int32Room } from "../memory/array-room.ts";
import { giveBack } from "../memory/give-back.ts";
import { ABSENT } from "./absent.ts";
import { AddressDictionary } from "./address-dictionary.ts";
import type { ColumnBuilder } from "./column-builder.ts";
import type { Column } from "./row-group.ts";
import { int32Validity } from "./validity.ts";

/** What a dictionary keeps from one batch to the next; a larger one is dropped, so that memory stays bounded. */
const MAX_KEPT_ENTRIES = 16_384;
const MAX_KEPT_BYTES = 2 * 1024 * 1024;
/** What an entry costs besides its text (two bytes a UTF-16 unit at most): the string's head, its place in map and list. */
const ENTRY_BYTES = 64;

/** Of an entry that no taken row has used so far. */
const UNSEEN = -2;

/** Codes into a dictionary of strings that outlives the batch, since the same values come again. */
abstract class DictionaryBuilder implements ColumnBuilder {
  /** Of the codes, and of those taken. */
  readonly rowBytes = 8;
  codes = new Int32Array(0);
  /** At code + 1 (so that ABSENT has a place) the code among the entries that the taken rows use. */
  #remap = new Int32Array(0);
  /** Codes of the taken rows. */
  #taken = new Int32Array(0);
  #bytesAtEnd = 0;

  /** Bytes, roughly, of the entries that came since the last `endBatch`: they stay in memory until the next one. */
  get newBytes(): number {
    return this.bytes - this.#bytesAtEnd;
  }

  ensureRows(rows: number): void {
    this.codes = int32Room(this.codes, rows, ABSENT);
  }

  take(from: number, to: number): Column {
    const entries = this.entries();
    if (this.#remap.length <= entries.length) {
      giveBack(this.#remap);
      this.#remap = new Int32Array(entries.length * 2 + 1);
    }
    const remap = this.#remap.fill(UNSEEN, 0, entries.length + 1);
    remap[0] = ABSENT;
    const rows = to - from;
    if (this.#taken.length < rows) {
      giveBack(this.#taken);
      this.#taken = new Int32Array(this.codes.length);
    }
    const stored = this.codes;
    const codes = this.#taken.subarray(0, rows);
    const dictionary: string[] = [];
    for (let i = 0; i < rows; i++) {
      const code = stored[from + i]!;
      let mapped = remap[code + 1]!;
      if (mapped === UNSEEN) {
        mapped = dictionary.push(entries[code]!) - 1;
        remap[code + 1] = mapped;
      }
      codes[i] = mapped;
    }
    return { kind: "string", codes, dictionary, ...int32Validity(codes) };
  }

  removeFirst(count: number, rows: number): void {
    this.codes.copyWithin(0, count, rows);
  }

  setNull(from: number, to: number): void {
    this.codes.fill(ABSENT, from, to);
  }

  /** Between two batches, when no row is left: forgets the entries where they are too many to be kept. */
  endBatch(): void {
    if (this.entries().length > MAX_KEPT_ENTRIES || this.bytes > MAX_KEPT_BYTES) this.drop();
    this.#bytesAtEnd = this.bytes;
  }

  protected abstract entries(): readonly string[];
  /** Bytes, roughly, of all entries. */
  abstract get bytes(): number;
  /** Forgets all entries. */
  protected abstract drop(): void;
}

/** Collects a column of strings as codes and a dictionary of its distinct values. */
export class StringBuilder extends DictionaryBuilder {
  #codes = new Map<string, number>();
  #entries: string[] = [];
  #bytes = 0;
  /** The value asked for last, which all rows of a capture share in most columns, and its code. */
  #last: string | null = null;
  #lastCode = ABSENT;

  /** The value's code, to be stored in `codes`; ABSENT for null. */
  code(value: string | null): number {
    if (value === this.#last) return this.#lastCode;
    if (value === null) return ABSENT;
    let code = this.#codes.get(value);
    if (code === undefined) {
      code = this.#entries.push(value) - 1;
      this.#codes.set(value, code);
      this.#bytes += ENTRY_BYTES + 2 * value.length;
    }
    this.#last = value;
    this.#lastCode = code;
    return code;
  }

  get bytes(): number {
    return this.#bytes;
  }

  protected drop(): void {
    this.#codes = new Map();
    this.#entries = [];
    this.#bytes = 0;
    this.#last = null;
    this.#lastCode = ABSENT;
  }

  protected entries(): readonly string[] {
    return this.#entries;
  }
}

/** Codes of a fixed list of names. */
export class EnumBuilder extends DictionaryBuilder {
  readonly #names: readonly string[];

  constructor(names: readonly string[]) {
    super();
    this.#names = names;
  }

  get bytes(): number {
    return 0;
  }

  protected drop(): void {}

  protected entries(): readonly string[] {
    return this.#names;
  }
}

/** Of an address's text and key. */
const ADDRESS_BYTES = 56;

/** MAC, IPv4 and IPv6 addresses, looked up by their bytes: a text is made once for each address, not for each row. */
export class AddressBuilder extends DictionaryBuilder {
  readonly #seed: number;
  #dictionary: AddressDictionary;

  /** `seed` of the hash: unpredictable, so that nobody can upload a capture whose addresses all collide. */
  constructor(seed: number) {
    super();
    this.#seed = seed;
    this.#dictionary = new AddressDictionary(seed);
  }

  /** Code of the address of `length` (4, 6 or 16) bytes at `offset`; ABSENT where offset is. */
  code(bytes: Uint8Array, offset: number, length: number): number {
    return offset === ABSENT ? ABSENT : this.#dictionary.code(bytes, offset, length);
  }

  get bytes(): number {
    return this.#dictionary.texts.length * (ENTRY_BYTES + ADDRESS_BYTES);
  }

  protected drop(): void {
    this.#dictionary.end();
    this.#dictionary = new AddressDictionary(this.#seed);
  }

  protected entries(): readonly string[] {
    return this.#dictionary.texts;
  }
}
