import type { Random } from "../random.ts";

/** Where an integer of Thrift's compact protocol lies: a varint. */
interface Varint {
  readonly start: number;
  readonly end: number;
}

const TRAILER = 8;
/** Zigzag-coded they are -1, the least and the greatest of 32 bits, and numbers near sizes that occur. */
const NUMBERS = [
  0n,
  1n,
  2n,
  3n,
  5n,
  255n,
  1n << 16n,
  1n << 31n,
  (1n << 32n) - 2n,
  (1n << 32n) - 1n,
  1n << 40n,
  1n << 62n,
];

/** The file with some of its bytes changed, in one of the ways in which disks, networks and attackers do. */
export function mutated(random: Random, file: Uint8Array, other: Uint8Array): Uint8Array {
  const changed = file.slice();
  switch (random.below(8)) {
    case 0:
      return withBytesFlipped(random, changed, 0, changed.length);
    case 1:
      return withBytesFlipped(random, changed, footerStart(changed), changed.length);
    case 2:
      return changed.subarray(0, random.below(changed.length));
    case 3: {
      // Some bytes less in the middle, with the end as it was.
      const from = random.below(changed.length - TRAILER);
      return joined(changed.subarray(0, from), changed.subarray(from + random.between(1, 64)));
    }
    case 4: {
      const length = random.between(1, Math.min(256, other.length));
      const from = random.below(other.length - length);
      const to = random.below(Math.max(1, changed.length - length));
      changed.set(other.subarray(from, from + length).subarray(0, changed.length - to), to);
      return changed;
    }
    case 5: {
      // Another file's columns under this one's footer.
      const length = Math.min(footerStart(changed), footerStart(other));
      changed.set(other.subarray(0, length));
      return changed;
    }
    default: {
      let result: Uint8Array = changed;
      for (let i = random.between(1, 3); i > 0; i--) result = withNumberChanged(random, result);
      return result;
    }
  }
}

function withBytesFlipped(random: Random, file: Uint8Array, from: number, to: number): Uint8Array {
  for (let i = random.between(1, 4); i > 0; i--) {
    const at = Math.min(from + random.below(Math.max(1, to - from)), file.length - 1);
    file[at] = random.chance(0.5) ? random.below(256) : file[at]! ^ (1 << random.below(8));
  }
  return file;
}

/** An integer of the footer, or of a page's header, becomes another one. */
function withNumberChanged(random: Random, file: Uint8Array): Uint8Array {
  const footer = footerStart(file);
  const inFooter = random.chance(0.7);
  const varints = varintsOf(file, inFooter ? footer : 4);
  if (varints.length === 0) return withBytesFlipped(random, file, footer, file.length);
  const { start, end } = random.pick(varints);
  const value = random.chance(0.6) ? random.pick(NUMBERS) : BigInt(random.uint32());
  if (!inFooter) {
    file.set(varint(value, end - start), start);
    return file;
  }
  const result = joined(file.subarray(0, start), varint(value), file.subarray(end));
  // The footer's length follows, or nothing would be read of it.
  new DataView(result.buffer).setUint32(result.length - TRAILER, result.length - TRAILER - footer, true);
  return result;
}

/** Of `length` bytes if it is given, the number cut off or filled up with empty groups. */
function varint(value: bigint, length?: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  } while (length === undefined ? rest > 0n : bytes.length < length);
  bytes[bytes.length - 1]! &= 0x7f;
  return Uint8Array.from(bytes);
}

function footerStart(file: Uint8Array): number {
  if (file.length < TRAILER) return 0;
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  return Math.max(0, file.length - TRAILER - view.getUint32(file.length - TRAILER, true));
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Integers, and lengths of lists and texts, of the struct at `start`; those that were found where it is no struct. */
function varintsOf(file: Uint8Array, start: number): Varint[] {
  const found: Varint[] = [];
  let at = start;
  const skipVarint = (): number => {
    const from = at;
    let value = 0;
    for (let shift = 0; at < file.length; shift += 7) {
      const byte = file[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    found.push({ start: from, end: at });
    return value;
  };
  const skipValue = (type: number, depth: number): void => {
    if (depth > 16) return;
    if (type >= 4 && type <= 6) skipVarint();
    else if (type === 3) at++;
    else if (type === 7) at += 8;
    else if (type === 8) at += skipVarint();
    else if (type === 9) {
      const header = file[at++] ?? 0;
      const size = header >> 4 === 15 ? skipVarint() : header >> 4;
      for (let i = 0; i < size && at < file.length; i++) skipValue(header & 15, depth + 1);
    } else if (type === 12) skipStruct(depth + 1);
  };
  const skipStruct = (depth: number): void => {
    while (at < file.length) {
      const header = file[at++]!;
      if (header === 0) return;
      if (header >> 4 === 0) skipVarint();
      skipValue(header & 15, depth);
    }
  };
  skipStruct(0);
  return found.filter(({ end }) => end < file.length - TRAILER);
}
