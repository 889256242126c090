import { byteOrderOf } from "./capture-format.ts";
import { type CaptureLimits, maxCapturedLength } from "./capture-limits.ts";
import { OptionCode, readOptions, readString } from "./pcapng-options.ts";
import { type TimestampResolution, timestampResolution } from "./timestamp.ts";
import { Damaged, type Window } from "./window.ts";

/** Block type codes (pcapng section 11.1) of the blocks that are read; all others are skipped. */
export const BlockType = {
  interfaceDescription: 1,
  packet: 2,
  simplePacket: 3,
  enhancedPacket: 6,
  sectionHeader: 0x0a0d0d0a,
} as const;

/** Type and total length before a block's body, total length again behind it. */
export const BLOCK_HEADER_LENGTH = 8;
/** Bytes behind a block's body: its length once more (pcapng section 3.1). */
export const BLOCK_TRAILER_LENGTH = 4;
/** Bytes of a block with an empty body. */
export const SHORTEST_BLOCK = BLOCK_HEADER_LENGTH + BLOCK_TRAILER_LENGTH;

const SECTION_HEADER_FIXED = 24;
const INTERFACE_DESCRIPTION_FIXED = 16;
/** Microseconds (section 4.2, if_tsresol). */
const DEFAULT_TIMESTAMP_RESOLUTION = 6;
const defaultResolution = timestampResolution(DEFAULT_TIMESTAMP_RESOLUTION, 0n);

/** What an Interface Description Block says (section 4.2). */
export interface CaptureInterface {
  readonly linkType: number;
  /** Bytes; 0 where there is no limit. */
  readonly snapLength: number;
  readonly name: string | null;
  /** -1 where the block does not say. */
  readonly fcsLength: number;
  readonly resolution: TimestampResolution;
  /** See {@link maxCapturedLength}. */
  readonly maxCapturedLength: number;
}

/** A section: its byte order and the interfaces described so far. */
export interface Section {
  /** 1, 2 ... within the input. */
  readonly number: number;
  readonly littleEndian: boolean;
  readonly version: string;
  readonly interfaces: CaptureInterface[];
  /** Bytes of the interfaces' names. */
  nameBytes: number;
}

/**
 * A block's length on disk. Block total lengths must be multiples of 4, but some writers leave the padding out; like
 * Wireshark this rounds up what both length fields say.
 */
export function blockLength(totalLength: number): number {
  return totalLength + (-totalLength & 3);
}

/** Throws `Damaged` unless the length behind the block's body agrees with `length`, the one before it. */
export function checkTrailer(trailer: number, length: number, blockOffset: number): void {
  if (blockLength(trailer) !== length) {
    throw new Damaged(
      blockOffset,
      `pcapng block total lengths disagree: ${length} before the body, ${trailer} behind it`,
    );
  }
}

/** Throws `Damaged` where a block's type needs more room than the block has. */
export function checkRoom(what: string, length: number, shortest: number, blockOffset: number): void {
  if (length < shortest) {
    throw new Damaged(blockOffset, `${what} of ${length} bytes: the shortest has ${shortest}`);
  }
}

/** Throws `Damaged` where more bytes of options than the limit would have to be held. */
export function checkOptionBytes(bytes: number, limits: CaptureLimits, blockOffset: number): void {
  if (bytes > limits.optionBytes) {
    throw new Damaged(
      blockOffset,
      `pcapng block has ${bytes} bytes of options: at most ${limits.optionBytes} are read (limit optionBytes)`,
    );
  }
}

