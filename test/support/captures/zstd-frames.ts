import { Bytes, concatenated } from "./capture-builder.ts";

/** zstd frames without compression, for tests (RFC 8878 section 3.1): any runtime can make them. */
export function zstdFrame(...blocks: readonly Uint8Array[]): Uint8Array {
  // No content size, no checksum, a window of 128 KiB.
  const header = new Bytes()
    .u32(0xfd2fb528)
    .u8(0, 7 << 3)
    .build();
  return concatenated(header, ...(blocks.length > 0 ? blocks : [rawBlock(new Uint8Array(0))]).map(marked));
}

/** Marks the last of the blocks. */
function marked(block: Uint8Array, index: number, blocks: readonly Uint8Array[]): Uint8Array {
  const out = block.slice();
  if (index === blocks.length - 1) out[0] = (out[0] ?? 0) | 1;
  return out;
}

/** A block that holds its bytes as they are; at most 128 KiB. */
export function rawBlock(bytes: Uint8Array): Uint8Array {
  return concatenated(blockHeader(0, bytes.length), bytes);
}

/** A block of one byte, `length` times over; at most 128 KiB. */
export function runLengthBlock(byte: number, length: number): Uint8Array {
  return concatenated(blockHeader(1, length), Uint8Array.of(byte));
}

export function skippableFrame(bytes: Uint8Array, kind = 0): Uint8Array {
  return concatenated(new Bytes().u32(0x184d2a50 + kind, bytes.length).build(), bytes);
}

function blockHeader(type: number, size: number): Uint8Array {
  const header = (size << 3) | (type << 1);
  return Uint8Array.of(header & 0xff, (header >> 8) & 0xff, header >> 16);
}

/** The text that {@link zstdText} holds. */
export const zstdTextContent = Array.from({ length: 200 }, (_, i) => `deltacap ${i * i}\n`).join("");

/** Made by `zstd -19 --check` 1.5.4: one frame with a compressed block and a checksum. */
export function zstdText(): Uint8Array {
  const base64 =
    "KLUv/WQmCi0NAGboSxWgJYUc4DPw/w8A9HKJbFnhgb/YHAFJAEMAQwDTOl46JlR4v6YKkyWZWsVFb0LR8XfqsJE8Sts7fCEt+5SaL32dTjiD" +
    "hXaQUzqt1DnK+AiF9O+W2qZ+HULvnUADBAYABgUGCAgQ3EzttwtOqHlzuapGTdo0la96FOqOeV13Q2kzvg23+CGkReEzZZhF6sqOfN4hCO3Q" +
    "MzpbJdLnUPpTSwjpq/fbGYPkBVGh6oWrUS04knAiq1/eYkLNEd6K9cQZyWO81e8w7wg5ln9cNnhB+upO+Jw3QjuEnJPOtJbaeS3/cUhDyPB/" +
    "h1bIoLSCya/4a2Ydocbh8DLU46mleQzShtzvpULWMp9GuXCQylXseGcsLrTCgYrzHXl56bNMyflMEAlCBn9ucUvzkmVDqf+6EYDHqBAQhbbd" +
    "wJOkAxBWGPvNpBzIJrSGVVE5KGnNIEje1Kxm3BrKMHs8C1leCc2YYX5k+pxXIU3vKQzxKVDYhfRsXcVSenhNA6BRQVkVAFwJQJN4kByGD/Gz" +
    "QK2XuTu8t5n1lkqTkLcqu7q9nsWAgSnAoKXOjm7e";
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
