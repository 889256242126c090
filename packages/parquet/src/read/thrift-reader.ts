import { ParquetDamage } from "./damaged-parquet.ts";

/** Types of Thrift's compact protocol that Parquet uses. */
const Type = {
  TRUE: 1,
  FALSE: 2,
  I8: 3,
  I16: 4,
  I32: 5,
  I64: 6,
  DOUBLE: 7,
  BINARY: 8,
  LIST: 9,
  SET: 10,
  STRUCT: 12,
} as const;

/** In a list each boolean takes a byte of its own. */
const LISTED_BOOLEAN = 16;
/** Parquet's own structs nest five deep. */
const MAX_DEPTH = 16;

/**
 * Reads Thrift's compact protocol (parquet.thrift) from bytes that may hold anything: every length is compared with the bytes
 * that are left, depth is bounded, and the work is linear in the bytes. Throws `ParquetDamage` with the byte of the file.
 *
 * A visitor reads the value of the field that it was called for, or leaves it, and then it is skipped.
 */
export class ThriftReader {
  readonly #bytes: Uint8Array;
  /** Offset in the file of the first byte. */
  readonly #base: number;
  #at: number;
  #depth = 0;
  /** Type of the value that comes next; null once it was read. */
  #pending: number | null = null;

  constructor(bytes: Uint8Array, base: number, at = 0) {
    this.#bytes = bytes;
    this.#base = base;
    this.#at = at;
  }

  /** Position in the bytes. */
  get position(): number {
    return this.#at;
  }

  damage(problem: string): ParquetDamage {
    return new ParquetDamage(problem, this.#base + Math.min(this.#at, this.#bytes.length));
  }

  /** The struct that the bytes begin with. */
  root(visit: (field: number) => void): void {
    this.#pending = Type.STRUCT;
    this.struct(visit);
  }

  struct(visit: (field: number) => void): void {
    this.#take("a struct", Type.STRUCT);
    this.#enter();
    let field = 0;
    for (;;) {
      const header = this.#byte();
      if (header === 0) break;
      const delta = header >> 4;
      field = delta === 0 ? this.#zigzag(16) : field + delta;
      this.#pending = header & 0x0f;
      visit(field);
      if (this.#pending !== null) this.skip();
    }
    this.#depth--;
  }

  /** Calls `visit` for each item and returns how many there are. */
  list(visit: (index: number) => void): number {
    this.#take("a list", Type.LIST);
    const { type, size } = this.#listHeader();
    this.#enter();
    for (let i = 0; i < size; i++) {
      this.#pending = type;
      visit(i);
      if (this.#pending !== null) this.skip();
    }
    this.#depth--;
    return size;
  }

  int(): number {
    const type = this.#take("an integer", Type.I32, Type.I16, Type.I8);
    return type === Type.I8 ? (this.#byte() << 24) >> 24 : this.#zigzag(32);
  }

  /** A 64-bit count, size or offset; exact, since the format's files are smaller than 2^53 bytes. */
  long(): number {
    this.#take("a 64-bit integer", Type.I64);
    return this.#zigzag(64);
  }

  boolean(): boolean {
    const type = this.#take("a boolean", Type.TRUE, Type.FALSE, LISTED_BOOLEAN);
    return type === LISTED_BOOLEAN ? this.#byte() === 1 : type === Type.TRUE;
  }

  /** The bytes, not copied. */
  binary(): Uint8Array {
    this.#take("bytes", Type.BINARY);
    const length = this.#varint(32);
    this.#need(length, `a value of ${length} bytes`);
    const start = this.#at;
    this.#at += length;
    return this.#bytes.subarray(start, this.#at);
  }

  skip(): void {
    const type = this.#pending;
    switch (type) {
      case Type.TRUE:
      case Type.FALSE:
      case LISTED_BOOLEAN:
        this.boolean();
        return;
      case Type.I8:
      case Type.I16:
      case Type.I32:
        this.int();
        return;
      case Type.I64:
        this.#pending = null;
        this.#skipVarint();
        return;
      case Type.DOUBLE:
        this.#pending = null;
        this.#need(8, "a number of 8 bytes");
        this.#at += 8;
        return;
      case Type.BINARY:
        this.binary();
        return;
      case Type.LIST:
      case Type.SET:
        this.#pending = Type.LIST;
        this.list(() => this.skip());
        return;
      case Type.STRUCT:
        this.struct(() => this.skip());
        return;
      default:
        throw this.damage(`a value has the type ${type}, which Parquet does not use`);
    }
  }

  #take(what: string, ...types: readonly number[]): number {
    const type = this.#pending;
    if (type === null || !types.includes(type)) throw this.damage(`${what} is of Thrift type ${type}`);
    this.#pending = null;
    return type;
  }

  #enter(): void {
    this.#depth++;
    if (this.#depth > MAX_DEPTH) throw this.damage(`structs are nested more than ${MAX_DEPTH} deep`);
  }

  #listHeader(): { type: number; size: number } {
    const header = this.#byte();
    const short = header >> 4;
    const size = short === 15 ? this.#varint(32) : short;
    // Each item takes a byte at least.
    this.#need(size, `a list of ${size} items`);
    const type = header & 0x0f;
    return { type: type === Type.TRUE || type === Type.FALSE ? LISTED_BOOLEAN : type, size };
  }

  #need(bytes: number, what: string): void {
    const left = this.#bytes.length - this.#at;
    if (bytes > left) throw this.damage(`${what} does not fit into the ${left} bytes that are left`);
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw this.damage("the bytes end within a value");
    this.#at++;
    return byte;
  }

  #zigzag(bits: 16 | 32 | 64): number {
    const folded = this.#varint(bits);
    return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
  }

  #varint(bits: 16 | 32 | 64): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      scale *= 128;
      if (scale >= 2 ** bits) throw this.damage(`an integer has more than ${bits} bits`);
    }
    if (value >= Math.min(2 ** bits, Number.MAX_SAFE_INTEGER)) {
      throw this.damage(`the integer ${value} is too large`);
    }
    return value;
  }

  /** Values that nobody needs may have all 64 bits. */
  #skipVarint(): void {
    for (let i = 0; i < 10; i++) if (this.#byte() < 0x80) return;
    throw this.damage("an integer has more than 64 bits");
  }
}