/** Reads the Section Header Block at the window's start (section 4.1); null when more of it is needed. */
export function readSectionHeader(window: Window, number: number, limits: CaptureLimits): Section | null {
  if (!window.has(16)) return null;
  const { view, start } = window;
  const offset = window.positionOf(start);
  const littleEndian = byteOrderOf(view, start + 8);
  if (littleEndian === null) {
    const magic = view
      .getUint32(start + 8)
      .toString(16)
      .padStart(8, "0");
    throw new Damaged(
      offset,
      `pcapng section header with byte-order magic 0x${magic}: 0x1a2b3c4d must stand there`,
    );
  }
  const major = view.getUint16(start + 12, littleEndian);
  const minor = view.getUint16(start + 14, littleEndian);
  if (major !== 1)
    throw new Damaged(offset, `pcapng section of version ${major}.${minor}: only 1.x is known`);
  const length = blockLength(view.getUint32(start + 4, littleEndian));
  checkRoom("pcapng section header", length, SECTION_HEADER_FIXED + BLOCK_TRAILER_LENGTH, offset);
  // The section length that follows is not needed to read a file from its beginning, and often wrong.
  checkOptionBytes(length - SECTION_HEADER_FIXED - BLOCK_TRAILER_LENGTH, limits, offset);
  if (!window.has(length)) return null;
  const optionsEnd = start + length - BLOCK_TRAILER_LENGTH;
  checkTrailer(view.getUint32(optionsEnd, littleEndian), length, offset);
  readOptions(view, littleEndian, start + SECTION_HEADER_FIXED, optionsEnd, offset, () => {});
  window.start += length;
  return { number, littleEndian, version: `${major}.${minor}`, interfaces: [], nameBytes: 0 };
}

/**
 * Reads the Interface Description Block of `length` bytes at the window's start into its section; false when more of it is
 * needed.
 */
export function readInterfaceDescription(
  window: Window,
  length: number,
  section: Section,
  limits: CaptureLimits,
): boolean {
  const { start } = window;
  const { littleEndian, interfaces } = section;
  const offset = window.positionOf(start);
  checkRoom(
    "pcapng interface description",
    length,
    INTERFACE_DESCRIPTION_FIXED + BLOCK_TRAILER_LENGTH,
    offset,
  );
  checkOptionBytes(length - INTERFACE_DESCRIPTION_FIXED - BLOCK_TRAILER_LENGTH, limits, offset);
  if (interfaces.length >= limits.interfaces) {
    throw new Damaged(
      offset,
      `pcapng section ${section.number} describes more than ${limits.interfaces} interfaces (limit interfaces)`,
    );
  }
  if (!window.has(length)) return false;
  const { view, bytes } = window;
  const optionsEnd = start + length - BLOCK_TRAILER_LENGTH;
  checkTrailer(view.getUint32(optionsEnd, littleEndian), length, offset);
  const linkType = view.getUint16(start + 8, littleEndian);
  let name: string | null = null;
  let fcsLength = -1;
  let tsresol = DEFAULT_TIMESTAMP_RESOLUTION;
  let tsoffset = 0n;
  // An option of another length than its code demands is left out, as Wireshark does.
  readOptions(
    view,
    littleEndian,
    start + INTERFACE_DESCRIPTION_FIXED,
    optionsEnd,
    offset,
    (code, at, size) => {
      if (code === OptionCode.interfaceName && name === null) {
        section.nameBytes += size;
        name = readString(bytes, at, size);
      } else if (code === OptionCode.timestampResolution && size === 1) tsresol = view.getUint8(at);
      else if (code === OptionCode.timestampOffset && size === 8)
        tsoffset = view.getBigInt64(at, littleEndian);
      else if (code === OptionCode.fcsLength && size === 1) fcsLength = view.getUint8(at);
    },
  );
  if (section.nameBytes > limits.interfaceNameBytes) {
    throw new Damaged(
      offset,
      `pcapng section ${section.number} has more than ${limits.interfaceNameBytes} bytes of interface names (limit interfaceNameBytes)`,
    );
  }
  const isDefault = tsresol === DEFAULT_TIMESTAMP_RESOLUTION && tsoffset === 0n;
  interfaces.push({
    linkType,
    snapLength: view.getUint32(start + 12, littleEndian),
    name,
    fcsLength,
    resolution: isDefault ? defaultResolution : timestampResolution(tsresol, tsoffset),
    maxCapturedLength: maxCapturedLength(linkType),
  });
  window.start += length;
  return true;
}
