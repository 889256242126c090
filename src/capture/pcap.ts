import { type PcapVariant, pcapVariant, SECTION_HEADER_BLOCK } from "./capture-format.ts";
import type { Frame, FrameSink } from "./frame.ts";
import { maximumCapturedLength } from "./limits.ts";
import { setTime } from "./timestamp.ts";
import { Damaged, type Window } from "./window.ts";

export const PCAP_HEADER_LENGTH = 24;

/** Bits 26 of the link type field: the FCS length in bits 28-31 is meant (draft-ietf-opsawg-pcap section 4). */
const FCS_PRESENT = 0x0400_0000;

/**
 * Reads classic pcap records after a file header (draft-ietf-opsawg-pcap). One instance a file header.
 */
export class PcapParser {
  readonly variant: PcapVariant;
  readonly linkType: number;
  readonly #fcsLength: number;
  readonly #maximumLength: number;

  /** The window holds a whole file header; it is consumed. Throws `Damaged` for one that cannot be read. */
  constructor(window: Window) {
    const { view, start } = window;
    const variant = pcapVariant(view.getUint32(start));
    if (variant === null) throw new Error("a PcapParser was made at bytes that are no pcap header");
    this.variant = variant;
    const major = view.getUint16(start + 4, variant.littleEndian);
    if (major !== 2) throw new Damaged(window.position, `pcap major version ${major}: only 2 is known`);
    const network = view.getUint32(start + 20, variant.littleEndian);
    if ((network & 0x03ff_0000) !== 0) {
      throw new Damaged(
        window.position,
        `pcap link type field 0x${network.toString(16)} has reserved bits (16 to 25) set`,
      );
    }
    this.linkType = network & 0xffff;
    this.#fcsLength = (network & FCS_PRESENT) === 0 ? -1 : (network >>> 28) * 2;
    this.#maximumLength = maximumCapturedLength(this.linkType);
    window.start += PCAP_HEADER_LENGTH;
  }

  /**
   * Gives every complete record in the window to the sink. Returns true at the first byte of another file header, which
   * is not consumed; false when more bytes are needed.
   */
  parse(window: Window, frame: Frame, sink: FrameSink): boolean {
    const { littleEndian, recordHeaderLength, nanosecondsPerTick } = this.variant;
    frame.linkType = this.linkType;
    frame.fcsLength = this.#fcsLength;
    frame.sectionNumber = -1;
    frame.interfaceId = -1;
    frame.interfaceName = null;
    frame.packetComment = null;
    frame.bytes = window.bytes;
    const { view, end } = window;
    for (;;) {
      const at = window.start;
      if (end - at < recordHeaderLength) {
        window.needed = recordHeaderLength;
        return false;
      }
      const seconds = view.getUint32(at, littleEndian);
      if (mayBeMagic(seconds)) {
        const header = isFileHeader(window);
        if (header === "unknown") return false;
        if (header === "yes") return true;
      }
      const capturedLength = view.getUint32(at + 8, littleEndian);
      if (capturedLength > this.#maximumLength) {
        throw new Damaged(
          window.position,
          `record of ${capturedLength} captured bytes: link type ${this.linkType} allows ${this.#maximumLength}`,
        );
      }
      const length = recordHeaderLength + capturedLength;
      if (end - at < length) {
        window.needed = length;
        return false;
      }
      frame.offset = at + recordHeaderLength;
      frame.capturedLength = capturedLength;
      frame.originalLength = view.getUint32(at + 12, littleEndian);
      setTime(frame, seconds, view.getUint32(at + 4, littleEndian) * nanosecondsPerTick);
      window.start = at + length;
      frame.packetNumber++;
      sink(frame);
    }
  }
}

/** A cheap first look at a record's seconds, in either byte order, before {@link isFileHeader} looks at the rest. */
function mayBeMagic(seconds: number): boolean {
  switch (seconds >>> 16) {
    case 0xa1b2:
    case 0xd4c3:
    case 0x4d3c:
    case 0x34cd:
    case 0x0a0d:
      return true;
    default:
      return false;
  }
}

/**
 * Whether a capture file begins here, as it does where captures were simply concatenated. A record could begin with the
 * same four bytes (its seconds, in the year 2055, or 1975 for pcapng), but not with what follows: as a record, a pcap header is
 * one whose microseconds are 262,146 and whose two lengths are the time zone and the accuracy, both 0 by the specification
 * and in every known file; and a Section Header Block has its byte-order magic where a record's captured length would be
 * beyond every limit.
 */
export function isFileHeader(window: Window): "yes" | "no" | "unknown" {
  const { view, start } = window;
  const magic = view.getUint32(start);
  if (magic === SECTION_HEADER_BLOCK) {
    const order = view.getUint32(start + 8);
    return order === 0x1a2b3c4d || order === 0x4d3c2b1a ? "yes" : "no";
  }
  const variant = pcapVariant(magic);
  if (variant === null) return "no";
  if (!window.has(PCAP_HEADER_LENGTH)) return window.final ? "no" : "unknown";
  const major = view.getUint16(start + 4, variant.littleEndian);
  const minor = view.getUint16(start + 6, variant.littleEndian);
  const zone = view.getUint32(start + 8, variant.littleEndian);
  const accuracy = view.getUint32(start + 12, variant.littleEndian);
  return major === 2 && minor <= 4 && zone === 0 && accuracy === 0 ? "yes" : "no";
}
