import { crc32 } from "node:zlib";
import type { ObjectStore } from "@deltacap/delta";
import type { Random } from "../random.ts";

/** How the rows of a block of 65,536 are written: as RoaringFormatSpec has them, or as is smallest. */
export type ContainerKind = "values" | "runs";

/**
 * Row numbers in order, as a 64-bit Roaring bitmap of the portable format: written from RoaringFormatSpec, apart from the reader.
 * `kindOf` chooses the container of each block; an array of more than 4,096 values is a bitmap, as the format asks.
 */
export function roaringBitmap(
  rows: readonly number[],
  kindOf: (block: number) => ContainerKind = () => "values",
): Uint8Array {
  const buckets = new Map<number, Map<number, number[]>>();
  for (const row of rows) {
    const block = Math.floor(row / 65_536);
    const blocks = entryOf(buckets, Math.floor(block / 65_536), () => new Map<number, number[]>());
    entryOf(blocks, block, (): number[] => []).push(row % 65_536);
  }
  const parts = [uint64(buckets.size)];
  for (const [bucket, blocks] of buckets) parts.push(uint32(bucket), bitmap32([...blocks], kindOf));
  return Buffer.concat(parts);
}

function entryOf<Value>(map: Map<number, Value>, key: number, create: () => Value): Value {
  const value = map.get(key) ?? create();
  map.set(key, value);
  return value;
}

function bitmap32(
  entries: readonly (readonly [number, number[]])[],
  kindOf: (block: number) => ContainerKind,
) {
  const isRuns = entries.map(([block]) => kindOf(block) === "runs");
  const containers = entries.map(([, values], i) => (isRuns[i] ? runs(values) : arrayOrBitmap(values)));
  const hasRuns = isRuns.includes(true);
  const head = hasRuns
    ? [uint32(12_347 + (entries.length - 1) * 65_536), flags(isRuns)]
    : [uint32(12_346), uint32(entries.length)];
  for (const [block, values] of entries) head.push(uint16(block % 65_536), uint16(values.length - 1));
  let offset = head.reduce((sum, { length }) => sum + length, 0) + 4 * entries.length;
  if (!hasRuns || entries.length >= 4) {
    for (const { length } of containers) {
      head.push(uint32(offset));
      offset += length;
    }
  }
  return Buffer.concat([...head, ...containers]);
}

function flags(isSet: readonly boolean[]): Buffer {
  const bytes = Buffer.alloc(Math.ceil(isSet.length / 8));
  for (const [i, set] of isSet.entries()) if (set) bytes[i >> 3] = bytes[i >> 3]! | (1 << (i & 7));
  return bytes;
}

function arrayOrBitmap(values: readonly number[]): Buffer {
  if (values.length <= 4096) return Buffer.concat(values.map(uint16));
  const bytes = Buffer.alloc(8192);
  for (const value of values) bytes[value >> 3] = bytes[value >> 3]! | (1 << (value & 7));
  return bytes;
}

function runs(values: readonly number[]): Buffer {
  const found: { from: number; length: number }[] = [];
  for (const value of values) {
    const last = found.at(-1);
    if (last !== undefined && last.from + last.length === value) last.length++;
    else found.push({ from: value, length: 1 });
  }
  const pairs = found.flatMap(({ from, length }) => [uint16(from), uint16(length - 1)]);
  return Buffer.concat([uint16(found.length), ...pairs]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** Row numbers below `rows` in order, of every shape: single ones, dense blocks, long runs, blocks without any. */
export function randomRows(random: Random, rows: number): number[] {
  const found = new Set<number>();
  for (let parts = random.below(6); parts > 0; parts--) {
    const from = random.below(rows);
    const length = Math.min(rows - from, random.pick([1, 50, 5_000, 70_000]));
    const probability = random.pick([0.001, 0.1, 0.5, 1]);
    for (let row = from; row < from + length; row++) if (random.chance(probability)) found.add(row);
  }
  return [...found].sort((a, b) => a - b);
}

/** What a deletion vector is: the portable format's magic number and the bitmap. */
export function vectorBytes(rows: readonly number[], kindOf?: (block: number) => ContainerKind): Uint8Array {
  return Buffer.concat([uint32(1_681_511_377), roaringBitmap(rows, kindOf)]);
}

/** A file with vectors (Delta protocol, "Deletion Vector File Storage Format"), and where each begins. */
export function vectorFile(vectors: readonly Uint8Array[]): { bytes: Uint8Array; offsets: number[] } {
  const parts: Buffer[] = [Buffer.from([1])];
  const offsets: number[] = [];
  let at = 1;
  for (const vector of vectors) {
    offsets.push(at);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(vector.length, 0);
    frame.writeUInt32BE(crc32(vector), 4);
    parts.push(frame.subarray(0, 4), Buffer.from(vector), frame.subarray(4));
    at += vector.length + 8;
  }
  return { bytes: Buffer.concat(parts), offsets };
}

const Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/** In Base85, padded with zeros to a multiple of four bytes. */
export function z85(bytes: Uint8Array): string {
  const padded = Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
  let text = "";
  for (let at = 0; at < padded.length; at += 4) {
    const word = padded.readUInt32BE(at);
    for (let power = 4; power >= 0; power--) text += Z85[Math.floor(word / 85 ** power) % 85];
  }
  return text;
}

/** A deletion vector within the log, as an add has it. */
export function inlineVector(rows: readonly number[]) {
  const bytes = vectorBytes(rows);
  return {
    storageType: "i",
    pathOrInlineDv: z85(bytes),
    sizeInBytes: bytes.length,
    cardinality: rows.length,
  };
}

/** The same in a file of its own, whose name has the number. */
export async function storedVector(store: ObjectStore, rows: readonly number[], number: number) {
  const uuid = Buffer.alloc(16);
  uuid.writeUInt32BE(number, 12);
  const name = uuid.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  const vector = vectorBytes(rows);
  await store.put(`deletion_vector_${name}.bin`, vectorFile([vector]).bytes);
  return {
    storageType: "u",
    pathOrInlineDv: z85(uuid),
    offset: 1,
    sizeInBytes: vector.length,
    cardinality: rows.length,
  };
}
