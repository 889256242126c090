import type { Add, DeletionVector } from "../actions/actions.ts";
import { crc32 } from "../actions/crc32.ts";
import type { ObjectStore } from "../stores/object-store.ts";
import { DamagedVectorError } from "./damaged-vector.ts";
import { type DeletionVectorFile, deletionVectorPath } from "./deletion-vector-path.ts";
import { readRoaringBitmap } from "./roaring-bitmap.ts";
import { CONTAINER_ROWS, type RowSet } from "./row-set.ts";
import { decodeZ85 } from "./z85.ts";

/** Of the portable format, the only one that Delta's protocol has; little-endian before the bitmap. */
const MAGIC = 1_681_511_377;
const MAGIC_BYTES = 4;
/** The first byte of a file with vectors. */
const FILE_VERSION = 1;
/** Where the first vector of a file lies: what an absent offset can only mean, since a file begins with its version. */
const FIRST_OFFSET = 1;
/** Before a vector in a file its length, behind it its checksum. */
const LENGTH_BYTES = 4;
const CHECKSUM_BYTES = 4;
/** A vector that lies within is read together with the file's first byte: a second request costs more than these bytes. */
const ONE_READ = 64 * 1024;

/** A bitmap of 134 million rows: data files have some thousands of rows to some millions. Several vectors are read at once. */
const MAXIMUM_BYTES = 16 * 1024 * 1024;
/** A container that is nothing but runs of one row, and what the headers say of it. */
const MAXIMUM_CONTAINER_BYTES = 2 * CONTAINER_ROWS + 64;

/** True where some of the file's rows are deleted without being removed from it. */
export function hasDeletionVector({ deletionVector }: Pick<Add, "deletionVector">): boolean {
  return deletionVector !== undefined;
}

/** How many of the file's rows its deletion vector deletes, as the log says: none where it has none, or says nothing. */
export function statedDeletedRows({ deletionVector }: Pick<Add, "deletionVector">): number {
  const { cardinality } = deletionVector ?? {};
  return typeof cardinality === "number" && Number.isSafeInteger(cardinality) && cardinality > 0
    ? cardinality
    : 0;
}

/**
 * The rows that are deleted of the file, which has `rows` rows, those included; null where it has no deletion vector (Delta
 * protocol, "Deletion Vectors"). One request, two for a vector far behind others in its file; memory as its bytes, of which
 * there are no more than `rows` need.
 *
 * Throws `DamagedVectorError` for a vector that is gone, damaged, not of this file, or not in the table's folder; and
 * `TableRefusedError` for a way of storing it that is not known.
 */
export async function readDeletionVector(
  table: ObjectStore,
  { path, deletionVector }: Pick<Add, "path" | "deletionVector">,
  rows: number,
): Promise<RowSet | null> {
  if (deletionVector === undefined) return null;
  const size = naturalNumber(deletionVector, "sizeInBytes");
  const cardinality = naturalNumber(deletionVector, "cardinality");
  const limit = Math.min(MAXIMUM_BYTES, MAXIMUM_CONTAINER_BYTES * Math.ceil((rows + 1) / CONTAINER_ROWS));
  if (size < MAGIC_BYTES || size > limit) {
    throw new DamagedVectorError(`it has ${size} bytes, and for ${rows} rows 4 to ${limit} are allowed`);
  }
  const file = deletionVectorPath(deletionVector, path);
  const bytes =
    file === null
      ? inlineVector(deletionVector.pathOrInlineDv, size)
      : await storedVector(table, file, { size, offset: offsetOf(deletionVector) });
  const magic = view(bytes).getUint32(0, true);
  if (magic !== MAGIC) throw new DamagedVectorError(`it begins with ${magic}, and must with ${MAGIC}`);
  const deleted = readRoaringBitmap(bytes.subarray(MAGIC_BYTES), rows);
  if (deleted.count !== cardinality) {
    throw new DamagedVectorError(`it has ${deleted.count} rows, and the log says ${cardinality}`);
  }
  return deleted;
}

function naturalNumber(vector: DeletionVector, name: "sizeInBytes" | "cardinality" | "offset"): number {
  const value = vector[name];
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new DamagedVectorError(`its ${name} is ${String(value)}, and must be a natural number`);
}

function offsetOf(vector: DeletionVector): number {
  return vector.offset === undefined ? FIRST_OFFSET : Math.max(FIRST_OFFSET, naturalNumber(vector, "offset"));
}

/** Padded to a multiple of four bytes. */
function inlineVector(text: string, size: number): Uint8Array {
  const bytes = text.length === 5 * Math.ceil(size / 4) ? decodeZ85(text) : null;
  if (bytes === null)
    throw new DamagedVectorError(`its ${text.length} characters are not ${size} bytes in Base85`);
  return bytes.subarray(0, size);
}

async function storedVector(
  table: ObjectStore,
  { path, isAbsolute }: DeletionVectorFile,
  { size, offset }: { readonly size: number; readonly offset: number },
): Promise<Uint8Array> {
  if (isAbsolute) {
    throw new DamagedVectorError(
      `it lies at ${path}, which may be outside of the table's folder: run Spark's REORG TABLE ... APPLY (PURGE)`,
    );
  }
  const end = offset + LENGTH_BYTES + size + CHECKSUM_BYTES;
  const start = offset <= ONE_READ ? 0 : offset;
  const bytes = await readExactly(table, path, start, end);
  const head = start === 0 ? bytes : await readExactly(table, path, 0, 1);
  if (head[0] !== FILE_VERSION) {
    throw new DamagedVectorError(
      `its file ${path} is of version ${head[0]}, and only ${FILE_VERSION} is known`,
    );
  }
  const found = view(bytes).getUint32(offset - start);
  if (found !== size) {
    throw new DamagedVectorError(
      `at ${offset} in ${path} are ${found} bytes of it, and the log says ${size}`,
    );
  }
  const first = offset - start + LENGTH_BYTES;
  const vector = bytes.subarray(first, first + size);
  const checksum = view(bytes).getUint32(first + size);
  if (checksum !== crc32(vector)) {
    throw new DamagedVectorError(
      `its bytes at ${offset} in ${path} are not those of their checksum ${checksum}`,
    );
  }
  return vector;
}

async function readExactly(
  table: ObjectStore,
  path: string,
  start: number,
  end: number,
): Promise<Uint8Array> {
  const bytes = await table.read(path, { start, length: end - start });
  if (bytes === null) throw new DamagedVectorError(`its file ${path} is gone`);
  if (bytes.length === end - start) return bytes;
  throw new DamagedVectorError(
    `its file ${path} ends at ${start + bytes.length}, and the log says ${end} or behind`,
  );
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
