import type { ByteBuffer } from "../memory/byte-buffer.ts";

/** Types of fields and list elements in the Thrift compact protocol. */
export const ThriftType = {
  TRUE: 1,
  FALSE: 2,
  I16: 4,
  I32: 5,
  I64: 6,
  BINARY: 8,
  LIST: 9,
  STRUCT: 12,
} as const;
type ThriftType = (typeof ThriftType)[keyof typeof ThriftType];

const utf8 = new TextEncoder();

/**
 * Writes structs in the Thrift compact protocol (apache/thrift, doc/specs/thrift-compact-protocol.md): as much of it as
 * Parquet's page headers and footer need. Fields are written in the order of their ids.
 */
export class CompactWriter {
  readonly #out: ByteBuffer;
  /** Last field id of each struct that is open, the innermost last. */
  readonly #lastIds: number[] = [];

  constructor(out: ByteBuffer) {
    this.#out = out;
  }

  /** Writes a struct that is no field: the top one, or an element of a list. */
  struct(fields: () => void): void {
    this.#lastIds.push(0);
    fields();
    this.#lastIds.pop();
    this.#out.byte(0);
  }

  structField(id: number, fields: () => void): void {
    this.#header(id, ThriftType.STRUCT);
    this.struct(fields);
  }

  bool(id: number, value: boolean): void {
    this.#header(id, value ? ThriftType.TRUE : ThriftType.FALSE);
  }

  i16(id: number, value: number): void {
    this.#header(id, ThriftType.I16);
    this.#integer(value);
  }

  i32(id: number, value: number): void {
    this.#header(id, ThriftType.I32);
    this.#integer(value);
  }

  /** `value`: an exact integer. */
  i64(id: number, value: number): void {
    this.#header(id, ThriftType.I64);
    this.#integer(value);
  }

  binary(id: number, value: Uint8Array): void {
    this.#header(id, ThriftType.BINARY);
    this.#bytes(value);
  }

  string(id: number, value: string): void {
    this.binary(id, utf8.encode(value));
  }

  i32List(id: number, values: readonly number[]): void {
    this.#listHeader(id, ThriftType.I32, values.length);
    for (const value of values) this.#integer(value);
  }

  stringList(id: number, values: readonly string[]): void {
    this.#listHeader(id, ThriftType.BINARY, values.length);
    for (const value of values) this.#bytes(utf8.encode(value));
  }

  structList<T>(id: number, items: readonly T[], fields: (item: T, index: number) => void): void {
    this.#listHeader(id, ThriftType.STRUCT, items.length);
    items.forEach((item, index) => {
      this.struct(() => fields(item, index));
    });
  }

  #header(id: number, type: ThriftType): void {
    const innermost = this.#lastIds.length - 1;
    const delta = id - this.#lastIds[innermost]!;
    this.#lastIds[innermost] = id;
    if (delta < 1 || delta > 15) throw new Error(`field ${id} does not follow the one before it by 1 to 15`);
    this.#out.byte((delta << 4) | type);
  }

  #listHeader(id: number, type: ThriftType, size: number): void {
    this.#header(id, ThriftType.LIST);
    if (size < 15) this.#out.byte((size << 4) | type);
    else {
      this.#out.byte(0xf0 | type);
      this.#out.varint(size);
    }
  }

  #bytes(value: Uint8Array): void {
    this.#out.varint(value.length);
    this.#out.append(value);
  }

  #integer(value: number): void {
    this.#out.zigzag64(value | 0, Math.floor(value / 0x1_0000_0000));
  }
}
