import { Damaged } from "./window.ts";

/** Option codes (pcapng sections 3.5, 4.2, 4.3). */
export const OPTION_END = 0;
export const OPTION_COMMENT = 1;
export const IF_NAME = 2;
export const IF_TSRESOL = 9;
export const IF_FCSLEN = 13;
export const IF_TSOFFSET = 14;
export const EPB_FLAGS = 2;

/**
 * Calls `take` for each option in `bytes[start]` to `bytes[end]` with its code and where its value lies. A list may end
 * without an end-of-options option. Throws `Damaged` for an option that is longer than its block.
 */
export function forEachOption(
  view: DataView,
  littleEndian: boolean,
  start: number,
  end: number,
  blockPosition: number,
  take: (code: number, offset: number, length: number) => void,
): void {
  let at = start;
  while (end - at >= 4) {
    const code = view.getUint16(at, littleEndian);
    const length = view.getUint16(at + 2, littleEndian);
    if (code === OPTION_END) return;
    if (length > end - at - 4) {
      throw new Damaged(
        blockPosition,
        `option ${code} of ${length} bytes in a block that has ${end - at - 4} left for it`,
      );
    }
    take(code, at + 4, length);
    at += 4 + ((length + 3) & ~3);
  }
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** An option's text; bytes that are no UTF-8 become U+FFFD, and a terminating zero (which some writers add) is dropped. */
export function optionText(bytes: Uint8Array, offset: number, length: number): string {
  const end = length > 0 && bytes[offset + length - 1] === 0 ? offset + length - 1 : offset + length;
  return utf8.decode(bytes.subarray(offset, end));
}
