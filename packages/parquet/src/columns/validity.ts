import { ABSENT } from "./absent.ts";
import type { Validity } from "./row-group.ts";

/*
 * Which rows of a builder's array hold a value. Each kind of array has its own function: one that sees several kinds is
 * compiled for none of them. Most columns of a row group have no null or nothing else, which a pass without a bitmap finds out.
 * Measured on 40,000 rows of 63 columns (Node 24, x86-64), with values stored as they are taken: taking a row group went from 485
 * to 115 ns a row.
 */

/** Validity of values where ABSENT is a null. */
export function int32Validity(values: Int32Array): Validity {
  const rows = values.length;
  const isFirstAbsent = rows > 0 && values[0] === ABSENT;
  let same = 1;
  while (same < rows && (values[same] === ABSENT) === isFirstAbsent) same++;
  if (same >= rows) return isFirstAbsent ? allNull(rows) : noNull;
  const bitmap = new Uint8Array((rows + 7) >> 3);
  let present = 0;
  const whole = rows >> 3;
  for (let byte = 0; byte < whole; byte++) {
    const i = byte << 3;
    const low =
      isPresent(values[i]!) |
      (isPresent(values[i + 1]!) << 1) |
      (isPresent(values[i + 2]!) << 2) |
      (isPresent(values[i + 3]!) << 3);
    const high =
      isPresent(values[i + 4]!) |
      (isPresent(values[i + 5]!) << 1) |
      (isPresent(values[i + 6]!) << 2) |
      (isPresent(values[i + 7]!) << 3);
    bitmap[byte] = low | (high << 4);
    present += bitCounts[low]! + bitCounts[high]!;
  }
  for (let i = whole << 3; i < rows; i++) {
    bitmap[i >> 3]! |= isPresent(values[i]!) << (i & 7);
    present += isPresent(values[i]!);
  }
  return { nullCount: rows - present, bitmap };
}

/** As {@link int32Validity}, for values of 0, 1 and ABSENT. */
export function int8Validity(values: Int8Array): Validity {
  const rows = values.length;
  let nullCount = 0;
  for (let i = 0; i < rows; i++) nullCount += values[i]! >>> 31;
  if (nullCount === 0) return noNull;
  if (nullCount === rows) return allNull(rows);
  const bitmap = new Uint8Array((rows + 7) >> 3);
  for (let i = 0; i < rows; i++) bitmap[i >> 3]! |= ((values[i]! >>> 31) ^ 1) << (i & 7);
  return { nullCount, bitmap };
}

/** Of 64-bit values given as halves, the low one first; those whose high half is `absentHigh` are null. */
export function halvesValidity(halves: Int32Array, absentHigh: number): Validity {
  const rows = halves.length >> 1;
  const isFirstAbsent = rows > 0 && halves[1] === absentHigh;
  let same = 1;
  while (same < rows && (halves[2 * same + 1] === absentHigh) === isFirstAbsent) same++;
  if (same >= rows) return isFirstAbsent ? allNull(rows) : noNull;
  const bitmap = new Uint8Array((rows + 7) >> 3);
  let present = 0;
  for (let i = 0; i < rows; i++) {
    const bit = isNotZero(halves[2 * i + 1]! ^ absentHigh);
    bitmap[i >> 3]! |= bit << (i & 7);
    present += bit;
  }
  return { nullCount: rows - present, bitmap };
}

const noNull: Validity = { nullCount: 0, bitmap: null };

function allNull(rows: number): Validity {
  return { nullCount: rows, bitmap: new Uint8Array((rows + 7) >> 3) };
}

function isPresent(value: number): number {
  return isNotZero(value ^ ABSENT);
}

/** 1 or 0, without a branch: n | -n has its sign bit set unless n is 0. */
function isNotZero(value: number): number {
  return (value | -value) >>> 31;
}

/** Ones in each number of four bits. */
const bitCounts = Uint8Array.from([0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4]);
