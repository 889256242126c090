import type {
  Column,
  ColumnDefinition,
  ColumnPage,
  ColumnType,
  Validity,
  ValueConverter,
} from "@deltacap/parquet";
import { isFlat, type ParquetField } from "@deltacap/parquet";

/** How a file holds a column of the table; null where its values are not, or not exactly, of the table's type. */
export function physicalTypeOf(field: ParquetField, type: ColumnType): "same" | "narrower" | null {
  const { physical, converted, logical } = field;
  if (!isFlat(field)) return null;
  const signed = logical?.type === "INTEGER" ? logical.isSigned : !(converted ?? "").startsWith("UINT");
  const plain = (logical === null || logical.type === "INTEGER") && signed && isInteger(converted);
  switch (type) {
    case "integer":
      return physical === "INT32" && plain ? "same" : null;
    case "long":
      if (physical === "INT64" && plain) return "same";
      // Type widening (Delta protocol): files from before it have the narrower type.
      return physical === "INT32" && plain ? "narrower" : null;
    case "timestamp":
      if (physical === "INT96") return "same";
      if (physical !== "INT64") return null;
      if (logical?.type === "TIMESTAMP") return logical.isAdjustedToUtc ? "same" : null;
      return converted === "TIMESTAMP_MICROS" || converted === "TIMESTAMP_MILLIS" ? "same" : null;
    case "boolean":
      return physical === "BOOLEAN" ? "same" : null;
    case "string":
      return physical === "BYTE_ARRAY" && isText(field) ? "same" : null;
    case "binary":
      return physical === "BYTE_ARRAY" && logical === null && converted === null ? "same" : null;
    case "date":
      return null;
  }
}

/** Units of a timestamp column in a microsecond, or microseconds in a unit: one of them is 1. */
export function timestampScale({ physical, converted, logical }: ParquetField): {
  readonly multiplier: bigint;
  readonly divisor: bigint;
} {
  if (physical === "INT96" || logical?.unit === "NANOS") return { multiplier: 1n, divisor: 1000n };
  const isMillis = logical === null ? converted === "TIMESTAMP_MILLIS" : logical.unit === "MILLIS";
  return { multiplier: isMillis ? 1000n : 1n, divisor: 1n };
}

/**
 * What becomes of a column's values before they are added to a {@link ColumnDecoder}; null where they are taken as they are.
 * Timestamps become microseconds, rounded down: whatever unit they have, other writers store any year in it, and infinity.
 */
export function valueConverter(field: ParquetField, type: ColumnType): ValueConverter | null {
  if (type === "string") return (raw) => utf8.decode(raw as Uint8Array);
  if (type !== "timestamp") return null;
  const { multiplier, divisor } = timestampScale(field);
  if (multiplier === 1n && divisor === 1n) return null;
  return (raw) => {
    const micros = floorDivided((raw as bigint) * multiplier, divisor);
    if (BigInt.asIntN(64, micros) === micros) return micros;
    throw new Error(
      `a timestamp of ${raw} ${multiplier === 1n ? "nanoseconds" : "milliseconds"} does not fit into 64 bits of microseconds`,
    );
  };
}

