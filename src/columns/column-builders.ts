import { ABSENT } from "../decode/packet-record.ts";
import { AddressDictionary } from "./address-dictionary.ts";
import type { Column } from "./row-group.ts";
import { halvesValidity, int8Validity, int32Validity } from "./validity.ts";

/**
 * Builders of one column each. A row is written by storing into the builder's arrays (`values[row] = x`, or by `set` where a
 * value takes more than one store), after `ensureRows`; ABSENT is a null. Values are stored as a row group has them, so that
 * taking rows copies next to nothing; validity is made then, in one pass, instead of row by row.
 */
export interface ColumnBuilder {
  /** Makes room for `rows` rows in all. */
  ensureRows(rows: number): void;
  /** Rows `from` to `to` (exclusive) as a column; its arrays are valid until the next store or `take`. */
  take(from: number, to: number): Column;
  /** Forgets the first `count` of `rows` rows: those behind them move to the front. Cost: a copy of those. */
  removeFirst(count: number, rows: number): void;
  /** Starts anew at row 0. Arrays are kept. */
  clear(): void;
}

export class IntegerBuilder implements ColumnBuilder {
  values = new Int32Array(0);

  ensureRows(rows: number): void {
    this.values = grownInt32(this.values, rows);
  }

  take(from: number, to: number): Column {
    const values = this.values.subarray(from, to);
    return { kind: "integer", values, ...int32Validity(values) };
  }

  removeFirst(count: number, rows: number): void {
    this.values.copyWithin(0, count, rows);
  }

  clear(): void {}
}

/** Values of 0 to 2^53 - 1, which every `long` column of packets is far below. */
export class LongBuilder implements ColumnBuilder {
  #values = new BigInt64Array(0);
  /** The same memory: no BigInt is made for a row. */
  #halves = new Int32Array(0);

  ensureRows(rows: number): void {
    this.#values = grownInt64(this.#values, rows);
    this.#halves = new Int32Array(this.#values.buffer);
  }

  /** ABSENT becomes -1, whose high half no value has. */
  set(row: number, value: number): void {
    const halves = this.#halves;
    halves[2 * row] = value;
    halves[2 * row + 1] = Math.floor(value / 0x1_0000_0000);
  }

