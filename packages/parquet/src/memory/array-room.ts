import { giveBack } from "./give-back.ts";

/** `values`, or a longer copy where they have no room for `rows`, instead of them; what is new is `fill`. */
export function int32Room(
  values: Int32Array<ArrayBuffer>,
  rows: number,
  fill: number,
): Int32Array<ArrayBuffer> {
  if (rows <= values.length) return values;
  const longer = new Int32Array(rows);
  longer.set(values);
  longer.fill(fill, values.length);
  giveBack(values);
  return longer;
}

/** As {@link int32Room}. */
export function int64Room(
  values: BigInt64Array<ArrayBuffer>,
  rows: number,
  fill: bigint,
): BigInt64Array<ArrayBuffer> {
  if (rows <= values.length) return values;
  const longer = new BigInt64Array(rows);
  longer.set(values);
  longer.fill(fill, values.length);
  giveBack(values);
  return longer;
}

/** As {@link int32Room}. */
export function int8Room(values: Int8Array<ArrayBuffer>, rows: number, fill: number): Int8Array<ArrayBuffer> {
  if (rows <= values.length) return values;
  const longer = new Int8Array(rows);
  longer.set(values);
  longer.fill(fill, values.length);
  giveBack(values);
  return longer;
}