/** Returns the quotient, rounded towards negative infinity: times before 1970 are negative. */
export function floorDivided(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value % divisor < 0n ? quotient - 1n : quotient;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function isText({ converted, logical }: ParquetField): boolean {
  return logical?.type === "STRING" || converted === "UTF8";
}

function isInteger(converted: string | null): boolean {
  return converted === null || /^U?INT_(8|16|32|64)$/.test(converted);
}

/**
 * Collects the values of one column of one row group, as a Parquet reader gives them, into a typed column. Throws for a value
 * that is not of the column's type, and where rows are missing.
 */
export class ColumnDecoder {
  readonly #definition: ColumnDefinition;
  readonly #rows: number;
  readonly #target: Target;
  #bitmap: Uint8Array;
  #present = 0;
  #seen = 0;

  constructor(definition: ColumnDefinition, rows: number) {
    this.#definition = definition;
    this.#rows = rows;
    this.#target = targetOf(definition.type, rows);
    this.#bitmap = new Uint8Array((rows + 7) >> 3);
  }

  /** Values of the next rows. */
  add({ count, definitions, values }: ColumnPage): void {
    if (count > this.#rows - this.#seen) throw this.#wrongCount(this.#seen + count);
    let next = 0;
    for (let row = this.#seen; row < this.#seen + count; row++) {
      // A column that is not nested has the levels 0 and 1.
      if (definitions !== null && definitions[row - this.#seen] === 0) this.#target.addNull(row);
      else {
        this.#target.add(row, values[next++]);
        this.#bitmap[row >> 3]! |= 1 << (row & 7);
      }
    }
    this.#present += next;
    this.#seen += count;
  }

  /** Null where no row has a value. */
  column(): Column | null {
    if (this.#seen !== this.#rows) throw this.#wrongCount(this.#seen);
    if (this.#present === 0) return null;
    const nullCount = this.#rows - this.#present;
    return this.#target.column({ nullCount, bitmap: nullCount === 0 ? null : this.#bitmap });
  }

  #wrongCount(values: number): Error {
    return new Error(`column ${this.#definition.name} has ${values} values for ${this.#rows} rows`);
  }
}

interface Target {
  add(row: number, value: unknown): void;
  addNull(row: number): void;
  column(validity: Validity): Column;
}

function targetOf(type: ColumnType, rows: number): Target {
  switch (type) {
    case "integer":
      return new IntegerTarget(rows);
    case "long":
    case "timestamp":
      return new LongTarget(type, rows);
    case "boolean":
      return new BooleanTarget(rows);
    case "string":
      return new StringTarget(rows);
    case "binary":
      return new BinaryTarget(rows);
    case "date":
      throw new Error("a column of type date is the partition's, and in no file");
  }
}

function wrongType(expected: string, value: unknown): Error {
  return new Error(`a value is of type ${typeof value}, and must be ${expected}`);
}

class IntegerTarget implements Target {
  readonly #values: Int32Array;

  constructor(rows: number) {
    this.#values = new Int32Array(rows);
  }

  add(row: number, value: unknown): void {
    if (typeof value !== "number") throw wrongType("an integer", value);
    this.#values[row] = value;
  }

  addNull(): void {}

  column(validity: Validity): Column {
    return { kind: "integer", values: this.#values, ...validity };
  }
}

class LongTarget implements Target {
  readonly #kind: "long" | "timestamp";
  readonly #values: BigInt64Array;

  constructor(kind: "long" | "timestamp", rows: number) {
    this.#kind = kind;
    this.#values = new BigInt64Array(rows);
  }

  add(row: number, value: unknown): void {
    if (typeof value === "bigint") this.#values[row] = value;
    else if (typeof value === "number") this.#values[row] = BigInt(value);
    else throw wrongType("a long", value);
  }

  addNull(): void {}

  column(validity: Validity): Column {
    return { kind: this.#kind, values: this.#values, ...validity };
  }
}

class BooleanTarget implements Target {
  readonly #values: Uint8Array;

  constructor(rows: number) {
    this.#values = new Uint8Array(rows);
  }

  add(row: number, value: unknown): void {
    if (typeof value !== "boolean") throw wrongType("a boolean", value);
    this.#values[row] = value ? 1 : 0;
  }

  addNull(): void {}

  column(validity: Validity): Column {
    return { kind: "boolean", values: this.#values, ...validity };
  }
}

/** Dictionaries are taken apart by the reader: equal texts get one code again. */
class StringTarget implements Target {
  readonly #codes: Int32Array;
  readonly #dictionary: string[] = [];
  readonly #known = new Map<string, number>();
  #last: string | null = null;
  #lastCode = -1;

  constructor(rows: number) {
    this.#codes = new Int32Array(rows);
  }

  add(row: number, value: unknown): void {
    if (value !== this.#last) {
      if (typeof value !== "string") throw wrongType("a string", value);
      this.#last = value;
      this.#lastCode = this.#known.get(value) ?? this.#newCode(value);
    }
    this.#codes[row] = this.#lastCode;
  }

  addNull(row: number): void {
    this.#codes[row] = -1;
  }

  column(validity: Validity): Column {
    return { kind: "string", codes: this.#codes, dictionary: this.#dictionary, ...validity };
  }

  #newCode(text: string): number {
    const code = this.#dictionary.push(text) - 1;
    this.#known.set(text, code);
    return code;
  }
}

class BinaryTarget implements Target {
  readonly #offsets: Int32Array;
  #bytes = new Uint8Array(1024);
  #end = 0;

  constructor(rows: number) {
    this.#offsets = new Int32Array(rows + 1);
  }

  add(row: number, value: unknown): void {
    if (!(value instanceof Uint8Array)) throw wrongType("bytes", value);
    const end = this.#end + value.length;
    if (end > this.#bytes.length) {
      const longer = new Uint8Array(Math.max(end, 2 * this.#bytes.length));
      longer.set(this.#bytes.subarray(0, this.#end));
      this.#bytes = longer;
    }
    this.#bytes.set(value, this.#end);
    this.#end = end;
    this.#offsets[row + 1] = end;
  }

  addNull(row: number): void {
    this.#offsets[row + 1] = this.#end;
  }

  column(validity: Validity): Column {
    return { kind: "binary", bytes: this.#bytes.subarray(0, this.#end), offsets: this.#offsets, ...validity };
  }
}