  take(from: number, to: number): Column {
    const validity = halvesValidity(this.#halves.subarray(2 * from, 2 * to), ABSENT);
    return { kind: "long", values: this.#values.subarray(from, to), ...validity };
  }

  removeFirst(count: number, rows: number): void {
    this.#values.copyWithin(0, count, rows);
  }

  clear(): void {}
}

/** High half of a time that is not there: it would lie 292,000 years before 1970. */
const NO_TIME = -0x8000_0000;

/** Microseconds since 1970. */
export class TimestampBuilder implements ColumnBuilder {
  #values = new BigInt64Array(0);
  /** The same memory: no BigInt is made for a row. */
  #halves = new Int32Array(0);

  ensureRows(rows: number): void {
    this.#values = grownInt64(this.#values, rows);
    this.#halves = new Int32Array(this.#values.buffer);
  }

  /** Seconds since 1970 (an exact integer, may be negative) and nanoseconds within the second, of the years 1 to 9999. */
  set(row: number, seconds: number, nanoseconds: number): void {
    const micro = Math.floor(nanoseconds / 1000);
    const micros = seconds * 1_000_000 + micro;
    if (Number.isSafeInteger(micros)) {
      const halves = this.#halves;
      halves[2 * row] = micros;
      halves[2 * row + 1] = Math.floor(micros / 0x1_0000_0000);
    } else {
      // Beyond April 2255, where microseconds pass 2^53.
      this.#values[row] = BigInt(seconds) * 1_000_000n + BigInt(micro);
    }
  }

  setNull(row: number): void {
    this.#halves[2 * row + 1] = NO_TIME;
  }

  take(from: number, to: number): Column {
    const validity = halvesValidity(this.#halves.subarray(2 * from, 2 * to), NO_TIME);
    return { kind: "timestamp", values: this.#values.subarray(from, to), ...validity };
  }

  removeFirst(count: number, rows: number): void {
    this.#values.copyWithin(0, count, rows);
  }

  clear(): void {}
}

/** 0, 1 or ABSENT. */
export class BooleanBuilder implements ColumnBuilder {
  values = new Int8Array(0);

  ensureRows(rows: number): void {
    if (rows <= this.values.length) return;
    const grown = new Int8Array(rows);
    grown.set(this.values);
    this.values = grown;
  }

  take(from: number, to: number): Column {
    const { buffer } = this.values;
    const validity = int8Validity(this.values.subarray(from, to));
    return { kind: "boolean", values: new Uint8Array(buffer, from, to - from), ...validity };
  }

  removeFirst(count: number, rows: number): void {
    this.values.copyWithin(0, count, rows);
  }

  clear(): void {}
}

/** What a dictionary keeps from one batch to the next; a larger one is dropped, so that memory stays bounded. */
const MAX_KEPT_ENTRIES = 16_384;
const MAX_KEPT_BYTES = 2 * 1024 * 1024;
/** What an entry costs besides its text (two bytes a UTF-16 unit at most): the string's head, its place in map and list. */
const ENTRY_BYTES = 64;

/** Of an entry that no taken row has used so far. */
const UNSEEN = -2;

/** Codes into a dictionary of strings that outlives the batch, since the same values come again. */
abstract class DictionaryBuilder implements ColumnBuilder {
  codes = new Int32Array(0);
  /** At code + 1 (so that ABSENT has a place) the code among the entries that the taken rows use. */
  #remap = new Int32Array(0);
  /** Codes of the taken rows. */
  #taken = new Int32Array(0);
  #bytesAtClear = 0;

  /** Bytes, roughly, of the entries that came since the last `clear`: they stay in memory until the next one. */
  get newBytes(): number {
    return this.bytes - this.#bytesAtClear;
  }

  ensureRows(rows: number): void {
    this.codes = grownInt32(this.codes, rows);
  }

  take(from: number, to: number): Column {
    const entries = this.entries();
    if (this.#remap.length <= entries.length) this.#remap = new Int32Array(entries.length * 2 + 1);
    const remap = this.#remap.fill(UNSEEN, 0, entries.length + 1);
    remap[0] = ABSENT;
    const rows = to - from;
    if (this.#taken.length < rows) this.#taken = new Int32Array(this.codes.length);
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

  clear(): void {
    if (this.entries().length > MAX_KEPT_ENTRIES || this.bytes > MAX_KEPT_BYTES) this.drop();
    this.#bytesAtClear = this.bytes;
  }

  protected abstract entries(): readonly string[];
  /** Bytes, roughly, of all entries. */
  protected abstract get bytes(): number;
  /** Forgets all entries. */
  protected abstract drop(): void;
}

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

  protected get bytes(): number {
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

  protected get bytes(): number {
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

  protected get bytes(): number {
    return this.#dictionary.texts.length * (ENTRY_BYTES + ADDRESS_BYTES);
  }

  protected drop(): void {
    this.#dictionary = new AddressDictionary(this.#seed);
  }

  protected entries(): readonly string[] {
    return this.#dictionary.texts;
  }
}

/**
 * Up to so many bytes are copied by words: 20 ns for a CAN frame of 16 bytes against 57 by a call, which makes an array for each
 * row; of 200 bytes the call is as fast (Node 24, x86-64).
 */
const SHORT_BYTES = 96;

/** Byte strings, one after another in one buffer. Rows are appended in order, with {@link BinaryBuilder.append}. */
export class BinaryBuilder implements ColumnBuilder {
  bytes = new Uint8Array(64 * 1024);
  #view = new DataView(this.bytes.buffer);
  /** What was copied from last, with a view on it. */
  #source: Uint8Array = this.bytes;
  #sourceView: DataView = this.#view;
  #offsets = new Int32Array(1);
  #present = new Int8Array(0);

  ensureRows(rows: number): void {
    if (rows <= this.#present.length) return;
    this.#offsets = grownInt32(this.#offsets, rows + 1);
    const present = new Int8Array(rows);
    present.set(this.#present);
    this.#present = present;
  }

  /** Bytes of the rows before `row`. */
  bytesBefore(row: number): number {
    return this.#offsets[row]!;
  }

  /** Copies `length` bytes, or stores a null where length is ABSENT, as row `row`, which must be the next one. */
  append(row: number, source: Uint8Array, offset: number, length: number): void {
    const start = this.#offsets[row]!;
    if (length === ABSENT) {
      this.#present[row] = ABSENT;
      this.#offsets[row + 1] = start;
      return;
    }
    const end = start + length;
    if (end > this.bytes.length) this.#growBytes(end);
    if (length <= SHORT_BYTES) this.#copyShort(source, offset, start, end);
    else this.bytes.set(source.subarray(offset, offset + length), start);
    this.#present[row] = 1;
    this.#offsets[row + 1] = end;
  }

  take(from: number, to: number): Column {
    const start = this.#offsets[from]!;
    const bytes = this.bytes.subarray(start, this.#offsets[to]);
    const validity = int8Validity(this.#present.subarray(from, to));
    if (start === 0) {
      return { kind: "binary", bytes, offsets: this.#offsets.subarray(from, to + 1), ...validity };
    }
    const offsets = this.#offsets.slice(from, to + 1);
    for (let i = 0; i < offsets.length; i++) offsets[i] = offsets[i]! - start;
    return { kind: "binary", bytes, offsets, ...validity };
  }

  removeFirst(count: number, rows: number): void {
    const start = this.#offsets[count]!;
    this.bytes.copyWithin(0, start, this.#offsets[rows]);
    this.#offsets.copyWithin(0, count, rows + 1);
    for (let row = 0; row <= rows - count; row++) this.#offsets[row]! -= start;
    this.#present.copyWithin(0, count, rows);
  }

  clear(): void {}

  /** Word by word. Copies what `source` holds there and no more: `end` may be the last byte of either buffer. */
  #copyShort(source: Uint8Array, offset: number, start: number, end: number): void {
    if (source !== this.#source) {
      this.#source = source;
      this.#sourceView = new DataView(source.buffer, source.byteOffset, source.length);
    }
    const from = this.#sourceView;
    const to = this.#view;
    let at = start;
    let next = offset;
    for (; at + 4 <= end; at += 4, next += 4) to.setInt32(at, from.getInt32(next, true), true);
    for (; at < end; at++, next++) this.bytes[at] = source[next]!;
  }

  #growBytes(needed: number): void {
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes);
    this.bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

function grownInt32(values: Int32Array<ArrayBuffer>, rows: number): Int32Array<ArrayBuffer> {
  if (rows <= values.length) return values;
  const grown = new Int32Array(rows);
  grown.set(values);
  return grown;
}

function grownInt64(values: BigInt64Array<ArrayBuffer>, rows: number): BigInt64Array<ArrayBuffer> {
  if (rows <= values.length) return values;
  const grown = new BigInt64Array(rows);
  grown.set(values);
  return grown;
}
