import { ParquetDamage } from "./damaged-parquet.ts";
import type { PhysicalTypeName } from "./schema.ts";

/** Values of one column as the file has them: INT96 as the nanoseconds since 1970 that it stands for. */
export type RawValues = ArrayLike<number | bigint | boolean | Uint8Array>;

/** Where values of a fixed width begin, and how many there are. */
interface Fixed {
  readonly bytes: Uint8Array;
  readonly at: number;
  readonly count: number;
}

/** Decodes `count` values of the encoding PLAIN. Byte arrays are parts of `bytes`, not copied. */
export function decodePlain(
  bytes: Uint8Array,
  at: number,
  count: number,
  { physical, typeLength }: { readonly physical: PhysicalTypeName | null; readonly typeLength: number },
): RawValues {
  const fixed = { bytes, at, count };
  switch (physical) {
    case "BOOLEAN":
      return plainBooleans(fixed);
    case "INT32":
      return new Int32Array(copied(fixed, 4));
    case "INT64":
      return new BigInt64Array(copied(fixed, 8));
    case "INT96":
      return plainInt96(fixed);
    case "FLOAT":
      return new Float32Array(copied(fixed, 4));
    case "DOUBLE":
      return new Float64Array(copied(fixed, 8));
    case "BYTE_ARRAY":
      return plainByteArrays(fixed);
    case "FIXED_LEN_BYTE_ARRAY": {
      requireBytes(fixed, count * typeLength);
      return Array.from({ length: count }, (_, i) =>
        bytes.subarray(at + i * typeLength, at + (i + 1) * typeLength),
      );
    }
    default:
      throw new ParquetDamage(`values of type ${physical} are not known`);
  }
}

/** Decodes `count` values of BYTE_STREAM_SPLIT: the first bytes of all values, then the second ones, and so on. */
export function decodeByteStreams(
  bytes: Uint8Array,
  at: number,
  count: number,
  field: { readonly physical: PhysicalTypeName | null; readonly typeLength: number },
): RawValues {
  const width = { INT32: 4, FLOAT: 4, INT64: 8, DOUBLE: 8, FIXED_LEN_BYTE_ARRAY: field.typeLength }[
    String(field.physical)
  ];
  if (width === undefined) throw new ParquetDamage(`values of type ${field.physical} have no byte streams`);
  requireBytes({ bytes, at, count }, count * width);
  const plain = new Uint8Array(count * width);
  for (let byte = 0; byte < width; byte++) {
    for (let i = 0; i < count; i++) plain[i * width + byte] = bytes[at + byte * count + i]!;
  }
  return decodePlain(plain, 0, count, field);
}

function requireBytes({ bytes, at, count }: Fixed, length: number): void {
  if (length <= bytes.length - at) return;
  throw new ParquetDamage(
    `${count} values of ${length} bytes do not fit into a page of ${bytes.length - at}`,
  );
}

/** Copied, since typed arrays must begin at a multiple of their width. */
function copied(fixed: Fixed, width: number): ArrayBuffer {
  const { bytes, at, count } = fixed;
  requireBytes(fixed, count * width);
  const copy = new ArrayBuffer(count * width);
  new Uint8Array(copy).set(bytes.subarray(at, at + count * width));
  return copy;
}

function plainBooleans(fixed: Fixed): RawValues {
  const { bytes, at, count } = fixed;
  requireBytes(fixed, Math.ceil(count / 8));
  return Array.from({ length: count }, (_, i) => ((bytes[at + (i >> 3)]! >> (i & 7)) & 1) === 1);
}

/** Day 0 of INT96 is the Julian day of 1970-01-01. */
const JULIAN_DAY_OF_1970 = 2_440_588n;
const NANOSECONDS_OF_A_DAY = 86_400_000_000_000n;

function plainInt96(fixed: Fixed): RawValues {
  const { bytes, at, count } = fixed;
  requireBytes(fixed, count * 12);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: count }, (_, i) => {
    const nanos = view.getBigInt64(at + i * 12, true);
    const day = BigInt(view.getInt32(at + i * 12 + 8, true));
    return (day - JULIAN_DAY_OF_1970) * NANOSECONDS_OF_A_DAY + nanos;
  });
}

function plainByteArrays({ bytes, at, count }: Fixed): RawValues {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values: Uint8Array[] = [];
  let start = at;
  for (let i = 0; i < count; i++) {
    const left = bytes.length - start - 4;
    const length = left < 0 ? 0 : view.getUint32(start, true);
    if (left < 0 || length > left) {
      throw new ParquetDamage(`value ${i} has ${length} bytes, and its page ends after ${left}`);
    }
    values.push(bytes.subarray(start + 4, start + 4 + length));
    start += 4 + length;
  }
  return values;
}
