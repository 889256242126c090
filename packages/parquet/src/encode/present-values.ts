/*
 * The values of the rows that have one, close together, as data pages hold them. Each function gives the number of values.
 * Rows are taken eight at a time by their byte of the bitmap; within a byte every row is stored and the place moves on by its
 * bit, without a branch. `out` has room for `rows` values, and seven more.
 */

/** Room that {@link presentInt32} and its like need beyond the rows. */
export const SPARE = 8;

/** Copies the values that are not null to the front of `out`. Returns how many there are. */
export function presentInt32(values: Int32Array, bitmap: Uint8Array, rows: number, out: Int32Array): number {
  let count = 0;
  const whole = rows >> 3;
  for (let byte = 0; byte < whole; byte++) {
    const bits = bitmap[byte]!;
    if (bits === 0) continue;
    const row = byte << 3;
    // A loop over the eight takes a quarter more.
    out[count] = values[row]!;
    count += bits & 1;
    out[count] = values[row + 1]!;
    count += (bits >> 1) & 1;
    out[count] = values[row + 2]!;
    count += (bits >> 2) & 1;
    out[count] = values[row + 3]!;
    count += (bits >> 3) & 1;
    out[count] = values[row + 4]!;
    count += (bits >> 4) & 1;
    out[count] = values[row + 5]!;
    count += (bits >> 5) & 1;
    out[count] = values[row + 6]!;
    count += (bits >> 6) & 1;
    out[count] = values[row + 7]!;
    count += bits >> 7;
  }
  for (let row = whole << 3; row < rows; row++) {
    if (((bitmap[row >> 3]! >> (row & 7)) & 1) === 1) out[count++] = values[row]!;
  }
  return count;
}

/** As {@link presentInt32}, for 64-bit values given as halves, one after the other. */
export function presentHalves(halves: Int32Array, bitmap: Uint8Array, rows: number, out: Int32Array): number {
  let count = 0;
  const whole = rows >> 3;
  for (let byte = 0; byte < whole; byte++) {
    const bits = bitmap[byte]!;
    if (bits === 0) continue;
    const row = byte << 3;
    for (let i = 0; i < 8; i++) {
      out[2 * count] = halves[2 * (row + i)]!;
      out[2 * count + 1] = halves[2 * (row + i) + 1]!;
      count += (bits >> i) & 1;
    }
  }
  for (let row = whole << 3; row < rows; row++) {
    if (((bitmap[row >> 3]! >> (row & 7)) & 1) === 0) continue;
    out[2 * count] = halves[2 * row]!;
    out[2 * count + 1] = halves[2 * row + 1]!;
    count++;
  }
  return count;
}

/** As {@link presentInt32}, for booleans of one byte a row. */
export function presentBytes(values: Uint8Array, bitmap: Uint8Array, rows: number, out: Int32Array): number {
  let count = 0;
  for (let row = 0; row < rows; row++) {
    out[count] = values[row]!;
    count += (bitmap[row >> 3]! >> (row & 7)) & 1;
  }
  return count;
}
