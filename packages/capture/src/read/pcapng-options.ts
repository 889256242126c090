import { Damaged } from "./window.ts";

/** Option codes (pcapng sections 3.5, 4.2 and 4.3). */
export const OptionCode = {
  endOfOptions: 0,
  comment: 1,
  interfaceName: 2,
  packetFlags: 2,
  timestampResolution: 9,
  fcsLength: 13,
  timestampOffset: 14,
} as const;

/** Receives an option: its code, and where its value lies in the block's bytes. */
export type OptionSink = (code: number, at: number, length: number) => void;

/**
 * Walks a block's options from `at` to `end`, both offsets in `view`, which lie a multiple of 4 apart: so there is always
 * room for an option's code and length. Options may end without opt_endofopt. Throws `Damaged`, with the offset `blockOffset`, where an option is longer than what is left of its block.
 */
export function readOptions(
  view: DataView,
  littleEndian: boolean,
  at: number,
  end: number,
  blockOffset: number,
  sink: OptionSink,
): void {
  while (at < end) {
    const code = view.getUint16(at, littleEndian);
    const length = view.getUint16(at + 2, littleEndian);
    const value = at + 4;
    const paddedLength = (length + 3) & ~3;
    if (paddedLength > end - value) {
      throw new Damaged(
        blockOffset,
        `pcapng option ${code} claims ${length} bytes, and ${end - value} are left in the block`,
      );
    }
    if (code === OptionCode.endOfOptions) return;
    sink(code, value, length);
    at = value + paddedLength;
  }
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** A UTF-8 string option, up to a NUL where one ends it early; bytes that are no UTF-8 become U+FFFD. */
export function readString(bytes: Uint8Array, at: number, length: number): string {
  const value = bytes.subarray(at, at + length);
  const nul = value.indexOf(0);
  return utf8.decode(nul < 0 ? value : value.subarray(0, nul));
}
