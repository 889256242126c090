import { DamagedVectorError } from "./damaged-vector.ts";
import { CONTAINER_ROWS, type RowContainer, RowSet } from "./row-set.ts";

/** Cookies of a 32-bit bitmap without runs, and (in its lower half) of one with some: RoaringFormatSpec, "Cookie header". */
const COOKIE_WITHOUT_RUNS = 12346;
const COOKIE_WITH_RUNS = 12347;
/** From so many containers on, offsets of the containers follow in a bitmap with runs. */
const LEAST_WITH_OFFSETS = 4;
/** More values than these are a bitmap. */
const MOST_IN_ARRAY = 4096;
const BITMAP_BYTES = CONTAINER_ROWS / 8;
/** Two to the 32nd: the rows of one 32-bit bitmap. */
const BUCKET_ROWS = 0x1_0000_0000;

/**
 * The row numbers in a 64-bit bitmap of the portable format (RoaringFormatSpec, "Extension for 64-bit implementations"; Delta
 * protocol, "Deletion Vector Format"), all less than `rows`. The set refers to `bytes`.
 *
 * Everything is checked before it is used: order and bounds of each value, counts, lengths. Cost and memory are those of the
 * bytes. Throws `DamagedVectorError`, with the offset in `bytes`, for anything else than such a bitmap and nothing behind it.
 */
export function readRoaringBitmap(bytes: Uint8Array, rows: number): RowSet {
  const input = new Input(bytes);
  const containers: RowContainer[] = [];
  const buckets = input.uint32() + input.uint32() * BUCKET_ROWS;
  let lastKey = -1;
  // Each turn takes bytes or throws, so that a count of any size ends with the bytes.
  for (let bucket = 0; bucket < buckets; bucket++) {
    const key = input.uint32();
    if (key <= lastKey) throw input.wrong(`the bucket ${key} follows ${lastKey}`);
    lastKey = key;
    readBitmap32(input, key, rows, containers);
  }
  if (input.at !== bytes.length) throw input.wrong(`${bytes.length - input.at} bytes follow the bitmap`);
  return new RowSet(containers);
}

/** One bucket: the rows whose upper 32 bits are `bucket`. */
function readBitmap32(input: Input, bucket: number, rows: number, containers: RowContainer[]): void {
  const cookie = input.uint32();
  const hasRuns = (cookie & 0xffff) === COOKIE_WITH_RUNS;
  if (!hasRuns && cookie !== COOKIE_WITHOUT_RUNS) throw input.wrong(`the cookie ${cookie} is of no bitmap`);
  const size = hasRuns ? (cookie >>> 16) + 1 : input.uint32();
  if (size > CONTAINER_ROWS) throw input.wrong(`${size} containers, and 65536 are the most`);
  const runFlags = hasRuns ? input.take((size + 7) >> 3) : null;
  const header = input.take(4 * size);
  // The containers lie one behind the other: where, their lengths say.
  if (!hasRuns || size >= LEAST_WITH_OFFSETS) input.take(4 * size);
  let lastKey = -1;
  for (let i = 0; i < size; i++) {
    const key = uint16(header, 4 * i);
    if (key <= lastKey) throw input.wrong(`the container ${key} follows ${lastKey}`);
    lastKey = key;
    const firstRow = bucket * BUCKET_ROWS + key * CONTAINER_ROWS;
    const isRuns = runFlags !== null && ((runFlags[i >> 3]! >> (i & 7)) & 1) === 1;
    const count = uint16(header, 4 * i + 2) + 1;
    if (firstRow >= rows) {
      throw input.wrong(`a container begins at row ${firstRow}, and the file has ${rows} rows`);
    }
    const last = Math.min(CONTAINER_ROWS, rows - firstRow) - 1;
    containers.push(readContainer(input, { firstRow, count, isRuns, last }));
  }
}

/** `last`: the greatest value that is allowed. */
function readContainer(
  input: Input,
  { firstRow, count, isRuns, last }: { firstRow: number; count: number; isRuns: boolean; last: number },
): RowContainer {
  if (isRuns) {
    const bytes = input.take(4 * uint16(input.take(2), 0));
    checkRuns(input, bytes, count, last);
    return { firstRow, count, kind: "runs", bytes };
  }
  if (count <= MOST_IN_ARRAY) {
    const bytes = input.take(2 * count);
    checkArray(input, bytes, last);
    return { firstRow, count, kind: "array", bytes };
  }
  const bytes = input.take(BITMAP_BYTES);
  checkBitmap(input, bytes, count, last);
  return { firstRow, count, kind: "bitmap", bytes };
}

function checkArray(input: Input, bytes: Uint8Array, last: number): void {
  let before = -1;
  for (let at = 0; at < bytes.length; at += 2) {
    const value = uint16(bytes, at);
    if (value <= before) throw input.wrong(`the value ${value} of an array follows ${before}`);
    before = value;
  }
  checkLast(input, before, last);
}

function checkBitmap(input: Input, bytes: Uint8Array, count: number, last: number): void {
  let found = 0;
  let greatest = -1;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === 0) continue;
    found += bitsOf(byte);
    greatest = 8 * at + 31 - Math.clz32(byte);
  }
  if (found !== count) throw input.wrong(`a bitmap has ${found} values, and its header says ${count}`);
  checkLast(input, greatest, last);
}

function checkRuns(input: Input, bytes: Uint8Array, count: number, last: number): void {
  let found = 0;
  let end = 0;
  for (let at = 0; at < bytes.length; at += 4) {
    const from = uint16(bytes, at);
    if (from < end) throw input.wrong(`a run from ${from} follows one up to ${end - 1}`);
    const length = uint16(bytes, at + 2) + 1;
    end = from + length;
    found += length;
  }
  if (found !== count) throw input.wrong(`runs have ${found} values, and their header says ${count}`);
  checkLast(input, end - 1, last);
}

function checkLast(input: Input, value: number, last: number): void {
  if (value > last)
    throw input.wrong(`a container has the value ${value}, and ${last} is the last of the file's rows`);
}

function bitsOf(byte: number): number {
  let count = 0;
  for (let rest = byte; rest !== 0; rest &= rest - 1) count++;
  return count;
}

function uint16(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8);
}

/** The bytes, taken from the front. */
class Input {
  at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  take(length: number): Uint8Array {
    const left = this.#bytes.length - this.at;
    if (length > left) throw this.wrong(`${length} bytes are wanted, and ${left} are left`);
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }

  uint32(): number {
    const bytes = this.take(4);
    return uint16(bytes, 0) + uint16(bytes, 2) * 0x1_0000;
  }

  wrong(problem: string): DamagedVectorError {
    return new DamagedVectorError(`byte ${this.at} of the bitmap: ${problem}`);
  }
}
