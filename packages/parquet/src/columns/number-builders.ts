import { int8Room, int32Room, int64Room } from "../memory/array-room.ts";
import { ABSENT } from "./absent.ts";
import type { ColumnBuilder } from "./column-builder.ts";
import type { Column } from "./row-group.ts";
import { halvesValidity, int8Validity, int32Validity } from "./validity.ts";

/** Collects a column of signed 32-bit integers; ABSENT is a null. */
export class IntegerBuilder implements ColumnBuilder {
  readonly rowBytes = 4;
  values = new Int32Array(0);

  ensureRows(rows: number): void {
    this.values = int32Room(this.values, rows, ABSENT);
  }

  take(from: number, to: number): Column {
    const values = this.values.subarray(from, to);
    return { kind: "integer", values, ...int32Validity(values) };
  }

  removeFirst(count: number, rows: number): void {
    this.values.copyWithin(0, count, rows);
  }

  setNull(from: number, to: number): void {
    this.values.fill(ABSENT, from, to);
  }
}

/** Values of 0 to 2^53 - 1, which every `long` column of packets is far below. */
export class LongBuilder implements ColumnBuilder {
  readonly rowBytes = 8;
  #values = new BigInt64Array(0);
  /** The same memory: no BigInt is made for a row. */
  #halves = new Int32Array(0);

  ensureRows(rows: number): void {
    this.#values = int64Room(this.#values, rows, BigInt(ABSENT));
    this.#halves = halvesOf(this.#values);
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

  setNull(from: number, to: number): void {
    this.#halves.fill(ABSENT, 2 * from, 2 * to);
  }
}

/** High half of a time that is not there: it would lie 292,000 years before 1970. */
const NO_TIME = -0x8000_0000;

/** Microseconds since 1970. */
export class TimestampBuilder implements ColumnBuilder {
  readonly rowBytes = 8;
  #values = new BigInt64Array(0);
  /** The same memory: no BigInt is made for a row. */
  #halves = new Int32Array(0);

  ensureRows(rows: number): void {
    this.#values = int64Room(this.#values, rows, BigInt(NO_TIME) << 32n);
    this.#halves = halvesOf(this.#values);
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

  /** The same time in rows `from` to `to` (exclusive), of which there is one. */
  fill(from: number, to: number, seconds: number, nanoseconds: number): void {
    this.set(from, seconds, nanoseconds);
    this.#values.fill(this.#values[from]!, from, to);
  }

  take(from: number, to: number): Column {
    const validity = halvesValidity(this.#halves.subarray(2 * from, 2 * to), NO_TIME);
    return { kind: "timestamp", values: this.#values.subarray(from, to), ...validity };
  }

  removeFirst(count: number, rows: number): void {
    this.#values.copyWithin(0, count, rows);
  }

  setNull(from: number, to: number): void {
    this.#halves.fill(NO_TIME, 2 * from, 2 * to);
  }
}

/** 0, 1 or ABSENT. */
export class BooleanBuilder implements ColumnBuilder {
  readonly rowBytes = 1;
  values = new Int8Array(0);

  ensureRows(rows: number): void {
    this.values = int8Room(this.values, rows, ABSENT);
  }

  take(from: number, to: number): Column {
    const values = this.values.subarray(from, to);
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.length);
    return { kind: "boolean", values: bytes, ...int8Validity(values) };
  }

  removeFirst(count: number, rows: number): void {
    this.values.copyWithin(0, count, rows);
  }

  setNull(from: number, to: number): void {
    this.values.fill(ABSENT, from, to);
  }
}

function halvesOf(values: BigInt64Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  return new Int32Array(values.buffer, values.byteOffset, 2 * values.length);
}
