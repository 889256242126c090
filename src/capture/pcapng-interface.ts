import { forEachOption, IF_FCSLEN, IF_NAME, IF_TSOFFSET, IF_TSRESOL, optionText } from "./pcapng-options.ts";
import { type TimestampResolution, timestampResolution } from "./timestamp.ts";
import type { Window } from "./window.ts";

/** What an Interface Description Block says that a packet's row needs. */
export interface CaptureInterface {
  readonly linkType: number;
  /** Bytes; 0 means without limit. */
  readonly snapLength: number;
  readonly name: string | null;
  /** Bytes of frame check sequence at a packet's end, -1 where it is not said. */
  readonly fcsLength: number;
  readonly resolution: TimestampResolution;
}

const MICROSECONDS = 6;

/** Reads the Interface Description Block (pcapng section 4.2) at the window's start; its options end at `end`. */
export function interfaceDescription(window: Window, littleEndian: boolean, end: number): CaptureInterface {
  const { view, start } = window;
  let name: string | null = null;
  let fcsLength = -1;
  let tsresol = MICROSECONDS;
  let offset = 0n;
  forEachOption(view, littleEndian, start + 16, end, window.position, (code, at, length) => {
    if (code === IF_NAME) name = optionText(window.bytes, at, length);
    else if (code === IF_TSRESOL && length === 1) tsresol = view.getUint8(at);
    else if (code === IF_TSOFFSET && length === 8) offset = view.getBigInt64(at, littleEndian);
    else if (code === IF_FCSLEN && length === 1) fcsLength = view.getUint8(at);
  });
  return {
    linkType: view.getUint16(start + 8, littleEndian),
    snapLength: view.getUint32(start + 12, littleEndian),
    name,
    fcsLength,
    resolution: timestampResolution(tsresol, offset),
  };
}
