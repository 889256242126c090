/** Which every frame begins with, little-endian (RFC 8878 section 3.1.1). */
const FRAME_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

/** True where a zstd frame begins (RFC 8878 section 3.1.1). */
export function isFrame(bytes: Uint8Array): boolean {
  return FRAME_MAGIC.every((byte, i) => bytes[i] === byte);
}

/** Bytes before a frame's first block, by its descriptor (RFC 8878 section 3.1.1.1). */
export function frameHeaderLength(descriptor: number): number {
  const windowDescriptor = isSingleSegment(descriptor) ? 0 : 1;
  return 5 + windowDescriptor + dictionaryIdLength(descriptor) + contentSizeLength(descriptor);
}

/** What the frame says that it holds, rounded above 2^53; null where it does not say. */
export function frameContentSize(frame: Uint8Array): number | null {
  const descriptor = frame[4] ?? 0;
  const length = contentSizeLength(descriptor);
  if (length === 0) return null;
  const at = frameHeaderLength(descriptor) - length;
  let size = length === 2 ? 256 : 0;
  for (let i = 0; i < length; i++) size += (frame[at + i] ?? 0) * 2 ** (8 * i);
  return size;
}

function isSingleSegment(descriptor: number): boolean {
  return (descriptor & 0x20) !== 0;
}

function dictionaryIdLength(descriptor: number): number {
  return [0, 1, 2, 4][descriptor & 3] ?? 0;
}

function contentSizeLength(descriptor: number): number {
  return [isSingleSegment(descriptor) ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
}
