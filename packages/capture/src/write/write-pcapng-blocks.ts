import { concatenated } from "../read/concatenated.ts";

/** How an interface counts time: ticks of 10^-`resolution` seconds since `offset` seconds after 1970. */
export interface Clock {
  readonly resolution: 6 | 9;
  readonly offset: number;
}

/** Bytes of a Section Header Block without options (pcapng section 4.1). */
export const SECTION_HEADER_LENGTH = 28;
const LONGEST_OPTION = 0xffff;

/** Section Header Block of a little-endian section of unknown length (section 4.1). */
export function sectionHeaderBlock(): Uint8Array {
  const body = new DataView(new ArrayBuffer(16));
  body.setUint32(0, 0x1a2b3c4d, true);
  body.setUint16(4, 1, true);
  body.setBigInt64(8, -1n, true);
  return block(0x0a0d0d0a, [bytesOf(body)]);
}

/** Interface Description Block (section 4.2); `snapLength` 0 sets no limit. */
export function interfaceDescriptionBlock(
  linkType: number,
  name: string | null,
  snapLength: number,
  clock: Clock,
): Uint8Array {
  const body = new DataView(new ArrayBuffer(8));
  body.setUint16(0, linkType, true);
  body.setUint32(4, snapLength, true);
  const options = [option(9, new Uint8Array([clock.resolution]))];
  if (clock.offset !== 0) {
    const seconds = new DataView(new ArrayBuffer(8));
    seconds.setBigInt64(0, BigInt(clock.offset), true);
    options.push(option(14, bytesOf(seconds)));
  }
  if (name !== null) options.unshift(option(2, textBytes(name)));
  return block(1, [bytesOf(body), ...options, option(0, new Uint8Array(0))]);
}

/** Enhanced Packet Block (section 4.3). */
export function enhancedPacketBlock(
  interfaceId: number,
  ticks: bigint,
  bytes: Uint8Array,
  originalLength: number,
  comment: string | null,
): Uint8Array {
  const body = new DataView(new ArrayBuffer(20));
  body.setUint32(0, interfaceId, true);
  body.setUint32(4, Number((ticks >> 32n) & 0xffffffffn), true);
  body.setUint32(8, Number(ticks & 0xffffffffn), true);
  body.setUint32(12, bytes.length, true);
  body.setUint32(16, originalLength, true);
  const parts = [bytesOf(body), padded(bytes)];
  if (comment !== null) parts.push(...commentOptions(comment), option(0, new Uint8Array(0)));
  return block(6, parts);
}

/** Simple Packet Block (section 4.4): how many of the bytes are captured is not in it, see {@link simplePacketLength}. */
export function simplePacketBlock(bytes: Uint8Array, originalLength: number): Uint8Array {
  const body = new DataView(new ArrayBuffer(4));
  body.setUint32(0, originalLength, true);
  return block(3, [bytesOf(body), padded(bytes)]);
}

/** The captured length that readers give a Simple Packet Block with so many bytes. */
export function simplePacketLength(bytes: number, originalLength: number, snapLength: number): number {
  return Math.min(originalLength, paddedLength(bytes), snapLength === 0 ? originalLength : snapLength);
}

/**
 * A comment as options of 65,535 bytes at most. Readers join several with line ends, so a longer one is cut at its own line ends.
 * Throws `UnwritableError` where a line is too long: no capture file can have given it.
 */
function commentOptions(comment: string): Uint8Array[] {
  const whole = textBytes(comment);
  if (whole.length <= LONGEST_OPTION) return [option(1, whole)];
  const bytes = shortTextBytes(comment);
  const options: Uint8Array[] = [];
  let at = 0;
  while (bytes.length - at > LONGEST_OPTION) {
    const lineEnd = bytes.lastIndexOf(0x0a, at + LONGEST_OPTION);
    if (lineEnd < at) break;
    options.push(option(1, bytes.subarray(at, lineEnd)));
    at = lineEnd + 1;
  }
  options.push(option(1, bytes.subarray(at)));
  return options;
}

const utf8 = new TextEncoder();

function textBytes(text: string): Uint8Array {
  const bytes = utf8.encode(text);
  return bytes.length <= LONGEST_OPTION ? bytes : shortTextBytes(text);
}

/**
 * With U+FFFD as one byte that is no UTF-8, which readers take for U+FFFD again. That is how it most often came to be, and so the
 * text is no longer than the bytes that it was read from.
 */
function shortTextBytes(text: string): Uint8Array {
  const bytes = utf8.encode(text);
  let length = 0;
  for (let i = 0; i < bytes.length; i++) {
    const isReplacement = bytes[i] === 0xef && bytes[i + 1] === 0xbf && bytes[i + 2] === 0xbd;
    bytes[length++] = isReplacement ? 0xff : (bytes[i] ?? 0);
    if (isReplacement) i += 2;
  }
  return bytes.subarray(0, length);
}

/** Block type, total length, body, total length again (section 3.1). */
function block(type: number, parts: readonly Uint8Array[]): Uint8Array {
  const bodyLength = parts.reduce((sum, part) => sum + part.length, 0);
  const head = new DataView(new ArrayBuffer(8));
  head.setUint32(0, type, true);
  head.setUint32(4, bodyLength + 12, true);
  const tail = new DataView(new ArrayBuffer(4));
  tail.setUint32(0, bodyLength + 12, true);
  return concatenated([bytesOf(head), ...parts, bytesOf(tail)]);
}

/** Option code, length, value padded to 32 bits (section 3.5). */
function option(code: number, value: Uint8Array): Uint8Array {
  if (value.length > LONGEST_OPTION) {
    throw new UnwritableError(
      `option ${code} has ${value.length} bytes: a pcapng option holds at most ${LONGEST_OPTION}`,
    );
  }
  const head = new DataView(new ArrayBuffer(4));
  head.setUint16(0, code, true);
  head.setUint16(2, value.length, true);
  return concatenated([bytesOf(head), padded(value)]);
}

/** The packets do not fit into the format: the message says why, and what to write instead. */
export class UnwritableError extends Error {
  override readonly name = "UnwritableError";
}

function padded(bytes: Uint8Array): Uint8Array {
  if (bytes.length % 4 === 0) return bytes;
  const out = new Uint8Array(paddedLength(bytes.length));
  out.set(bytes);
  return out;
}

function paddedLength(length: number): number {
  return length + (-length & 3);
}

function bytesOf(view: DataView): Uint8Array {
  return new Uint8Array(view.buffer);
}
